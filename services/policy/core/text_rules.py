"""Rules over the task's text: allow, deny and require, by whole words or by pattern."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from services.policy.core.finding import Finding, WaitingRule, problem
from services.policy.core.fold import FoldedText, fold_text, folded_words
from services.policy.core.patterns import TextPattern, pattern
from services.policy.core.rules import word_of
from shared.contracts.policy import EvaluateRequest, PolicyProblem, TextFinding, TextRule, TriggeredRule
from shared.domain.words import RuleAction


class TextDefault(StrEnum):
    """What holds for a text that no rule allows."""

    ALLOW = "allow"
    DENY = "deny"


class TextRuleType(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    REQUIRE = "require"


class ReadyTextRule(NamedTuple):
    rule: TextRule
    type: TextRuleType
    words: tuple[str, ...]  # folded
    pattern: TextPattern | None

    def match(self, text: FoldedText) -> str | None:
        """What of the rule is in the text, in words for people; None if nothing is."""
        for word, written in zip(self.words, self.rule.keywords, strict=True):
            if word in text.words:
                return f"{written!r} is in the text"
        return "its pattern is in the text" if self.pattern and self.pattern.is_in(text.plain) else None

    @property
    def why_not_found(self) -> str:
        """What a text would have to have."""
        wanted = [repr(keyword) for keyword in self.rule.keywords] + ["its pattern"] * bool(self.pattern)
        return f"{' or '.join(wanted)} is not in the text"


class ReadyTexts(NamedTuple):
    """The text rules of one policy. ``first_id``: of the first of them, or their default; None where it has no say."""

    policy_id: str
    rules: tuple[ReadyTextRule, ...]
    default: TextDefault
    first_id: str | None


def ready_text_rule(rule: TextRule) -> ReadyTextRule:
    """Raises ``ValueError`` for a rule that cannot be meant."""
    words = tuple(map(folded_words, rule.keywords))
    if not words and rule.pattern is None:
        raise ValueError("a text rule needs keywords or a pattern")
    if not all(words):
        raise ValueError("a keyword is empty")
    if rule.pattern == "":
        raise ValueError("the pattern is empty")
    kind = word_of(TextRuleType, "type", rule.type, "known types")
    return ReadyTextRule(rule, kind, words, None if rule.pattern is None else pattern(rule.pattern))


def text_findings(
    policies: Iterable[ReadyTexts], invalid: Iterable[PolicyProblem], request: EvaluateRequest
) -> Iterator[Finding]:
    """Each violation blocks. Rules without a text are undecided, and in a binding request a problem.

    Nothing complies with policies that are ``invalid``.
    """
    concerned = [(texts, texts.first_id) for texts in policies if texts.first_id is not None]
    if concerned and request.text is not None:
        yield from _of_text([texts for texts, _ in concerned], invalid, fold_text(request.text))
        return
    cause = "it is about the task's text, and the request has none"
    for texts, first in concerned:
        yield problem(texts.policy_id, first, cause) if request.binding else WaitingRule(first)


def _of_text(policies: Sequence[ReadyTexts], invalid: Iterable[PolicyProblem], text: FoldedText) -> Iterator[Finding]:
    violations, applied = list[str](), list[str]()
    for texts in policies:
        found = [(ready, ready.match(text)) for ready in texts.rules]
        applied += [ready.rule.id for ready, match in found if match or ready.type is TextRuleType.REQUIRE]
        violated = [(ready.rule.id, reason) for ready, match in found if (reason := _find_violation(ready, match))]
        allowed = texts.default is TextDefault.ALLOW
        if not (allowed or any(match for ready, match in found if ready.type is TextRuleType.ALLOW)):
            violated.append(("textDefault", "no rule allows this text"))
        for rule_id, reason in violated:
            violations.append(f"{rule_id}: {reason}")
            yield TriggeredRule(rule_id=rule_id, policy_id=texts.policy_id, action=RuleAction.BLOCK, reason=reason)
    violations += [one.message for one in invalid]
    yield TextFinding(
        compliant=not violations, violations=tuple(violations), applied_rules=tuple(dict.fromkeys(applied))
    )


def _find_violation(ready: ReadyTextRule, found: str | None) -> str | None:
    match ready.type:
        case TextRuleType.DENY if found is not None:
            why = found
        case TextRuleType.REQUIRE if found is None:
            why = ready.why_not_found
        case _:
            return None
    return f"{ready.rule.description} ({why})" if ready.rule.description else why
