"""Requests to and verdicts of the policy service. Their JSON field names are in camelCase."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Self, TypeAlias

from pydantic import ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel
from typing_extensions import override

from shared.contracts.base import Contract
from shared.domain.exact_json import dumps, dumps_inexact, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import RuleAction, ToolClass

# str stands first: a text such as "007" must stay a text, and only a JSON number becomes a number.
Scalar: TypeAlias = str | bool | int | Annotated[Decimal, WithJsonSchema({"type": "number"})] | None
ContextValue: TypeAlias = Scalar | list[Scalar] | dict[str, Scalar | list[Scalar] | dict[str, Scalar]]


class CallOutcome(StrEnum):
    """The outcome of a call, as rules distinguish it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"  # the server answered with an error
    UNKNOWN = "unknown"  # sent, and nobody knows
    UNSENT = "unsent"  # refused before it was sent, or never connected


class ToolRuleKind(StrEnum):
    """What a rule about tools demands of their calls."""

    NEVER = "never"
    AT_MOST = "at_most"
    ONLY_AFTER = "only_after"
    ONLY_WHEN = "only_when"
    ONLY_AFTER_CONFIRMATION = "only_after_confirmation"
    ALLOW = "allow"


class PolicyContract(Contract):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    def to_json(self) -> str:
        """The message as JSON, with each ``Decimal`` as an exact number."""
        return dumps_inexact(self.model_dump(by_alias=True))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parses the message with exact numbers; raises ``ValueError``."""
        return cls.model_validate(loads_object(text))


class Rule(PolicyContract):
    """One rule. ``level`` is required for ``require_approval`` and ``escalate``; the service checks the words.

    ``approvers``: how many different people of that level must approve, one by default. ``report_only``: its effect is
    only reported. ``quote``: the prose it was translated from. ``if_known``: it does not apply while a field it depends
    on is missing, even in a binding verdict.
    """

    id: str
    condition: str
    action: str
    level: str | None = None
    reason: str | None = None
    report_only: bool = False
    quote: str | None = None
    if_known: bool = False
    approvers: int | None = None


class ToolRule(PolicyContract):
    """One rule about calls of a tool, or of several (``*`` in the name stands for any characters).

    ``kind`` is a ``ToolRuleKind``; comments name the kinds that a field belongs to. In a rule of another it is an
    error.
    """

    id: str
    kind: str
    tool: str
    limit: int | None = None  # at_most; 1 where none is given
    counting: str | None = None  # at_most: "calls" that were sent (the default), or "successes"
    after: tuple[str, ...] = ()  # only_after: one of these tools has succeeded
    condition: str | None = None  # only_when
    level: str | None = None  # only_after_confirmation: who has to confirm; anybody where none is given
    per: tuple[str, ...] = ()  # at_most, only_after: only calls that agree in these fields are looked at
    reason: str | None = None
    report_only: bool = False
    quote: str | None = None


class TextRule(PolicyContract):
    """One rule about the text of a task: ``type`` is allow, deny or require."""

    id: str
    type: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    pattern: str | None = None


class Policy(PolicyContract):
    """A named, versioned set of rules. ``context``: values that came with the rules (those of a request's policy_doc).

    ``judges_records``: its rules are evaluated on a call as planned, and again with the fields of each of its
    ``recorded`` records.
    """

    id: str
    version: str = "1"
    rules: tuple[Rule, ...] = ()
    context: dict[str, ContextValue] = {}
    tool_rules: tuple[ToolRule, ...] = ()
    tool_default: str = "allow"  # "deny": a tool that no rule here admits is refused; "deny_writes": unless it reads
    text_rules: tuple[TextRule, ...] = ()
    text_default: str = "allow"  # "deny": a text that no ``allow`` rule here matches is a violation
    judges_records: bool = False

    @property
    def judges_texts(self) -> bool:
        """Whether a task's text affects this policy's verdicts."""
        return bool(self.text_rules) or self.text_default != "allow"


HYPOTHETICAL_CALL_ID = "hypothetical"  # the id of a call that is not planned: a model only asks what a verdict would be


class CallContext(PolicyContract):
    """One planned call as the rules see it: its tool, and all its known fields (arguments, linked facts, values).

    ``unproven``: fields that only the request states; they can trigger a rule, but cannot prevent one. ``recorded``:
    for each record that contradicts the call or another record, the fields as that record has them. ``summed``: sums
    over all calls of this tool in the plan that may concern the same record, and fields that the call states in another
    shape than an argument of that name; a rule that they trigger applies to this call. ``unknown_fields``: fields of
    the call or of such records whose value is unknown; if None, every missing field counts as unknown. ``rows``: for a
    call that takes a list, the known fields of each row; each row is decided by itself.
    """

    call_id: str
    tool: str
    fields: dict[str, ContextValue] = {}
    tool_class: ToolClass = ToolClass.CHANGE
    unproven: tuple[str, ...] = ()
    recorded: tuple[dict[str, ContextValue], ...] = ()
    summed: dict[str, ContextValue] = {}
    unknown_fields: tuple[str, ...] | None = None
    rows: tuple[dict[str, ContextValue], ...] = ()

    def split_by_row(self) -> "tuple[CallContext, ...]":
        """The call once for each of its rows, or itself if it has none."""
        return tuple(self._merge_with_row(row) for row in self.rows) or (self,)

    def _merge_with_row(self, row: dict[str, ContextValue]) -> "CallContext":
        unknown = None if self.unknown_fields is None else tuple(set(self.unknown_fields) - row.keys())
        return self.model_copy(update={"fields": {**self.fields, **row}, "unknown_fields": unknown, "rows": ()})


class PastCall(PolicyContract):
    """A call that the session made before the plan; ``fields`` are its arguments."""

    tool: str
    outcome: CallOutcome
    fields: dict[str, ContextValue] = {}


class Confirmation(PolicyContract):
    """A person's confirmation of calls of a tool. ``level``: the person's, if any.

    The confirmation covers the calls that have its ``fields`` and, if set, its ``call_id``.
    """

    tool: str
    level: str | None = None
    call_id: str | None = None
    fields: dict[str, ContextValue] = {}


class PolicyRequest(PolicyContract):
    """A request together with the policies to decide it by."""

    policies: tuple[Policy, ...] = ()

    @override
    def to_json(self) -> str:
        """The request as JSON.

        The JSON of the policies, which may be long, is cached as long as they are the same objects.
        """
        fields = self.model_dump(by_alias=True, exclude={"policies"})
        texts = {name: dumps_inexact(value) for name, value in fields.items()}
        texts["policies"] = self.encode_policies()
        return "{" + ",".join(f"{dumps(name)}:{texts[name]}" for name in sorted(texts)) + "}"

    def encode_policies(self) -> str:
        """The JSON text of the policies, as ``to_json`` contains it."""
        return f"[{','.join(map(_encode_policy, self.policies))}]"


_encode_policy = IdentityCache(Policy.to_json, 256)


class EvaluateRequest(PolicyRequest):
    """Asks for a verdict: rules are evaluated on the context, and on each planned call with its own fields over that
    context.

    ``binding``: a rule that cannot be decided because a field is missing counts as an escalation; in a provisional
    verdict it has no effect. ``history``: the session's earlier calls, oldest first. ``text``: the task's text, for
    text rules.
    """

    context: dict[str, ContextValue] = {}
    calls: tuple[CallContext, ...] = ()
    plan_hash: str | None = None
    binding: bool = False
    history: tuple[PastCall, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    text: str | None = None


class TriggeredRule(PolicyContract):
    rule_id: str
    policy_id: str
    action: RuleAction
    level: str | None = None
    approvers: int = 1  # how many different people have to agree
    reason: str
    call_id: str | None = None
    values: dict[str, ContextValue] = {}  # the fields that decided it
    indeterminate: bool = False  # it acts because a field was missing

    @property
    def sentence(self) -> str:
        """The rule's reason, for people."""
        return f"{self.rule_id}: {self.reason}"


class CallRefusal(PolicyContract):
    """A tool rule that a call breaks, so that the call must not be made. ``reason`` is for whoever planned it."""

    call_id: str
    tool: str
    rule_id: str
    policy_id: str
    kind: str
    reason: str
    values: dict[str, ContextValue] = {}  # the fields that decided it
    indeterminate: bool = False  # it is refused because a field was missing

    @property
    def sentence(self) -> str:
        return f"{self.rule_id}: {self.reason}"


class CallPrerequisite(PolicyContract):
    """A call that may be made once one of these other calls of the plan has succeeded."""

    call_id: str
    any_of: tuple[str, ...]  # call ids
    rule_id: str
    policy_id: str
    reason: str


class TextFinding(PolicyContract):
    """The text rules' result for the task's text. ``applied_rules``: the ids of the rules that affected it."""

    compliant: bool
    violations: tuple[str, ...] = ()
    applied_rules: tuple[str, ...] = ()


class PolicyProblem(PolicyContract):
    """A rule that cannot be parsed or evaluated, so that the verdict does not pass."""

    rule_id: str
    policy_id: str
    position: int | None = None  # character offset in the condition
    message: str


class Verdict(PolicyContract):
    """The policy service's decision on a plan, made without a model.

    ``passed`` is false if a rule blocks, escalates or is invalid, or a call is refused. ``requires_approval``: one
    decision before the plan continues; ``escalate``: that level's decision on the whole task. Without its refused calls
    a plan may pass, so ``refusals`` never imply ``blocked``. ``ruled_calls``: by call, the policies of which some rule
    applies to it, whatever the rule found.
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
    history_hash: str | None = None  # of history and confirmations; None where there were none
    refusals: tuple[CallRefusal, ...] = ()
    needs: tuple[CallPrerequisite, ...] = ()  # what dispatch has to wait for, by call
    text: TextFinding | None = None  # None where no policy has a say on texts
    reported_rules: tuple[TriggeredRule, ...] = ()  # what report-only rules would have done
    reported_refusals: tuple[CallRefusal, ...] = ()
    ruled_calls: dict[str, tuple[str, ...]] = Field(default_factory=dict)

    @property
    def approvers(self) -> int:
        """How many different people must approve, if anyone must: the highest number that a triggered rule requires; 1
        if none was triggered.
        """
        return max((rule.approvers for rule in self.triggered_rules), default=1)

    @property
    def reasons(self) -> tuple[str, ...]:
        """One sentence for each triggered rule, without repeats."""
        return tuple(dict.fromkeys(rule.sentence for rule in self.triggered_rules))


def name_strictest_result(verdict: Verdict) -> str:
    """The verdict's strictest result, such as ``blocked`` or ``approval``; else ``passed`` or ``not_passed``."""
    results = {
        "blocked": verdict.blocked,
        "refused": bool(verdict.refusals),
        "broken": bool(verdict.problems),
        "escalate": verdict.escalate,
        "approval": verdict.requires_approval,
        "indeterminate": bool(verdict.indeterminate) and verdict.passed,
    }
    return next((word for word, holds in results.items() if holds), "passed" if verdict.passed else "not_passed")
