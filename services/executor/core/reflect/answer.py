"""The answer as the client gets it: the model's words, and under them the truth about every write."""

from collections.abc import Sequence

from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import is_exact_match
from shared.domain.words import WriteStatus

_SAID: dict[WriteStatus, str] = {
    WriteStatus.SENDING: "in doubt",
    WriteStatus.SENT: "sent",
    WriteStatus.DENIED: "refused, and not checked",
    WriteStatus.VERIFIED: "verified",
    WriteStatus.UNVERIFIED: "unverified",
    WriteStatus.REFUSED: "failed",
    WriteStatus.UNSENT: "not sent",
    WriteStatus.ABSENT: "not applied as far as a read can show, and not repeated",
    WriteStatus.IN_DOUBT: "in doubt, and not repeated",
    WriteStatus.RESEND: "not sent again",
    WriteStatus.SKIPPED: "left undone",
}


def final_answer(text: str, writes: Sequence[LedgerEntry]) -> str:
    """An exact-match answer stays as it is, to the byte; prose gets the list of writes with their proof."""
    if not writes or is_exact_match(text):
        return text
    return "\n".join([text.rstrip(), "", "Writes:", *(_line(entry) for entry in writes)])


def _line(entry: LedgerEntry) -> str:
    return f"- {entry.call.tool} {entry.arguments_json}: {_SAID[entry.status]} ({entry.note})"
