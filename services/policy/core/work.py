"""How much deciding one request may cost, bounded before it begins: the service answers everybody in turn."""

from services.policy.core.limits import TooMuch
from services.policy.core.prepared import Prepared
from shared.contracts.policy import EvaluateRequest

MAX_WORK = 300_000  # nodes decided or merged, over all calls
MAX_SEARCH = 10_000_000  # instructions of one pattern, times bytes of the text: 70 ms at the very worst
MAX_SEARCHES = 40_000_000  # the same over all patterns
MAX_WORDS = 20_000_000  # keywords times characters of the text


def refuse_too_much_work(request: EvaluateRequest, prepared: Prepared) -> None:
    """Raise ``TooMuch`` where rules times calls would keep the service from its other callers."""
    if (work := _work(request, prepared)) > MAX_WORK:
        calls = max(1, len(request.calls))
        sentence = f"{prepared.rules} rules over {calls} calls are too much: {work} steps, {MAX_WORK} allowed"
        raise TooMuch(sentence, "calls")


def refuse_too_much_searching(text: str | None, prepared: Prepared) -> None:
    """Raise ``TooMuch`` for a text that is too long for the patterns that would search it."""
    if not text or not (prepared.pattern_sizes or prepared.keywords):
        return
    size = 4 * len(text)
    if size * max(prepared.pattern_sizes, default=0) > MAX_SEARCH or size * sum(prepared.pattern_sizes) > MAX_SEARCHES:
        raise TooMuch(f"a text of {len(text)} characters is too long for patterns of this size", "text")
    if prepared.keywords * len(text) > MAX_WORDS:
        raise TooMuch(f"a text of {len(text)} characters is too long for {prepared.keywords} keywords", "text")


def _work(request: EvaluateRequest, prepared: Prepared) -> int:
    calls = max(1, len(request.calls))
    names = sum(len(call.call_id) for call in request.calls) * prepared.rules // 16
    fields = sum(len(call.fields) * (1 + len(call.recorded)) for call in request.calls)
    facts = len(prepared.policies) * (len(request.context) * calls + fields)
    facts += sum(len(policy.context) for policy in prepared.policies) * calls
    earlier = len(request.history) + len(request.calls)
    confirming = sum(1 + len(yes.fields) for yes in request.confirmations) * prepared.rules_about_tools
    looks = (prepared.looks_back * earlier + confirming) * len(request.calls)
    twice = sum((1 + bool(call.unproven)) * (1 + len(call.recorded)) - 1 for call in request.calls)
    return prepared.cost * (calls + twice) + names + facts // 8 + looks // 2
