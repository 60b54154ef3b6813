"""The outputs that a process requires of an answer: which of them are spoken of, by value or by word."""

from collections.abc import Sequence

from services.executor.core.reflect.found import Found, names_said, stems_of

# What also says an output whose own word nobody would use.
_SAID_BY: dict[str, str] = {
    "decision": "approved rejected declined denied escalated accepted refused granted held flagged reconciled paid "
    "canceled cancelled completed closed done nothing",
    "reason": "because since due therefore policy rule limit exceeds within condition",
    "approval": "approved approver authorized signed",
    "resolution": "resolved fixed mitigated restored closed",
    "findings": "found finding gap",
    "action": "next actions reminder remind escalated sent",
    "requester": "employee submitted claimant",
}


SUMMARY = "summary"  # an output that any answer is


def missing_outputs(outputs: Sequence[str], answer: str, known: Found) -> tuple[str, ...]:
    """The required outputs of which the answer says nothing, in the template's order."""
    words, names = stems_of(answer), [stems_of(name) for name in names_said(answer, known)]
    return tuple(output for output in outputs if not _is_there(output, answer, words, names))


def sayable(outputs: Sequence[str], known: Found) -> tuple[str, ...]:
    """Those of the outputs that the run knows something of, so that an answer could say it."""
    names = [stems_of(name) for name in {item.name for item in known.named}]
    return tuple(output for output in outputs if any(stems_of(output) <= name for name in names))


def _is_there(output: str, answer: str, words: frozenset[str], names: list[frozenset[str]]) -> bool:
    wanted = stems_of(output)
    if output == SUMMARY:
        return bool(answer.strip())
    if wanted <= words or any(wanted <= name for name in names):
        return True
    return bool(stems_of(_SAID_BY.get(output.lower(), "")) & words)
