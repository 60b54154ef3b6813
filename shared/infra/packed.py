"""Packs texts of one kind for Redis: compressed, with a dictionary of the shapes of that kind.

A dictionary file must never change, because stored texts need it. Unpacked texts, as gateways and an earlier release
store them, can be read, too.
"""

import zlib
from pathlib import Path

ESCAPES = "surrogateescape"  # how a client reads bytes that are no text
_LEVEL, _WINDOW, _MEMORY = 6, 14, 6  # of 16 KB, in which the shapes have room


class CompressionShapes:
    """A compression dictionary for one kind of text."""

    def __init__(self, file_name: str) -> None:
        """``file_name``: a file in this folder with one shape in each line; the most frequent come last, where they
        cost least.
        """
        lines = (Path(__file__).parent / file_name).read_text("utf-8").splitlines()
        self._dictionary = ",".join(lines).encode()
        self._begun = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=self._dictionary)

    def pack(self, text: str) -> bytes:
        """The compressed text. Equal texts give equal bytes."""
        packing = self._begun.copy()  # half of what reading the shapes anew would cost
        return packing.compress(text.encode()) + packing.flush()

    def unpack(self, stored: str | bytes) -> str:
        """The text that was stored. Raises ``ValueError`` if it cannot be unpacked."""
        content = stored if isinstance(stored, bytes) else stored.encode(errors=ESCAPES)
        return content.decode() if content[:1] in (b"{", b"[") else self._expand(content)

    def _expand(self, packed: bytes) -> str:
        unpacking = zlib.decompressobj(zdict=self._dictionary)
        try:
            text = unpacking.decompress(packed)
        except zlib.error as error:
            raise ValueError(f"it cannot be decompressed: {error}") from error
        if not unpacking.eof:
            raise ValueError("its end is missing")
        return text.decode()
