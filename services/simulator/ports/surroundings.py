"""What a world needs from outside, in its own words."""

from datetime import datetime
from typing import Protocol


class Surroundings(Protocol):
    """Where a world runs: the wall's time, and chance."""

    def now(self) -> datetime:
        """The wall's time, aware, in UTC."""

    def new_id(self) -> str:
        """A UUID that was never given before."""

    def new_secret(self, length: int) -> str:
        """So many hexadecimal characters that nobody can guess."""
