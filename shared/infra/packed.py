"""Packs texts of one kind for Redis: compressed, with the shapes of their kind as the compression's dictionary.

A file of shapes must never change: texts are read with it. Redis holds the bytes as they are; a client of ``connect``
reads them as a text in which each byte that is no UTF-8 is escaped. What gateways, and an earlier revision, store as it
is, is read too.
"""

import zlib
from pathlib import Path

ESCAPES = "surrogateescape"  # how a client reads bytes that are no text
_LEVEL, _WINDOW, _MEMORY = 6, 14, 6  # of 16 KB, in which the shapes have room


class CompressionShapes:
    """The shapes of one kind of texts."""

    def __init__(self, file_name: str) -> None:
        """Of a file in this folder, each line of which is a shape. The commonest stand last, where they cost least."""
        lines = (Path(__file__).parent / file_name).read_text("utf-8").splitlines()
        self._dictionary = ",".join(lines).encode()
        self._begun = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=self._dictionary)

    def pack(self, text: str) -> bytes:
        """The text, compressed. Equal texts give equal bytes."""
        packing = self._begun.copy()  # half of what reading the shapes anew would cost
        return packing.compress(text.encode()) + packing.flush()

    def unpack(self, stored: str | bytes) -> str:
        """The text that was stored. Raises ``ValueError`` for one that cannot be read."""
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
