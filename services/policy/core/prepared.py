"""Prepares policies: parses every rule or reports it as a problem, and caches prepared policies by their hash."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from services.policy.core.rule_index import RuleIndex
from services.policy.core.rules import PreparedRule, build_problem, parse_enum_word, prepare_rule
from services.policy.core.text_rules import PreparedTextRule, PreparedTextRules, TextDefault, prepare_text_rule
from services.policy.core.tool_rules import PreparedToolRule, ToolDefault, prepare_tool_rule
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, PolicyProblem
from shared.contracts.policy_hash import hash_policies
from shared.domain.lru_cache import WeightedCache

MAX_RULE_CHARACTERS = 256 * 1024  # characters of all rules and their policies' ids
MAX_ALL_PATTERNS = 10_000  # characters of all regular expressions, which are dear to compile
MAX_CACHED_CHARACTERS = 4 * 1024 * 1024  # of the cached policies as JSON; a node of a condition counts as 32
_T = TypeVar("_T")


class RequestTooLarge(Exception):
    """The request exceeds a limit. ``field``: the part that should be smaller."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


class PreparedPolicy(NamedTuple):
    """A policy whose rules are parsed and indexed. ``rules_naming_calls`` are those of ``rules`` that concern named
    tools or processes only, ``other_rules`` the others. Invalid rules are left out.
    """

    policy: Policy
    rules: RuleIndex
    rules_naming_calls: RuleIndex  # of ``rules``, as the others
    other_rules: Sequence[PreparedRule]
    tool_rules: tuple[PreparedToolRule, ...]
    tool_default: ToolDefault
    texts: PreparedTextRules


class PreparedPolicies(NamedTuple):
    """Policies prepared for any number of requests, with what it costs to decide them."""

    all: tuple[PreparedPolicy, ...]
    problems: tuple[PolicyProblem, ...]
    hash: str
    rule_count: int
    cost: int  # of deciding all rules for one call
    tool_rule_count: int
    comparisons_per_earlier_call: int  # of one call with each call before it
    pattern_sizes: tuple[int, ...]
    keyword_count: int


class PreparedPolicyCache(WeightedCache[str, PreparedPolicies]):
    """A cache of prepared policies by hash, shared by all requests that send or name them."""

    def __init__(self, limit: int = MAX_CACHED_CHARACTERS) -> None:
        super().__init__(limit)

    def get_or_prepare(self, policies: Sequence[Policy]) -> PreparedPolicies:
        """The prepared policies, from the cache or made now. Raises ``RequestTooLarge`` for too much text."""
        ready_policies = self.look_up(hash_policies(policies))
        if ready_policies is None:
            ready_policies = prepare_policies(policies)
            size = sum(len(policy.model_dump_json()) for policy in policies)
            self.put(ready_policies.hash, ready_policies, 32 * ready_policies.cost + size)
        return ready_policies


def prepare_policies(policies: Sequence[Policy]) -> PreparedPolicies:
    """Parses the policies' rules and measures what deciding them costs. An invalid rule becomes a problem. Raises
    ``RequestTooLarge`` for too much text.
    """
    refuse_too_much_text(policies)
    problems: list[PolicyProblem] = []
    prepared = tuple(_prepare_policy(policy, problems) for policy in policies)
    condition_rules = [rule for policy in prepared for rule in policy.rules.all]
    tool_rules = [rule for policy in prepared for rule in policy.tool_rules]
    text_rules = [rule for policy in prepared for rule in policy.texts.rules]
    return PreparedPolicies(
        all=prepared,
        problems=tuple(problems),
        hash=hash_policies(policies),
        rule_count=len(condition_rules) + len(tool_rules),
        cost=sum(rule.cost for rule in condition_rules) + sum(rule.cost for rule in tool_rules),
        tool_rule_count=len(tool_rules),
        comparisons_per_earlier_call=sum(
            1 + 4 * len(rule.per) + len(rule.rule.after) // 4 for rule in tool_rules if rule.needs_history
        ),
        pattern_sizes=tuple(rule.pattern.size for rule in text_rules if rule.pattern),
        keyword_count=sum(len(rule.words) for rule in text_rules),
    )


def refuse_too_much_text(policies: Sequence[Policy]) -> None:
    """Raises ``RequestTooLarge`` if rules or patterns have too many characters; to be called before they are parsed."""
    if (text := sum(size for policy in policies for size in _list_text_lengths(policy))) > MAX_RULE_CHARACTERS:
        raise RequestTooLarge(f"the rules have {text} characters; the limit is {MAX_RULE_CHARACTERS}", "policies")
    patterns = sum(len(rule.pattern or "") for policy in policies for rule in policy.text_rules)
    if patterns > MAX_ALL_PATTERNS:
        raise RequestTooLarge(f"the patterns have {patterns} characters; the limit is {MAX_ALL_PATTERNS}", "policies")


def _prepare_policy(policy: Policy, problems: list[PolicyProblem]) -> PreparedPolicy:
    def prepare_or_report_rule(rule_id: str, make: Callable[..., _T], *arguments: object) -> list[_T]:
        """The result of ``make`` in a list; empty, with a problem added, if the rule is invalid."""
        try:
            return [make(*arguments)]
        except (ConditionError, ValueError) as error:
            cause = error if isinstance(error, ConditionError) else str(error)
            problems.append(build_problem(policy.id, rule_id, cause))
        return []

    rules = list[PreparedRule]()
    tool_rules = list[PreparedToolRule]()
    texts = list[PreparedTextRule]()
    for rule in policy.rules:
        rules += prepare_or_report_rule(rule.id, prepare_rule, policy.id, rule)
    for tool_rule in policy.tool_rules:
        tool_rules += prepare_or_report_rule(tool_rule.id, prepare_tool_rule, policy.id, tool_rule)
    tool_defaults = prepare_or_report_rule("toolDefault", parse_enum_word, ToolDefault, "default", policy.tool_default)
    tool_default = tool_defaults[0] if tool_defaults else ToolDefault.DENY
    for text_rule in policy.text_rules:
        texts += prepare_or_report_rule(text_rule.id, prepare_text_rule, text_rule)
    text_defaults = prepare_or_report_rule("textDefault", parse_enum_word, TextDefault, "default", policy.text_default)
    text_default = text_defaults[0] if text_defaults else TextDefault.DENY
    first_id = "textDefault" if text_default is TextDefault.DENY else None
    if policy.text_rules:
        first_id = policy.text_rules[0].id
    text_rules = PreparedTextRules(policy.id, tuple(texts), text_default, first_id)
    naming_rules = RuleIndex([rule for rule in rules if rule.names_its_calls])
    other_rules = [rule for rule in rules if not rule.names_its_calls]
    return PreparedPolicy(
        policy, RuleIndex(rules), naming_rules, other_rules, tuple(tool_rules), tool_default, text_rules
    )


def _list_text_lengths(policy: Policy) -> Iterator[int]:
    yield len(policy.id) * (1 + len(policy.rules) + len(policy.tool_rules) + len(policy.text_rules))
    for rule in policy.rules:
        yield len(rule.id) + len(rule.condition) + len(rule.reason or "")
    for tool_rule in policy.tool_rules:
        yield len(tool_rule.id) + len(tool_rule.tool) + len(tool_rule.condition or "") + len(tool_rule.reason or "")
        yield sum(map(len, (*tool_rule.after, *tool_rule.per)))
    for text_rule in policy.text_rules:
        texts = (text_rule.id, text_rule.description, text_rule.pattern or "", *text_rule.keywords)
        yield sum(map(len, texts))
