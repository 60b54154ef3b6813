"""How notices leave the process."""

from typing import NamedTuple, Protocol


class SendResult(NamedTuple):
    """The receiver's answer, or why there was none. ``is_final``: it would be the same the next time."""

    status_code: int | None
    error: str | None = None
    is_final: bool = False


class Sender(Protocol):
    """Sends notices to the URLs of their receivers."""

    async def send(self, url: str, secret: str, notice_id: str, body: str) -> SendResult:
        """One signed attempt, within bounded time; it raises nothing that the receiver or the way there caused."""
