"""What rules with conditions find in one scene, and which of them apply to its call.

A rule that applies may still find nothing. What is not known keeps a call waiting only where the rule applies to it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core.conditions import Condition, value_at
from services.policy.core.rule_index import RuleIndex, RulesOfCalls
from services.policy.core.rules import (
    NAMES_CALLS,
    RESTS_ON_THE_REQUEST,
    SAID_BY_THE_RECORD,
    Finding,
    ReadyRule,
    ReportedFinding,
    WaitingRule,
    cannot_be_decided,
    problem,
    shown_values,
)
from services.policy.core.values import UNKNOWN, ConditionError, Context, Truth, UnknownTruth
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, TriggeredRule
from shared.domain.words import Level, RuleAction, ToolClass

_CALLS_OWN = ("tool", "call_id")  # no record says these


class CallScene(NamedTuple):
    """``proven``: the facts without what only the request gives; None where everything is known from elsewhere too.

    ``recorded``: the facts with what a record says instead, for each that says something else; ``judges_records``:
    whether the policy asks for these where the call itself decides. ``proven_by_record``: what is proven, and what such
    a record says of the rest.
    """

    call: CallContext | None
    binding: bool
    context: Context
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    judges_records: bool = False
    proven_by_record: tuple[Context, ...] = ()

    @property
    def call_id(self) -> str | None:
        return self.call.call_id if self.call else None

    @property
    def unknown(self) -> tuple[str, ...] | None:
        """The fields that the call has without a known value; None where nobody tells."""
        return self.call.unknown_fields if self.call else None

    @property
    def contexts(self) -> Sequence[Context]:
        """All that is looked at: the facts, what of them is proven, and what records say instead."""
        proven = () if self.proven is None else (self.proven,)
        return (self.context, *proven, *self.recorded, *self.proven_by_record)


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[CallScene, ...]:
    """A scene for each planned call, in the order of the plan; one without a call where there are none.

    Where several know a field: the policy's own facts, then the request's, then the call's fields, then its true tool.
    """
    context = {**policy.context, **request.context}
    if not request.calls:
        return (CallScene(None, request.binding, context),)
    return tuple(_scene(policy, context, call, request.binding) for call in request.calls)


def _scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> CallScene:
    known: Context = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
    if not binding:
        return CallScene(call, binding, known)
    records = [{name: value for name, value in one.items() if name not in _CALLS_OWN} for one in call.recorded]
    proven, instead = None, list[Context]()
    if call.unproven:
        proven = {name: value for name, value in known.items() if name not in call.unproven}
        instead = [{**proven, **{name: one[name] for name in one if name in call.unproven}} for one in records]
    recorded = tuple({**known, **one} for one in records)
    return CallScene(call, binding, known, proven, recorded, policy.judges_records, tuple(instead))


def findings(rules: RuleIndex, scene: CallScene) -> Iterator[Finding]:
    """Everything that is not a plain "does not apply"."""
    for ready in rules.find_open(scene.contexts):
        try:
            yield from _find(ready, scene)
        except ConditionError as error:
            yield problem(ready.policy_id, ready.rule.id, error)


def applies_to_call(rules: RulesOfCalls, scene: CallScene) -> bool:
    """Whether a rule that has an effect applies to the scene's call, whatever it finds."""
    may_apply = rules.all
    if scene.call is not None and scene.unknown is not None:
        may_apply = rules.find_applicable(_read_stated(scene), {*scene.call.fields, *scene.unknown})
    return any(_is_in_force(ready, scene) and _applies(ready, scene) for ready in may_apply)


def is_proven(condition: Condition, proven: Context, *, expected: bool) -> bool:
    """Whether a condition comes out as expected without what only the request gives."""
    try:
        return condition.decide(proven) is expected
    except ConditionError:  # of a field that is not there
        return False


def _applies(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the rule has to do with the scene's call; of a call whose sender does not tell, every rule has."""
    if scene.unknown is None or scene.call is None:
        return True
    if not ready.states_calls:
        own, unknown = scene.call.fields, scene.unknown
        for field in ready.looks_at:
            if field.name in unknown or not isinstance(value_at(own, field.path), UnknownTruth):
                return True
        return not ready.looks_at
    try:  # where tool and process leave it open that the rule acts
        return ready.condition.decide(_read_stated(scene)) is not False
    except ConditionError:
        return True


def _read_stated(scene: CallScene) -> Context:
    """What a rule may say which calls it is about by, and nothing else."""
    return {name: scene.context[name] for name in NAMES_CALLS if name in scene.context}


def _is_in_force(ready: ReadyRule, scene: CallScene) -> bool:
    """A rule that only reports has no effect, nor has one that acts only on known fields where they are not."""
    if ready.rule.report_only:
        return False
    try:
        return not (ready.rule.if_known and ready.condition.decide(scene.context) is UNKNOWN)
    except ConditionError:  # it is a problem of the verdict
        return False


def _find(ready: ReadyRule, scene: CallScene) -> Iterator[Finding]:
    decision = ready.condition.decide(scene.context)
    if decision is True:
        yield _act(ready, scene)
        return
    is_missing = decision is UNKNOWN and not ready.rule.if_known
    if decision is UNKNOWN:
        if is_missing and scene.binding and _asks_of(ready, scene):
            because = cannot_be_decided(ready.condition.missing(scene.context))
            action = RuleAction.BLOCK if _forbids_to_all(ready, scene) else RuleAction.ESCALATE
            yield _act(ready, scene, because, action)
        else:
            yield WaitingRule(ready.rule.id)
    if not scene.recorded and scene.proven is None:
        return
    looked_at = scene.recorded if scene.judges_records or is_missing else ()
    acting = next((one for one in looked_at if ready.condition.decide(one) is True), None)
    if acting is not None:
        yield _act(ready, scene._replace(context=acting), SAID_BY_THE_RECORD)
    elif scene.proven is not None and _rests_on_a_word(ready, decision, scene.proven, scene):
        yield _act(ready, scene, RESTS_ON_THE_REQUEST, RuleAction.ESCALATE)


def _asks_of(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the call waits for what is not known; a notice does so only for a rule that names it."""
    is_change = scene.unknown is None or scene.call is None or scene.call.tool_class is ToolClass.CHANGE
    return _applies(ready, scene) and (is_change or ready.states_calls)


def _forbids_to_all(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether nobody may let pass what the rule may forbid: it names no level, and surely has to do with the call."""
    return ready.action is RuleAction.BLOCK and ready.level is None and scene.unknown is not None


def _rests_on_a_word(ready: ReadyRule, decision: Truth, proven: Context, scene: CallScene) -> bool:
    """Whether only the request keeps the rule from acting; one that acts on what is known acts on no gap either."""
    if ready.rule.if_known:
        known = (proven, *scene.proven_by_record)
        return any(is_proven(ready.condition, context, expected=True) for context in known)
    return decision is False and not is_proven(ready.condition, proven, expected=False)


def _act(
    ready: ReadyRule, scene: CallScene, because: str = "", in_doubt: RuleAction | None = None
) -> TriggeredRule | ReportedFinding:
    """``in_doubt``: what it does where it is not known whether it acts."""
    level = ready.level or (Level.MANAGER if in_doubt is RuleAction.ESCALATE else None)
    found = TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=in_doubt or ready.action,
        level=level.word if level else None,
        approvers=ready.rule.approvers or 1,
        reason=f"{ready.reason} ({because})" if because else ready.reason,
        call_id=scene.call_id,
        values=shown_values(ready.condition, scene.context),
        indeterminate=in_doubt is not None,
    )
    return ReportedFinding(found) if ready.rule.report_only else found
