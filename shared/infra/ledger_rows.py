"""Packs an entry of the write ledger for its hash: its status, a line break, and the packed entry.

Scripts compare the status, and treat the rest as bytes.
"""

from shared.contracts.ledger import LedgerEntry
from shared.infra.compression import DictionaryCompressor

_COMPRESSOR = DictionaryCompressor("ledger_shapes.txt")


def pack_ledger_entry(entry: LedgerEntry) -> bytes:
    """Compresses a ledger entry; a stored row is its status, followed by this. Equal entries give equal bytes."""
    return _COMPRESSOR.pack(entry.stored_json())


def unpack_ledger_entry_json(row: str) -> str:
    """The entry's JSON in a row. Raises ``ValueError``."""
    try:
        return _COMPRESSOR.unpack(row.partition("\n")[2])
    except ValueError as error:
        raise ValueError(f"a row of the ledger cannot be read: {error}") from error


def parse_ledger_entry(row: str) -> LedgerEntry:
    """Parses the ledger entry that a row holds. Raises ``ValueError``."""
    return LedgerEntry.model_validate_json(unpack_ledger_entry_json(row))
