"""Stores an entry of the write ledger in its hash: its status, a line break, and the entry, compressed.

Scripts compare the status and treat the rest as bytes. What most entries have in common is the compression's
dictionary, ``ledger_shapes.txt``. That file must never change: entries are read with it. Entries that older revisions
stored uncompressed are read too.
"""

import zlib
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path

from shared.contracts.ledger import LedgerEntry

_LEVEL = 6
_PLAIN = "{"  # begins an entry that was stored as it is


def pack_entry(entry: LedgerEntry) -> str:
    """The entry, compressed, as it follows its status. Equal entries give equal texts."""
    packing = zlib.compressobj(_LEVEL, zdict=_shapes())
    return b64encode(packing.compress(entry.stored_json().encode()) + packing.flush()).decode()


def entry_json(row: str) -> str:
    """The JSON of the entry in a row. Raises ``ValueError`` for a row that cannot be read."""
    packed = row.partition("\n")[2]
    if packed.startswith(_PLAIN):
        return packed
    unpacking = zlib.decompressobj(zdict=_shapes())
    try:
        return (unpacking.decompress(b64decode(packed, validate=True)) + unpacking.flush()).decode()
    except zlib.error as error:
        raise ValueError(f"a row of the ledger cannot be read: {error}") from error


def read_entry(row: str) -> LedgerEntry:
    """The entry in a row. Raises ``ValueError`` for a row that cannot be read."""
    return LedgerEntry.model_validate_json(entry_json(row))


@cache
def _shapes() -> bytes:
    return (Path(__file__).parent / "ledger_shapes.txt").read_bytes()
