"""How much one request may ask for, decided before any of it is done: the service answers everybody in turn."""

from collections.abc import Sequence

from shared.contracts.policy import EvaluateRequest, Policy

MAX_TEXT = 256 * 1024  # characters of all rules and their policies' ids
MAX_WORK = 300_000  # nodes decided or merged, over all calls


class TooMuch(Exception):
    """The request is over a bound. ``field`` names the part of it that should be smaller."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


def refuse_too_much_text(policies: Sequence[Policy]) -> None:
    """Raise ``TooMuch`` before anything is parsed."""
    rules = [rule for policy in policies for rule in policy.rules]
    text = sum(len(rule.id) + len(rule.condition) + len(rule.reason or "") for rule in rules)
    text += sum(len(policy.id) * (1 + len(policy.rules)) for policy in policies)
    if text > MAX_TEXT:
        raise TooMuch(f"the rules have {text} characters; the limit is {MAX_TEXT}", "policies")


def refuse_too_much_work(request: EvaluateRequest, costs: Sequence[int]) -> None:
    """Raise ``TooMuch`` where rules times calls would keep the service from its other callers."""
    calls = max(1, len(request.calls))
    names = sum(len(call.call_id) for call in request.calls) * len(costs) // 16
    facts = len(request.policies) * (len(request.context) * calls + sum(len(call.fields) for call in request.calls))
    facts += sum(len(policy.context) for policy in request.policies) * calls
    if (work := sum(costs) * calls + names + facts // 8) > MAX_WORK:
        raise TooMuch(f"{len(costs)} rules over {calls} calls are too much: {work} steps, {MAX_WORK} allowed", "calls")
