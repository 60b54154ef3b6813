"""Prepares policies: parses every rule or reports it as a problem, and caches prepared policies by their hash."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from services.policy.core.conditions import ConditionCache
from services.policy.core.rule_index import RuleIndex, RulesOfCalls
from services.policy.core.rules import build_problem, enum_member_of, prepare_rule
from services.policy.core.text_rules import ReadyTexts, TextDefault, prepare_text_rule
from services.policy.core.tool_rules import ReadyToolRule, ToolDefault, prepare_tool_rule
from services.policy.core.values import ConditionError
from shared.contracts.policy import Policy, PolicyProblem
from shared.contracts.policy_hash import policy_hash
from shared.domain.lru_cache import WeightedCache

MAX_TEXT = 256 * 1024  # characters of all rules and their policies' ids
MAX_PATTERNS = 10_000  # characters of all regular expressions: compiling one is the dearest thing a rule can ask
REMEMBERED = 4 * 1024 * 1024  # characters of the policies that are held, as JSON, and 32 for each node of a condition
_T = TypeVar("_T")


class RequestTooLarge(Exception):
    """The request exceeds a limit. ``field``: the part that should be smaller."""

    def __init__(self, sentence: str, field: str) -> None:
        super().__init__(sentence)
        self.field = field


class ReadyPolicy(NamedTuple):
    policy: Policy
    rules: RuleIndex
    rules_of_calls: RulesOfCalls
    tool_rules: tuple[ReadyToolRule, ...]
    tool_default: ToolDefault
    texts: ReadyTexts


class ReadyPolicies(NamedTuple):
    """The prepared policies of a request, with their measured cost; they can be used for any request under the same
    policies.
    """

    ready: tuple[ReadyPolicy, ...]
    problems: tuple[PolicyProblem, ...]
    hash: str
    rules: int
    cost: int  # of deciding all rules for one call
    rules_about_tools: int
    looks_back: int  # how often one call is compared with each earlier one
    pattern_sizes: tuple[int, ...]
    keywords: int


class PreparedPolicies(WeightedCache[str, ReadyPolicies]):
    """A cache of prepared policies by hash, shared by all requests that send or name them."""

    def __init__(self, conditions: ConditionCache, limit: int = REMEMBERED) -> None:
        super().__init__(limit)
        self._conditions = conditions

    def get_or_prepare(self, policies: Sequence[Policy]) -> ReadyPolicies:
        """The prepared policies, from the cache or made now. Raises ``RequestTooLarge`` for too much text."""
        named = policy_hash(policies)
        prepared = self.look_up(named)
        if prepared is None:
            prepared = prepare_policies(policies, self._conditions, named)
            self.put(named, prepared, 32 * prepared.cost + sum(len(one.model_dump_json()) for one in policies))
        return prepared


def prepare_policies(
    policies: Sequence[Policy], conditions: ConditionCache, known_hash: str | None = None
) -> ReadyPolicies:
    """Parses and measures policies. ``known_hash``: their hash. Raises ``RequestTooLarge`` for too much text."""
    refuse_too_much_text(policies)
    problems: list[PolicyProblem] = []
    ready = tuple(_prepare_policy(policy, conditions, problems) for policy in policies)
    conditional = [rule for policy in ready for rule in policy.rules.all]
    about_tools = [rule for policy in ready for rule in policy.tool_rules]
    about_text = [rule for policy in ready for rule in policy.texts.rules]
    return ReadyPolicies(
        ready=ready,
        problems=tuple(problems),
        hash=known_hash or policy_hash(policies),
        rules=len(conditional) + len(about_tools),
        cost=sum(rule.cost for rule in conditional) + sum(rule.cost for rule in about_tools),
        rules_about_tools=len(about_tools),
        looks_back=sum(1 + 4 * len(rule.per) + len(rule.rule.after) // 4 for rule in about_tools if rule.needs_history),
        pattern_sizes=tuple(rule.pattern.size for rule in about_text if rule.pattern),
        keywords=sum(len(rule.words) for rule in about_text),
    )


def refuse_too_much_text(policies: Sequence[Policy]) -> None:
    """Raises ``RequestTooLarge`` if rules or patterns have too many characters; nothing is parsed before that."""
    if (text := sum(size for policy in policies for size in _list_sizes(policy))) > MAX_TEXT:
        raise RequestTooLarge(f"the rules have {text} characters; the limit is {MAX_TEXT}", "policies")
    patterns = sum(len(rule.pattern or "") for policy in policies for rule in policy.text_rules)
    if patterns > MAX_PATTERNS:
        raise RequestTooLarge(f"the patterns have {patterns} characters; the limit is {MAX_PATTERNS}", "policies")


def _prepare_policy(policy: Policy, conditions: ConditionCache, problems: list[PolicyProblem]) -> ReadyPolicy:
    def make_or_report(rule_id: str, make: Callable[..., _T], *given: object) -> list[_T]:
        """The result of ``make`` in a list; empty, with a problem added, if the rule is invalid."""
        try:
            return [make(*given)]
        except (ConditionError, ValueError) as error:
            problems.append(
                build_problem(policy.id, rule_id, error if isinstance(error, ConditionError) else str(error))
            )
        return []

    rules = [made for rule in policy.rules for made in make_or_report(rule.id, prepare_rule, policy, rule, conditions)]
    tool_rules = [
        made
        for rule in policy.tool_rules
        for made in make_or_report(rule.id, prepare_tool_rule, policy, rule, conditions)
    ]
    [for_tools] = make_or_report("toolDefault", enum_member_of, ToolDefault, "default", policy.tool_default) or [
        ToolDefault.DENY
    ]
    texts = [made for rule in policy.text_rules for made in make_or_report(rule.id, prepare_text_rule, rule)]
    [for_texts] = make_or_report("textDefault", enum_member_of, TextDefault, "default", policy.text_default) or [
        TextDefault.DENY
    ]
    first_id = policy.text_rules[0].id if policy.text_rules else "textDefault" if for_texts == "deny" else None
    about_text = ReadyTexts(policy.id, tuple(texts), for_texts, first_id)
    return ReadyPolicy(policy, RuleIndex(rules), RulesOfCalls(rules), tuple(tool_rules), for_tools, about_text)


def _list_sizes(policy: Policy) -> Iterator[int]:
    yield len(policy.id) * (1 + len(policy.rules) + len(policy.tool_rules) + len(policy.text_rules))
    for rule in policy.rules:
        yield len(rule.id) + len(rule.condition) + len(rule.reason or "")
    for about in policy.tool_rules:
        yield len(about.id) + len(about.tool) + len(about.condition or "") + len(about.reason or "")
        yield sum(map(len, about.after)) + sum(map(len, about.per))
    for sought in policy.text_rules:
        yield len(sought.id) + len(sought.description) + len(sought.pattern or "") + sum(map(len, sought.keywords))
