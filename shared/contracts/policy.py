"""The policy service's request and verdict. On the wire the names are camelCase, as seed 003 writes them."""

from decimal import Decimal
from typing import Annotated, Self, TypeAlias

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from shared.contracts.base import Contract
from shared.domain.exact_json import dumps, loads_object, plain
from shared.domain.words import RuleAction

# str stands first: a text such as "007" must stay a text, and only a JSON number becomes a number.
Scalar: TypeAlias = str | bool | int | Annotated[Decimal, WithJsonSchema({"type": "number"})] | None
ContextValue: TypeAlias = "Scalar | list[Scalar] | dict[str, Scalar | list[Scalar] | dict[str, Scalar]]"


class PolicyContract(Contract):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    def to_json(self) -> str:
        """The message as it travels: a ``Decimal`` is the exact JSON number, where Pydantic would write a text."""
        return dumps(plain(self.model_dump(by_alias=True)))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The message read exactly; ``ValueError`` on bad JSON or on a message of another shape."""
        return cls.model_validate(loads_object(text))


class Rule(PolicyContract):
    """One rule. ``level`` is needed by ``require_approval`` and ``escalate``; words are checked by the service."""

    id: str
    condition: str
    action: str
    level: str | None = None
    reason: str | None = None


class Policy(PolicyContract):
    """A named, versioned set of rules; ``context`` holds values that came with the rules (a request's policy_doc)."""

    id: str
    version: str = "1"
    rules: tuple[Rule, ...] = ()
    context: dict[str, ContextValue] = {}


class CallContext(PolicyContract):
    """One planned call as the rules see it: its tool, and the fields known for it (arguments, linked facts, values)."""

    call_id: str
    tool: str
    fields: dict[str, ContextValue] = {}


class EvaluateRequest(PolicyContract):
    """Rules to evaluate over a context, and over each planned call with its own fields laid over that context.

    ``binding`` tells the service to treat an indeterminate rule (a missing field) as an escalation; a provisional
    verdict reports it without effect.
    """

    policies: tuple[Policy, ...] = ()
    context: dict[str, ContextValue] = {}
    calls: tuple[CallContext, ...] = ()
    plan_hash: str | None = None
    binding: bool = False


class TriggeredRule(PolicyContract):
    rule_id: str
    policy_id: str
    action: RuleAction
    level: str | None = None
    reason: str
    call_id: str | None = None
    values: dict[str, ContextValue] = {}  # the fields that decided it
    indeterminate: bool = False  # it acts because a field was missing


class PolicyProblem(PolicyContract):
    """A rule that cannot be parsed or evaluated: the verdict is then 'not passed'."""

    rule_id: str
    policy_id: str
    position: int | None = None  # character offset in the condition
    message: str


class Verdict(PolicyContract):
    """Ground truth of a plan's compliance, decided without a model.

    ``passed`` is false when a rule blocks, a rule escalates or a rule is invalid. ``requires_approval`` asks for one
    decision before the plan goes on; ``escalate`` for the level's decision on the whole task, which alone lifts it.
    """

    passed: bool
    requires_approval: bool = False
    escalate: bool = False
    escalation_level: str | None = None  # the highest level that a triggered rule names
    blocked: bool = False
    triggered_rules: tuple[TriggeredRule, ...] = ()
    indeterminate: tuple[str, ...] = Field(default=())  # rule ids, where they have no effect
    problems: tuple[PolicyProblem, ...] = ()
    binding: bool = False
    policy_hash: str
    context_hash: str
    plan_hash: str | None = None
