"""Rules about calls of tools made ready: words understood, names and conditions parsed, stray fields refused."""

from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from services.policy.core.conditions import Condition, Conditions
from services.policy.core.tool_names import Matches, matching
from shared.contracts.policy import Policy, ToolRule, ToolRuleKind
from shared.domain.words import Level, ToolClass

ToolDefault: TypeAlias = Literal["allow", "deny", "deny_writes"]
Counting: TypeAlias = Literal["calls", "successes"]
_OWN_FIELDS = {
    ToolRuleKind.AT_MOST: {"limit", "counting", "per"},
    ToolRuleKind.ONLY_AFTER: {"after", "per"},
    ToolRuleKind.ONLY_WHEN: {"condition"},
    ToolRuleKind.ONLY_AFTER_CONFIRMATION: {"level"},
}
_FIELDS = set[str]().union(*_OWN_FIELDS.values())
MAX_PER = 8
MAX_AFTER = 50


class ReadyToolRule(NamedTuple):
    policy_id: str
    rule: ToolRule
    kind: ToolRuleKind
    matches: Matches
    limit: int
    successes_only: bool
    per: tuple[tuple[str, ...], ...]  # paths
    condition: Condition | None
    level: Level | None

    @property
    def looks_back(self) -> bool:
        return self.kind in (ToolRuleKind.AT_MOST, ToolRuleKind.ONLY_AFTER)

    @property
    def cost(self) -> int:
        """What deciding it for one call costs, in nodes, without a look at earlier calls."""
        rule = self.rule
        return 2 + (self.condition.cost if self.condition else 0) + (len(rule.id) + len(rule.reason or "")) // 16


def ready_tool_rule(policy: Policy, rule: ToolRule, conditions: Conditions) -> ReadyToolRule:
    """Raises ``ConditionError`` for its condition and ``ValueError`` for anything else that cannot be meant."""
    kind = _kind(rule.kind)
    _refuse_stray_fields(rule, kind)
    if kind is ToolRuleKind.ONLY_AFTER and not 0 < len(rule.after) <= MAX_AFTER:
        raise ValueError(f"only_after needs one to {MAX_AFTER} names of tools in 'after'")
    if any("*" in name or not name.strip() for name in rule.after):
        raise ValueError("'after' holds whole names of tools")
    return ReadyToolRule(
        policy_id=policy.id,
        rule=rule,
        kind=kind,
        matches=matching(rule.tool),
        limit=_limit(rule),
        successes_only=_counting(rule) == "successes",
        per=_paths(rule),
        condition=_condition(rule, kind, conditions),
        level=None if rule.level is None else Level.parse(rule.level),
    )


def tool_default(policy: Policy) -> ToolDefault:
    """What holds for a tool that no rule admits; ``ValueError`` for an unknown word."""
    word = policy.tool_default.strip().lower()
    if word not in get_args(ToolDefault):
        raise ValueError(f"unknown default {policy.tool_default!r}; known: {', '.join(get_args(ToolDefault))}")
    return cast(ToolDefault, word)


def is_left_out(default: ToolDefault, rules: tuple[ReadyToolRule, ...], tool: str, tool_class: ToolClass) -> bool:
    """Whether a policy that denies by default has no rule that admits the tool."""
    if default == "allow" or (default == "deny_writes" and tool_class in (ToolClass.READ, ToolClass.COMPUTE)):
        return False
    return not any(ready.kind is not ToolRuleKind.NEVER and ready.matches(tool) for ready in rules)


def _kind(word: str) -> ToolRuleKind:
    try:
        return ToolRuleKind(word.strip().lower())
    except ValueError:
        raise ValueError(f"unknown kind {word!r}; known kinds: {', '.join(ToolRuleKind)}") from None


def _refuse_stray_fields(rule: ToolRule, kind: ToolRuleKind) -> None:
    given = {name for name in _FIELDS if getattr(rule, name) not in (None, ())}
    if stray := sorted(given - _OWN_FIELDS.get(kind, set())):
        raise ValueError(f"{', '.join(stray)}: no field of a rule of kind {kind}")


def _limit(rule: ToolRule) -> int:
    if rule.limit is not None and rule.limit < 1:
        raise ValueError("the limit is at least 1; a tool that is never called has kind never")
    return 1 if rule.limit is None else rule.limit


def _counting(rule: ToolRule) -> Counting:
    word = "calls" if rule.counting is None else rule.counting.strip().lower()
    if word not in get_args(Counting):
        raise ValueError(f"unknown counting {rule.counting!r}; known: {', '.join(get_args(Counting))}")
    return cast(Counting, word)


def _paths(rule: ToolRule) -> tuple[tuple[str, ...], ...]:
    paths = tuple(tuple(name.split(".")) for name in rule.per)
    if len(paths) > MAX_PER or not all(all(path) for path in paths):
        raise ValueError(f"'per' holds at most {MAX_PER} names of fields")
    return paths


def _condition(rule: ToolRule, kind: ToolRuleKind, conditions: Conditions) -> Condition | None:
    if kind is not ToolRuleKind.ONLY_WHEN:
        return None
    if rule.condition is None:
        raise ValueError("only_when needs a condition")
    return conditions.get(rule.condition)
