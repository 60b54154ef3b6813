"""Prepares rules about calls of tools: checks words and fields, parses names and conditions."""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from services.policy.core.conditions import Condition, parse_condition
from services.policy.core.rules import parse_enum_word
from shared.contracts.policy import Policy, ToolRule, ToolRuleKind
from shared.domain.words import EscalationLevel, ToolClass

MAX_FIELDS_OF_PER = 8
MAX_AFTER_TOOLS = 50
MAX_STARS_OF_NAME = 4  # every further one multiplies the ways to look
_FIELDS_BY_KIND = {
    ToolRuleKind.AT_MOST: {"limit", "counting", "per"},
    ToolRuleKind.ONLY_AFTER: {"after", "per"},
    ToolRuleKind.ONLY_WHEN: {"condition"},
    ToolRuleKind.ONLY_AFTER_CONFIRMATION: {"level"},
}
_KIND_FIELDS = set[str]().union(*_FIELDS_BY_KIND.values())


class ToolDefault(StrEnum):
    """What happens to a tool that no rule admits."""

    ALLOW = "allow"
    DENY = "deny"
    DENY_WRITES = "deny_writes"


class CountedCalls(StrEnum):
    """Which earlier calls count against a rule's limit."""

    CALLS = "calls"
    SUCCESSES = "successes"


class PreparedToolRule(NamedTuple):
    """A rule about tools, parsed. ``matches`` tells whether a tool's name is one of the rule's."""

    policy_id: str
    rule: ToolRule
    kind: ToolRuleKind
    matches: Callable[[str], bool]  # whether it is about a tool of that name
    limit: int
    successes_only: bool
    per: tuple[tuple[str, ...], ...]  # paths
    condition: Condition | None
    level: EscalationLevel | None

    @property
    def needs_history(self) -> bool:
        return self.kind in (ToolRuleKind.AT_MOST, ToolRuleKind.ONLY_AFTER)

    @property
    def cost(self) -> int:
        """What deciding the rule for one call costs, counted in nodes of its condition, without comparing it with
        earlier calls.
        """
        rule = self.rule
        return 2 + (self.condition.cost if self.condition else 0) + (len(rule.id) + len(rule.reason or "")) // 16

    def reason(self, tool: str) -> str:
        """The rule's stated reason, or else a sentence on what it demands, shown to whoever planned the call."""
        return self.rule.reason or f"{tool} {self._describe_meaning()}"

    def _describe_meaning(self) -> str:
        scope = f" for the same {' and '.join(self.rule.per)}" if self.rule.per else ""
        match self.kind:
            case ToolRuleKind.AT_MOST:
                times = "once" if self.limit == 1 else f"{self.limit} times"
                return f"may be called at most {times}{scope}"
            case ToolRuleKind.ONLY_AFTER:
                return f"may only be called after {' or '.join(self.rule.after)} has succeeded{scope}"
            case ToolRuleKind.ONLY_WHEN:
                return f"may only be called when {self.rule.condition}"
            case ToolRuleKind.ONLY_AFTER_CONFIRMATION:
                return f"may only be called after {self.level.word if self.level else 'a person'} has confirmed it"
            case _:
                return "must not be called"


def prepare_tool_rule(policy_id: str, rule: ToolRule) -> PreparedToolRule:
    """Checks the rule, and parses its condition. Raises ``ConditionError`` for that, else ``ValueError``."""
    kind = parse_enum_word(ToolRuleKind, "kind", rule.kind, "known kinds")
    _refuse_fields_of_other_kinds(rule, kind)
    if kind is ToolRuleKind.ONLY_AFTER and not 0 < len(rule.after) <= MAX_AFTER_TOOLS:
        raise ValueError(f"only_after needs one to {MAX_AFTER_TOOLS} names of tools in 'after'")
    if any("*" in name or not name.strip() for name in rule.after):
        raise ValueError("'after' holds whole names of tools")
    return PreparedToolRule(
        policy_id=policy_id,
        rule=rule,
        kind=kind,
        matches=make_name_matcher(rule.tool),
        limit=_read_limit(rule),
        successes_only=_read_counted_calls(rule) is CountedCalls.SUCCESSES,
        per=_read_per_fields(rule),
        condition=_read_condition(rule, kind),
        level=None if rule.level is None else EscalationLevel.parse(rule.level),
    )


def is_tool_left_out(
    default: ToolDefault, rules: tuple[PreparedToolRule, ...], tool: str, tool_class: ToolClass
) -> bool:
    """Whether the policy denies by default and no rule of it admits the tool."""
    is_read = tool_class in (ToolClass.READ, ToolClass.COMPUTE)
    if default is ToolDefault.ALLOW or (default is ToolDefault.DENY_WRITES and is_read):
        return False
    return not any(prepared.kind is not ToolRuleKind.NEVER and prepared.matches(tool) for prepared in rules)


def why_tool_left_out(tool: str, policy: Policy) -> str:
    return f"{tool} is not among the tools that policy {policy.id} admits"


def make_name_matcher(name: str) -> Callable[[str], bool]:
    """A function that tells whether a tool's name matches ``name``, in which ``*`` stands for any characters.

    Raises ``ValueError`` for an unusable name.
    """
    name = name.strip()
    if not name:
        raise ValueError("a rule about tools names a tool")
    if "*" not in name:
        return name.__eq__
    if name.count("*") > MAX_STARS_OF_NAME:
        raise ValueError(f"the tool name {name!r} has more than {MAX_STARS_OF_NAME} stars")
    prefix, *pieces, suffix = name.split("*")
    return lambda tool: _matches_name_pieces(tool, prefix, pieces, suffix)


def _matches_name_pieces(tool: str, prefix: str, pieces: list[str], suffix: str) -> bool:
    if len(tool) < len(prefix) + len(suffix) or not (tool.startswith(prefix) and tool.endswith(suffix)):
        return False
    position, end = len(prefix), len(tool) - len(suffix)
    for piece in pieces:  # the leftmost place is never worse than a later one
        start = tool.find(piece, position, end)
        if start < 0:
            return False
        position = start + len(piece)
    return True


def _refuse_fields_of_other_kinds(rule: ToolRule, kind: ToolRuleKind) -> None:
    stated_fields = {name for name in _KIND_FIELDS if getattr(rule, name) not in (None, ())}
    if stray := sorted(stated_fields - _FIELDS_BY_KIND.get(kind, set())):
        raise ValueError(f"{', '.join(stray)}: no field of a rule of kind {kind}")


def _read_counted_calls(rule: ToolRule) -> CountedCalls:
    """Which calls count against the rule's limit; all, unless the rule says otherwise. Raises ``ValueError`` for an
    unknown word.
    """
    return CountedCalls.CALLS if rule.counting is None else parse_enum_word(CountedCalls, "counting", rule.counting)


def _read_limit(rule: ToolRule) -> int:
    if rule.limit is not None and rule.limit < 1:
        raise ValueError("the limit is at least 1; a tool that is never called has kind never")
    return 1 if rule.limit is None else rule.limit


def _read_per_fields(rule: ToolRule) -> tuple[tuple[str, ...], ...]:
    paths = tuple(tuple(name.split(".")) for name in rule.per)
    if len(paths) > MAX_FIELDS_OF_PER or not all(all(path) for path in paths):
        raise ValueError(f"'per' holds at most {MAX_FIELDS_OF_PER} names of fields")
    return paths


def _read_condition(rule: ToolRule, kind: ToolRuleKind) -> Condition | None:
    if kind is not ToolRuleKind.ONLY_WHEN:
        return None
    if rule.condition is None:
        raise ValueError("only_when needs a condition")
    return parse_condition(rule.condition)
