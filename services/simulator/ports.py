"""What a world needs from outside, in its own words."""

from datetime import datetime
from typing import NamedTuple, Protocol


class Surroundings(Protocol):
    """Where a world runs: the wall's time, and chance."""

    def now(self) -> datetime:
        """The wall's time, aware, in UTC."""
        ...

    def new_id(self) -> str:
        """A UUID that was never given before."""
        ...

    def new_secret(self, length: int) -> str:
        """So many hexadecimal characters that nobody can guess."""
        ...


class Sent(NamedTuple):
    """The receiver's answer, or why there was none."""

    status_code: int | None
    error: str | None = None


class Sender(Protocol):
    """Carries a notice to its receiver."""

    async def send(self, url: str, secret: str, notice_id: str, body: str) -> Sent:
        """One signed attempt, within bounded time; it raises nothing that the receiver or the way there caused."""
        ...
