"""Rules about the task's text (allow, deny, require), by whole words or by pattern."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol, cast

import re2

from services.policy.core.rules import Finding, RuleWithoutEffect, build_problem, parse_enum_word
from shared.contracts.policy import EvaluateRequest, PolicyProblem, TextFinding, TextRule, TriggeredRule
from shared.domain.words import RuleAction

_SCRIPTS_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
_ASCII_WORD_OR_CHARACTER_PATTERN = re.compile(r"[A-Za-z0-9_]+|.")
_SEPARATOR = "\x1f"  # counts as white space, so that no folded text has it


class FoldedText(NamedTuple):
    """A text prepared for searching: ``words`` for keywords (see ``_fold_words``), ``normalized`` for patterns."""

    words: str
    normalized: str


def _fold_text(text: str) -> FoldedText:
    normal_form = unicodedata.normalize("NFKC", text)
    return FoldedText(_fold_words(normal_form), normal_form)


def _fold_words(text: str) -> str:
    """The text's words and other signs, each between separators, so that a keyword matches whole words only.

    Compatibility forms (NFKC), case, invisible characters (category Cf) and runs of white space are normalised. Empty
    for a text without any sign.
    """
    units = list(_split_words_and_signs(_fold_characters(text)))
    return f"{_SEPARATOR}{_SEPARATOR.join(units)}{_SEPARATOR}" if units else ""


def _fold_characters(text: str) -> str:
    if not text.isascii():
        text = "".join(character for character in text if not _is_invisible(character))
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.casefold().split())


def _split_words_and_signs(text: str) -> Iterator[str]:
    if text.isascii():
        yield from _ASCII_WORD_OR_CHARACTER_PATTERN.findall(text)
        return
    start = 0
    for position in range(1, len(text)):
        if not (_is_word_character(text[position - 1]) and _is_word_character(text[position])):
            yield text[start:position]
            start = position
    if text:
        yield text[start:]


@lru_cache(8_192)
def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) == "Cf"


@lru_cache(8_192)
def _is_word_character(character: str) -> bool:
    """Whether a character can be part of a word."""
    if not (character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"):
        return False
    return character.isascii() or not unicodedata.name(character, "").startswith(_SCRIPTS_WITHOUT_SPACES)


MAX_PATTERN_CHARACTERS = 500  # characters
MAX_UNICODE_CLASSES = 8  # classes by Unicode property in one pattern: each of them is hundreds of ranges to compile
_MOST_PATTERN_BYTES = 1 << 19  # bytes of a compiled pattern and of what it remembers while it searches
_MOST_CACHED_PATTERNS = 4_096
_UNUSABLE_PATTERN_TEXT = "the pattern cannot be used"


class _CompiledPattern(Protocol):
    programsize: int

    def search(self, text: str) -> object | None: ...


class TextPattern(NamedTuple):
    """A compiled pattern. ``size`` times the bytes of a text bounds the work of a search."""

    compiled: _CompiledPattern
    size: int

    def occurs_in(self, text: str) -> bool:
        return self.compiled.search(text) is not None


@lru_cache(_MOST_CACHED_PATTERNS)
def compile_text_pattern(text: str) -> TextPattern:
    """The compiled pattern, ignoring case; raises ``ValueError`` for an unusable one."""
    if len(text) > MAX_PATTERN_CHARACTERS:
        raise ValueError(
            f"{_UNUSABLE_PATTERN_TEXT}: it has {len(text)} characters; the limit is {MAX_PATTERN_CHARACTERS}"
        )
    if text.lower().count("\\p") > MAX_UNICODE_CLASSES:
        raise ValueError(
            f"{_UNUSABLE_PATTERN_TEXT}: it has more than {MAX_UNICODE_CLASSES} classes by Unicode property"
        )
    try:
        pattern = cast(_CompiledPattern, re2.compile(text, _build_pattern_options()))
    except re2.error as error:
        hint = "look-around and back references do not exist here"
        raise ValueError(f"{_UNUSABLE_PATTERN_TEXT}: {_describe_pattern_error(error)} ({hint})") from None
    return TextPattern(pattern, pattern.programsize)


def _build_pattern_options() -> object:
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _MOST_PATTERN_BYTES
    return options


def _describe_pattern_error(error: Exception) -> str:
    cause: object = error.args[0] if error.args else "not readable"
    return cause.decode(errors="replace") if isinstance(cause, bytes) else str(cause)


class TextDefault(StrEnum):
    """What happens to a text that no rule allows."""

    ALLOW = "allow"
    DENY = "deny"


class TextRuleType(StrEnum):
    """What a text rule does with a text that contains its keywords or pattern."""

    ALLOW = "allow"
    DENY = "deny"
    REQUIRE = "require"


class PreparedTextRule(NamedTuple):
    """A text rule with its compiled patterns and folded keywords."""

    rule: TextRule
    type: TextRuleType
    words: tuple[str, ...]  # folded
    pattern: TextPattern | None

    def describe_match(self, text: FoldedText) -> str | None:
        """A sentence on what the rule found in the text; None if nothing."""
        for word, keyword in zip(self.words, self.rule.keywords, strict=True):
            if word in text.words:
                return f"{keyword!r} is in the text"
        return "its pattern is in the text" if self.pattern and self.pattern.occurs_in(text.normalized) else None

    @property
    def missing_match(self) -> str:
        """A sentence on what the rule looked for and did not find."""
        sought = [repr(keyword) for keyword in self.rule.keywords] + ["its pattern"] * bool(self.pattern)
        return f"{' or '.join(sought)} is not in the text"


class PreparedTextRules(NamedTuple):
    """The text rules of one policy. ``first_id``: the id of the first rule or of the default, named in verdicts; None
    if the policy has neither.
    """

    policy_id: str
    rules: tuple[PreparedTextRule, ...]
    default: TextDefault
    first_id: str | None


def prepare_text_rule(rule: TextRule) -> PreparedTextRule:
    """Compiles the rule. Raises ``ValueError`` for unusable or missing keywords and patterns, or an unknown type."""
    words = tuple(map(_fold_words, rule.keywords))
    if not words and rule.pattern is None:
        raise ValueError("a text rule needs keywords or a pattern")
    if not all(words):
        raise ValueError("a keyword is empty")
    if rule.pattern == "":
        raise ValueError("the pattern is empty")
    kind = parse_enum_word(TextRuleType, "type", rule.type, "known types")
    return PreparedTextRule(rule, kind, words, None if rule.pattern is None else compile_text_pattern(rule.pattern))


def find_text_rule_findings(
    policies: Iterable[PreparedTextRules], invalid: Iterable[PolicyProblem], request: EvaluateRequest
) -> Iterator[Finding]:
    """Yields a blocking finding for each violation of a text rule, then one ``TextFinding`` for all policies.

    Without a text the rules are undecided, which is a problem if the request is binding. No text complies while
    policies are ``invalid``.
    """
    ready_texts = [(texts, texts.first_id) for texts in policies if texts.first_id is not None]
    if ready_texts and request.text is not None:
        yield from _judge_text_by_policies([texts for texts, _ in ready_texts], invalid, _fold_text(request.text))
        return
    cause = "it is about the task's text, and the request has none"
    for texts, first_id in ready_texts:
        yield build_problem(texts.policy_id, first_id, cause) if request.binding else RuleWithoutEffect(first_id)


def _judge_text_by_policies(
    policies: Sequence[PreparedTextRules], invalid: Iterable[PolicyProblem], text: FoldedText
) -> Iterator[Finding]:
    violations, applied_rules = list[str](), list[str]()
    for texts in policies:
        matches = [(prepared, prepared.describe_match(text)) for prepared in texts.rules]
        applied_rules += [
            prepared.rule.id for prepared, match in matches if match or prepared.type is TextRuleType.REQUIRE
        ]
        faults = [
            (prepared.rule.id, reason)
            for prepared, match in matches
            if (reason := _describe_violation(prepared, match))
        ]
        is_allowed = any(match for prepared, match in matches if prepared.type is TextRuleType.ALLOW)
        if texts.default is not TextDefault.ALLOW and not is_allowed:
            faults.append(("textDefault", "no rule allows this text"))
        for rule_id, reason in faults:
            violations.append(f"{rule_id}: {reason}")
            yield TriggeredRule(rule_id=rule_id, policy_id=texts.policy_id, action=RuleAction.BLOCK, reason=reason)
    violations += [problem.message for problem in invalid]
    yield TextFinding(
        compliant=not violations, violations=tuple(violations), applied_rules=tuple(dict.fromkeys(applied_rules))
    )


def _describe_violation(prepared: PreparedTextRule, match_sentence: str | None) -> str | None:
    match prepared.type:
        case TextRuleType.DENY if match_sentence is not None:
            reason = match_sentence
        case TextRuleType.REQUIRE if match_sentence is None:
            reason = prepared.missing_match
        case _:
            return None
    return f"{prepared.rule.description} ({reason})" if prepared.rule.description else reason
