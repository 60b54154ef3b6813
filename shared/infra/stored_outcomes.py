"""Packs an outcome for its partition's stream: its digest and the outcome, in three lines."""

from shared.contracts.outcome import TaskOutcome
from shared.contracts.outcome_digest import NO_DIGEST, OutcomeDigest, make_outcome_digest
from shared.infra.compression import DictionaryCompressor

_COMPRESSOR = DictionaryCompressor("outcome_shapes.txt")


def pack_outcome_with_own_digest(outcome: TaskOutcome) -> bytes:
    return pack_outcome_with_digest(make_outcome_digest(outcome), outcome.stored_json())


def pack_outcome_with_digest(digest: OutcomeDigest, outcome_json: str) -> bytes:
    """The compressed text of three lines: the digest's header, its case, and the outcome as JSON. A reader of the first
    two need not parse the outcome.
    """
    return _COMPRESSOR.pack("\n".join((*digest, outcome_json)))


def unpack_outcome(packed: str) -> tuple[OutcomeDigest | None, str]:
    """The digest (None if there is none) and the outcome's JSON; None and the argument if that cannot be unpacked."""
    try:
        text = _COMPRESSOR.unpack(packed)
        if text.startswith("{"):  # of an earlier revision
            return None, text
        header, case, event = text.split("\n", 2)
    except ValueError:  # the parser of the outcome says what is wrong with it
        return None, packed
    digest = OutcomeDigest(header, case)
    return (None if digest == NO_DIGEST else digest), event
