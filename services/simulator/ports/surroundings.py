"""What a world needs from the process it runs in."""

from datetime import datetime
from typing import Protocol


class Surroundings(Protocol):
    """What a world needs from the process it runs in: the real time, and random ids and secrets."""

    def now(self) -> datetime:
        """The real time, aware, in UTC."""

    def new_id(self) -> str:
        """A UUID that was never given before."""

    def new_secret(self, length: int) -> str:
        """A random secret of that many hexadecimal characters."""
