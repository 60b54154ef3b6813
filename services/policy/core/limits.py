"""How much text the policies of one request may have, decided before any of it is parsed."""

from collections.abc import Iterator, Sequence

from shared.contracts.policy import Policy

MAX_TEXT = 256 * 1024  # characters of all rules and their policies' ids
MAX_PATTERNS = 10_000  # characters of all regular expressions: compiling one is the dearest thing a rule can ask


class TooMuch(Exception):
    """The request is over a bound. ``field`` names the part of it that should be smaller."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


def refuse_too_much_text(policies: Sequence[Policy]) -> None:
    """Raise ``TooMuch`` before anything is parsed."""
    text = sum(size for policy in policies for size in _sizes(policy))
    if text > MAX_TEXT:
        raise TooMuch(f"the rules have {text} characters; the limit is {MAX_TEXT}", "policies")
    patterns = sum(len(rule.pattern or "") for policy in policies for rule in policy.text_rules)
    if patterns > MAX_PATTERNS:
        raise TooMuch(f"the patterns have {patterns} characters; the limit is {MAX_PATTERNS}", "policies")


def _sizes(policy: Policy) -> Iterator[int]:
    yield len(policy.id) * (1 + len(policy.rules) + len(policy.tool_rules) + len(policy.text_rules))
    for rule in policy.rules:
        yield len(rule.id) + len(rule.condition) + len(rule.reason or "")
    for about in policy.tool_rules:
        yield len(about.id) + len(about.tool) + len(about.condition or "") + len(about.reason or "")
        yield sum(map(len, about.after)) + sum(map(len, about.per))
    for sought in policy.text_rules:
        yield len(sought.id) + len(sought.description) + len(sought.pattern or "") + sum(map(len, sought.keywords))
