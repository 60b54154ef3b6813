"""Packs an outcome for its partition's stream: its digest and the outcome, in three lines."""

from shared.contracts.digest import NO_DIGEST, Digest, make_digest
from shared.contracts.outcome import TaskOutcome
from shared.infra.compression import DictionaryCompressor

_COMPRESSOR = DictionaryCompressor("outcome_shapes.txt")


def pack_outcome(outcome: TaskOutcome) -> bytes:
    return pack_with_digest(make_digest(outcome), outcome.stored_json())


def pack_with_digest(digest: Digest, event: str) -> bytes:
    """Three lines: header and case of the digest, and the outcome as JSON."""
    return _COMPRESSOR.pack("\n".join((*digest, event)))


def unpack_outcome(packed: str) -> tuple[Digest | None, str]:
    """The digest (None if there is none) and the outcome's JSON."""
    try:
        text = _COMPRESSOR.unpack(packed)
        if text.startswith("{"):  # of an earlier revision
            return None, text
        header, case, event = text.split("\n", 2)
    except ValueError:  # whoever reads the outcome says what is wrong with it
        return None, packed
    digest = Digest(header, case)
    return (None if digest == NO_DIGEST else digest), event
