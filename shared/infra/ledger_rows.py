"""How an entry of the write ledger stands in its hash: its status, a line break, and the entry, compressed.

Scripts compare the status, and know the rest by its bytes alone. An entry is stored anew with each step of its write,
and most of it is what every entry has; that is the compression's dictionary, ``ledger_shapes.txt``. The file never
changes: entries are read by it. Entries that older revisions stored stand as they are.
"""

import zlib
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path

from shared.contracts.ledger import LedgerEntry

_LEVEL = 6
_PLAIN = "{"  # begins an entry that was stored as it is


def pack_entry(entry: LedgerEntry) -> str:
    """The entry as it stands behind its status: equal entries have equal texts."""
    packing = zlib.compressobj(_LEVEL, zdict=_shapes())
    return b64encode(packing.compress(entry.stored_json().encode()) + packing.flush()).decode()


def entry_json(row: str) -> str:
    """The entry of a row, as JSON. Raises ``ValueError`` for a row that is none."""
    packed = row.partition("\n")[2]
    if packed.startswith(_PLAIN):
        return packed
    unpacking = zlib.decompressobj(zdict=_shapes())
    try:
        return (unpacking.decompress(b64decode(packed, validate=True)) + unpacking.flush()).decode()
    except zlib.error as error:
        raise ValueError(f"a row of the ledger cannot be read: {error}") from error


def read_entry(row: str) -> LedgerEntry:
    """The entry of a row. Raises ``ValueError`` for a row that is none."""
    return LedgerEntry.model_validate_json(entry_json(row))


@cache
def _shapes() -> bytes:
    return (Path(__file__).parent / "ledger_shapes.txt").read_bytes()
