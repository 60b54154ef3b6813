"""What a translated rule may speak of: tools and fields that exist, and figures that its quote names."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from services.policy.core.conditions import Condition, Conditions
from services.policy.core.figures import figures_of, missing_figures
from services.policy.core.rules import ready_rule
from services.policy.core.tool_names import is_exact, matching
from services.policy.core.tool_rules import ready_tool_rule
from services.policy.core.tree import Comparison, Constant, Membership, Node, Reference, parts
from shared.contracts.policy import Policy, Rule, ToolRule, ToolRuleKind
from shared.contracts.prose import KnownTool
from shared.domain.words import Level

_OWN = ("tool", "call_id")  # every call has these
_NOBODY = Policy(id="prose")


class Vocabulary:
    """The tools that exist with their fields, and the fields that every call has."""

    def __init__(self, tools: Sequence[KnownTool], fields: Iterable[str]) -> None:
        self._tools = {tool.name: frozenset(tool.fields) for tool in tools}
        self._common = frozenset((*fields, *_OWN))
        self._all = self._common.union(*self._tools.values())

    def refuse_unknown_tools(self, names: Iterable[str]) -> None:
        """Raise ``ValueError`` for a name that no tool has."""
        if unknown := [name for name in names if name not in self._tools]:
            raise ValueError(f"no such tool: {', '.join(unknown)}")

    def refuse_unknown_pattern(self, name: str) -> None:
        """Raise ``ValueError`` for a name, with or without stars, that fits no tool."""
        if not self._named(name):
            raise ValueError(f"no such tool: {name}")

    def refuse_unknown_fields(self, names: Iterable[str], tools: Iterable[str]) -> None:
        """Raise ``ValueError`` for a field that calls of these tools do not have; of any, where none are named."""
        own = [fields for name in tools for fields in self._named(name)]
        known = self._common.union(*own) if own else self._all
        if unknown := [name for name in names if name not in known and name.split(".")[0] not in known]:
            raise ValueError(f"no such field: {', '.join(unknown)}")

    def _named(self, name: str) -> list[frozenset[str]]:
        if is_exact(name):
            return [self._tools[name]] if name in self._tools else []
        fits = matching(name)
        return [fields for tool, fields in self._tools.items() if fits(tool)]


def refuse_unknown(rule: Rule | ToolRule, said: Sequence[str], vocabulary: Vocabulary, conditions: Conditions) -> None:
    """Raise ``ValueError`` or ``ConditionError`` for a rule that cannot be accepted; ``said`` are its quote's words."""
    _refuse_loosening(rule, said)
    if isinstance(rule, Rule):
        _refuse_rule(ready_rule(_NOBODY, rule, conditions).condition, said, vocabulary)
        return
    ready = ready_tool_rule(_NOBODY, rule, conditions)
    vocabulary.refuse_unknown_pattern(rule.tool)
    vocabulary.refuse_unknown_tools(rule.after)
    vocabulary.refuse_unknown_fields(rule.per, [rule.tool])
    _refuse_figures([Decimal(ready.limit)], said)
    if ready.condition:
        _refuse_constant(ready.condition)
        vocabulary.refuse_unknown_tools(_tools_named(ready.condition))
        vocabulary.refuse_unknown_fields(_fields(ready.condition), [rule.tool])
        _refuse_figures(figures_of(ready.condition), said)


def _refuse_loosening(rule: Rule | ToolRule, said: Sequence[str]) -> None:
    """A translation only tightens, and asks nobody lower than whom the quote names."""
    if rule.report_only or (isinstance(rule, ToolRule) and rule.kind.strip().lower() == ToolRuleKind.ALLOW):
        raise ValueError("a translated rule forbids or asks; it does not allow, nor only report")
    if isinstance(rule, Rule) and rule.if_known:
        raise ValueError("a translated rule waits for what it is about; it does not pass over what is missing")
    named = {level.word for level in Level} & {*said}
    if named and rule.level is not None and Level.parse(rule.level).word not in named:
        raise ValueError(f"the quote names {', '.join(sorted(named))}, and not {rule.level}")


def _refuse_rule(condition: Condition, said: Sequence[str], vocabulary: Vocabulary) -> None:
    _refuse_constant(condition)
    tools = _tools_named(condition)
    vocabulary.refuse_unknown_tools(tools)
    vocabulary.refuse_unknown_fields(_fields(condition), tools)
    _refuse_figures(figures_of(condition), said)


def _refuse_constant(condition: Condition) -> None:
    if not condition.fields:
        raise ValueError("the condition reads no field: it says the same of every call")


def _refuse_figures(figures: Sequence[Decimal], said: Sequence[str]) -> None:
    if missing := missing_figures(figures, said):
        raise ValueError(f"the quote does not say {', '.join(missing)}")


def _fields(condition: Condition) -> list[str]:
    return [field.name for field in condition.fields]


def _tools_named(condition: Condition) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_named_in(condition.tree)))


def _named_in(tree: Node) -> Iterator[str]:
    for part in parts(tree):
        match part:
            case Comparison(left=Reference(path=("tool",)), right=Constant(str(name))):
                yield name
            case Comparison(left=Constant(str(name)), right=Reference(path=("tool",))):
                yield name
            case Membership(Reference(path=("tool",)), tuple(choices)):
                yield from (choice.value for choice in choices if isinstance(choice.value, str))
