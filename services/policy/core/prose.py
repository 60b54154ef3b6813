"""Checks rules translated from prose: each must quote the source, and use only existing tools and fields."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from services.policy.core.conditions import Condition
from services.policy.core.grammar import Constant, walk_nodes
from services.policy.core.named_facts import list_tools_in_condition
from services.policy.core.prepared import RequestTooLarge, refuse_too_much_text
from services.policy.core.quotes import QuotedSource
from services.policy.core.rules import prepare_rule
from services.policy.core.tool_rules import make_name_matcher, prepare_tool_rule
from services.policy.core.values import ConditionError, parse_amount, read_number
from shared.contracts.policy import Policy, Rule, ToolRule, ToolRuleKind
from shared.contracts.prose import KnownTool, ProseAnswer, ProseRequest, RefusedRule, TranslatedRule
from shared.domain.exact_json import digest
from shared.domain.words import EscalationLevel

MAX_SOURCE_CHARACTERS = 100_000  # characters
MAX_TOOL_PAIRS = 100_000  # candidates times tools
MAX_SEARCHED_CHARACTERS = 10_000_000  # candidates times characters of the source
MAX_CANDIDATES = 500
_FIELDS_OF_EVERY_CALL = ("tool", "call_id")  # every call has these
_POLICY_ID = "prose"  # of the accepted rules


def check_translated_rules(request: ProseRequest) -> ProseAnswer:
    """Checks rules that a model translated from prose.

    Returns the accepted ones as a policy, the refused ones with their reasons, and the sentences of the prose that no
    accepted rule quotes.

    Raises ``RequestTooLarge``.
    """
    _refuse_too_many_steps(request)
    checking = _CandidateCheck(QuotedSource(request.source), _Vocabulary(request.tools, request.fields))
    accepted_rules: dict[str, Rule | ToolRule] = {}
    refusals: list[RefusedRule] = []
    for index, candidate in enumerate(request.candidates):
        rule = candidate.rule or candidate.tool_rule
        rule_id = rule.id if rule else ""
        if cause := checking.find_objection(candidate, rule, rule_id in accepted_rules):
            refusals.append(RefusedRule(index=index, rule_id=rule_id, cause=cause))
        elif rule:
            accepted_rules[rule_id] = rule.model_copy(update={"quote": candidate.quote})
    policy = _build_policy([*accepted_rules.values()], request.source)
    return ProseAnswer(
        policy=policy, refused=tuple(refusals), untranslated=tuple(checking.quotes.find_uncovered_sentences())
    )


class _Vocabulary:
    """The existing tools with their fields, and the fields that every call has."""

    def __init__(self, tools: Sequence[KnownTool], fields: Iterable[str]) -> None:
        self._tools = {tool.name: frozenset(tool.fields) for tool in tools}
        self._common = frozenset((*fields, *_FIELDS_OF_EVERY_CALL))
        self._all = self._common.union(*self._tools.values())

    def refuse_unknown_tools(self, names: Iterable[str]) -> None:
        """Raises ``ValueError`` for a name that is no tool's."""
        if unknown := [name for name in names if name not in self._tools]:
            raise ValueError(f"no such tool: {', '.join(unknown)}")

    def refuse_unmatched_tool_pattern(self, pattern: str) -> None:
        """Raises ``ValueError`` for a pattern, a tool's name or one with stars, that matches no tool."""
        if not self._list_fields_of_matching_tools(pattern):
            raise ValueError(f"no such tool: {pattern}")

    def refuse_unknown_fields(self, names: Iterable[str], tools: Iterable[str]) -> None:
        """Raises ``ValueError`` for a field that no call of ``tools`` (of any tool, if empty) has."""
        fields_of_tools = [fields for name in tools for fields in self._list_fields_of_matching_tools(name)]
        known_fields = self._common.union(*fields_of_tools) if fields_of_tools else self._all
        if unknown := [name for name in names if name not in known_fields and name.split(".")[0] not in known_fields]:
            raise ValueError(f"no such field: {', '.join(unknown)}")

    def _list_fields_of_matching_tools(self, name: str) -> list[frozenset[str]]:
        if "*" not in name:
            return [self._tools[name]] if name in self._tools else []
        fits = make_name_matcher(name)
        return [fields for tool, fields in self._tools.items() if fits(tool)]


class _CandidateCheck(NamedTuple):
    """Checks candidate rules of one prose text against its quotes and the existing tools."""

    quotes: QuotedSource
    vocabulary: _Vocabulary

    def find_objection(self, candidate: TranslatedRule, rule: Rule | ToolRule | None, is_taken: bool) -> str | None:
        """Why the candidate is refused; None if it is accepted, and then its quote is marked in the source."""
        if rule is None or (candidate.rule and candidate.tool_rule):
            return "a candidate holds either a rule or a toolRule"
        if is_taken:
            return f"another rule has the id {rule.id!r}"
        try:
            quote_words = self.quotes.require_quoted_words(candidate.quote)
            _refuse_rule_without_support(rule, quote_words, self.vocabulary)
        except ConditionError as error:
            return f"{error.cause} (at character {error.position} of the condition)"
        except ValueError as error:
            return str(error)
        self.quotes.mark_as_quoted(quote_words)
        return None


def _build_policy(rules: Sequence[Rule | ToolRule], source: str) -> Policy:
    return Policy(
        id=_POLICY_ID,
        version=digest(source),
        rules=tuple(rule for rule in rules if isinstance(rule, Rule)),
        tool_rules=tuple(rule for rule in rules if isinstance(rule, ToolRule)),
    )


def _refuse_too_many_steps(request: ProseRequest) -> None:
    size, candidates = len(request.source), len(request.candidates)
    if size > MAX_SOURCE_CHARACTERS:
        raise RequestTooLarge(f"the source has {size} characters; the limit is {MAX_SOURCE_CHARACTERS}", "source")
    has_too_many_pairs = candidates * size > MAX_SEARCHED_CHARACTERS or candidates * len(request.tools) > MAX_TOOL_PAIRS
    if has_too_many_pairs or candidates > MAX_CANDIDATES:
        raise RequestTooLarge(f"{candidates} rules are too many for this source and these tools", "candidates")
    rules = [rule for candidate in request.candidates for rule in (candidate.rule, candidate.tool_rule) if rule]
    refuse_too_much_text([_build_policy(rules, request.source)])


def _refuse_rule_without_support(rule: Rule | ToolRule, quote_words: Sequence[str], vocabulary: _Vocabulary) -> None:
    """Raises ``ValueError`` or ``ConditionError`` for a rule that its quote does not support."""
    _refuse_loosening(rule, quote_words)
    if isinstance(rule, Rule):
        condition = prepare_rule(_POLICY_ID, rule).condition
        _refuse_condition_without_support(condition, list_tools_in_condition(condition), quote_words, vocabulary)
        return
    prepared = prepare_tool_rule(_POLICY_ID, rule)
    vocabulary.refuse_unmatched_tool_pattern(rule.tool)
    vocabulary.refuse_unknown_tools(rule.after)
    vocabulary.refuse_unknown_fields(rule.per, [rule.tool])
    _refuse_unstated_figures([Decimal(prepared.limit)], quote_words)
    if prepared.condition:
        _refuse_condition_without_support(prepared.condition, [rule.tool], quote_words, vocabulary)


def _refuse_loosening(rule: Rule | ToolRule, quote_words: Sequence[str]) -> None:
    """Raises ``ValueError`` for a rule that permits something, or names another level than its quote."""
    if rule.report_only or (isinstance(rule, ToolRule) and rule.kind.strip().lower() == ToolRuleKind.ALLOW):
        raise ValueError("a translated rule forbids or asks; it does not allow, nor only report")
    if isinstance(rule, Rule) and rule.if_known:
        raise ValueError("a translated rule waits for what it is about; it does not pass over what is missing")
    named_levels = {level.word for level in EscalationLevel} & {*quote_words}
    if named_levels and rule.level is not None and EscalationLevel.parse(rule.level).word not in named_levels:
        raise ValueError(f"the quote names {', '.join(sorted(named_levels))}, and not {rule.level}")


def _refuse_condition_without_support(
    condition: Condition, tools: Iterable[str], quote_words: Sequence[str], vocabulary: _Vocabulary
) -> None:
    """Raises ``ValueError`` for a condition without a field, or with unknown tools, fields that no call of ``tools``
    has, or figures that the quote does not state.
    """
    if not condition.fields:
        raise ValueError("the condition reads no field: it says the same of every call")
    vocabulary.refuse_unknown_tools(list_tools_in_condition(condition))
    vocabulary.refuse_unknown_fields([field.name for field in condition.fields], tools)
    _refuse_unstated_figures(list_figures_in_condition(condition), quote_words)


def _refuse_unstated_figures(figures: Sequence[Decimal], quote_words: Sequence[str]) -> None:
    if missing := _find_missing_figures(figures, quote_words):
        raise ValueError(f"the quote does not say {', '.join(missing)}")


_NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_NUMBERS_BY_WORD = {word: Decimal(number) for number, word in enumerate(_NUMBER_WORDS)} | {
    "once": Decimal(1),
    "twice": Decimal(2),
    "thrice": Decimal(3),
    "single": Decimal(1),
    "hundred": Decimal(100),
    "thousand": Decimal(1_000),
    "million": Decimal(1_000_000),
}
_SCALES_BY_WORD = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_SCALES_BY_ENDING = {"k": 1_000, "m": 1_000_000}
_FIGURES_NEEDING_NO_SOURCE = frozenset({Decimal(0), Decimal(1)})  # "more than nothing", "an order"


def list_figures_in_condition(condition: Condition) -> tuple[Decimal, ...]:
    """The numbers that a condition compares with, including those written as texts."""
    constants = [node.value for node in walk_nodes(condition.tree) if isinstance(node, Constant)]
    return tuple(Decimal(number) for constant in constants if (number := read_number(constant)) is not None)


def _find_missing_figures(figures: Sequence[Decimal], quote_words: Sequence[str]) -> list[str]:
    """The figures, except 0 and 1, that the words do not state; a number also states its hundredth (per cent)."""
    if all(abs(figure) in _FIGURES_NEEDING_NO_SOURCE for figure in figures):
        return []
    stated_figures = set(_FIGURES_NEEDING_NO_SOURCE)
    for figure in _read_numbers(quote_words):
        stated_figures |= {figure, figure / 100}
    return [format(abs(figure), "f") for figure in figures if abs(figure) not in stated_figures]


def _read_numbers(words: Sequence[str]) -> Iterator[Decimal]:
    number_before: Decimal | None = None
    for word in words:
        number = _read_number(word)
        if number is not None:
            yield number
        if number_before is not None and word in _SCALES_BY_WORD:
            yield number_before * _SCALES_BY_WORD[word]
        number_before = number


def _read_number(word: str) -> Decimal | None:
    if word in _NUMBERS_BY_WORD:
        return _NUMBERS_BY_WORD[word]
    scale = _SCALES_BY_ENDING.get(word[-1:], 1) if word[:1].isdigit() else 1
    amount = parse_amount(word[:-1] if scale > 1 else word)
    return amount.number * scale if amount else None
