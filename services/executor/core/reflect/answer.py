"""The answer as the client gets it: the model's words, and under them what rules said and what every write came to."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Verdict
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
    WriteStatus.ASKED: "waiting for an answer to what its agent asks",
    WriteStatus.SKIPPED: "left undone",
}


_FOOTER = re.compile(r"\n\n\[Process: [^\n]*\]\Z")


class Footer(NamedTuple):
    """What the last line of an answer says of its run, where the operator wants one."""

    process_type: str
    policy: str
    quality: float
    milliseconds: int


def final_answer(
    text: str, writes: Sequence[LedgerEntry], verdict: Verdict | None = None, footer: Footer | None = None
) -> str:
    """An exact-match answer stays as it is, to the byte; prose gets what is said under it.

    That is what the rules that spoke said, the list of writes with their proof, and the footer.
    """
    if is_exact_match(text):
        return text
    blocks = [_policy(verdict), _writes(writes), _footer(footer)]
    said = [block for block in blocks if block]
    return "\n\n".join([text.rstrip(), *said]) if said else text


def without_footer(answer: str) -> str:
    """The answer as it would be without a footer: how long a run took is different each time."""
    return _FOOTER.sub("", answer)


def policy_status(verdict: Verdict | None) -> str:
    """PASSED, FAILED, or N/A where no rule was asked."""
    if verdict is None:
        return "N/A"
    return "PASSED" if verdict.passed else "FAILED"


def _policy(verdict: Verdict | None) -> str:
    """The rules that spoke, each once; of a verdict to which no rule applied there is nothing to say."""
    rules = dict.fromkeys(f"{rule.rule_id}: {rule.reason}" for rule in verdict.triggered_rules) if verdict else {}
    if verdict is None or not rules:
        return ""
    return f"Policy: {'passed' if verdict.passed else 'not passed'}. {'; '.join(rules)}"


def _writes(writes: Sequence[LedgerEntry]) -> str:
    return "\n".join(["Writes:", *(_line(entry) for entry in writes)]) if writes else ""


def _footer(footer: Footer | None) -> str:
    if footer is None:
        return ""
    said = (
        f"Process: {footer.process_type}",
        f"Policy: {footer.policy}",
        f"Quality: {footer.quality:.2f}",
        f"Duration: {footer.milliseconds} ms",
    )
    return f"[{' | '.join(said)}]"


def _line(entry: LedgerEntry) -> str:
    return f"- {entry.call.tool} {entry.arguments_json}: {_SAID[entry.status]} ({entry.note})"
