"""Rules over the task's text (seed 001): allow, deny and require, by whole words or by pattern."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from services.policy.core.fold import FoldedText, folded_words
from services.policy.core.patterns import Pattern, pattern
from shared.contracts.policy import Policy, TextRule

TextDefault: TypeAlias = Literal["allow", "deny"]


class TextRuleType(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    REQUIRE = "require"


class ReadyTextRule(NamedTuple):
    rule: TextRule
    type: TextRuleType
    words: tuple[str, ...]  # folded
    pattern: Pattern | None

    def match(self, text: FoldedText) -> str | None:
        """What of the rule is in the text, in words for people; None if nothing is."""
        for word, written in zip(self.words, self.rule.keywords, strict=True):
            if word in text.words:
                return f"{written!r} is in the text"
        return "its pattern is in the text" if self.pattern and self.pattern.is_in(text.plain) else None

    @property
    def sought(self) -> str:
        """What a text would have to have."""
        wanted = [repr(keyword) for keyword in self.rule.keywords] + ["its pattern"] * bool(self.pattern)
        return f"{' or '.join(wanted)} is not in the text"


class ReadyTexts(NamedTuple):
    """The text rules of one policy."""

    policy_id: str
    rules: tuple[ReadyTextRule, ...]
    default: TextDefault


class Violation(NamedTuple):
    policy_id: str
    rule_id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule_id}: {self.reason}"


class TextDecision(NamedTuple):
    violations: tuple[Violation, ...] = ()
    applied: tuple[str, ...] = ()


def ready_text_rule(rule: TextRule) -> ReadyTextRule:
    """Raises ``ValueError`` for a rule that cannot be meant."""
    words = tuple(map(folded_words, rule.keywords))
    if not words and rule.pattern is None:
        raise ValueError("a text rule needs keywords or a pattern")
    if not all(words):
        raise ValueError("a keyword is empty")
    if rule.pattern == "":
        raise ValueError("the pattern is empty")
    return ReadyTextRule(rule, _type(rule.type), words, None if rule.pattern is None else pattern(rule.pattern))


def text_default(policy: Policy) -> TextDefault:
    """What holds for a text that no rule allows; ``ValueError`` for an unknown word."""
    word = policy.text_default.strip().lower()
    if word in ("allow", "deny"):
        return "deny" if word == "deny" else "allow"
    raise ValueError(f"unknown default {policy.text_default!r}; known: allow, deny")


def decide_text(texts: ReadyTexts, text: FoldedText) -> TextDecision:
    """A matching ``deny``, an unmet ``require``, and a default of ``deny`` without a matching ``allow``: violations."""
    violations: list[Violation] = []
    applied: list[str] = []
    allowed = texts.default == "allow"
    for ready in texts.rules:
        found = ready.match(text)
        allowed = allowed or (ready.type is TextRuleType.ALLOW and found is not None)
        if found is not None or ready.type is TextRuleType.REQUIRE:
            applied.append(ready.rule.id)
        if reason := _violated(ready, found):
            violations.append(Violation(texts.policy_id, ready.rule.id, reason))
    if not allowed:
        violations.append(Violation(texts.policy_id, "textDefault", "no rule allows this text"))
    return TextDecision(tuple(violations), tuple(applied))


def joined(decisions: Sequence[TextDecision]) -> TextDecision:
    """What several policies say together."""
    return TextDecision(
        tuple(violation for decision in decisions for violation in decision.violations),
        tuple(dict.fromkeys(rule_id for decision in decisions for rule_id in decision.applied)),
    )


def _violated(ready: ReadyTextRule, found: str | None) -> str | None:
    match ready.type:
        case TextRuleType.DENY if found is not None:
            why = found
        case TextRuleType.REQUIRE if found is None:
            why = ready.sought
        case _:
            return None
    return f"{ready.rule.description} ({why})" if ready.rule.description else why


def _type(word: str) -> TextRuleType:
    try:
        return TextRuleType(word.strip().lower())
    except ValueError:
        raise ValueError(f"unknown type {word!r}; known types: {', '.join(TextRuleType)}") from None
