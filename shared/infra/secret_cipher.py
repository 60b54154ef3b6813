"""Encrypts small secrets for a store that others can read (I12)."""

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet


class CannotDecrypt(Exception):
    """The text was encrypted with another key, or was damaged."""


class SecretCipher:
    """Encrypts and decrypts texts. ``keys``: Fernet keys, the newest first; the first encrypts, any decrypts.

    ``decrypt`` raises ``CannotDecrypt`` for a text of another key, or a damaged one.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._box = MultiFernet([Fernet(key) for key in keys])

    def encrypt(self, text: str) -> str:
        return self._box.encrypt(text.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """The text that ``encrypt`` was given; raises ``CannotDecrypt`` if none of the keys fits."""
        try:
            return self._box.decrypt(encrypted.encode()).decode()
        except InvalidToken as error:
            raise CannotDecrypt("no key opens what was kept") from error
