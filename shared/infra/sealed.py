"""Small secrets at rest: what is kept for somebody in a store that others can read (I12)."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class CannotOpen(Exception):
    """None of the keys opens it, or it was damaged."""


class Seal:
    """``keys``: Fernet keys, the newest first. New contents take the first; any of them opens older ones."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._box = MultiFernet([Fernet(key) for key in keys])

    def close(self, text: str) -> str:
        return self._box.encrypt(text.encode()).decode()

    def open(self, closed: str) -> str:
        try:
            return self._box.decrypt(closed.encode()).decode()
        except InvalidToken as error:
            raise CannotOpen("no key opens what was kept") from error
