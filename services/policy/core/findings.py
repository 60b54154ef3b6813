"""What the conditional rules find in one scene, and which of them apply to its call.

A rule that applies may still find nothing. An unknown field makes a call wait only if the rule applies to it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core.conditions import Condition, value_at
from services.policy.core.rule_index import RuleIndex, RulesOfCalls
from services.policy.core.rules import (
    NAMES_CALLS,
    RESTS_ON_THE_REQUEST,
    SAID_BY_THE_RECORD,
    SUMMED,
    Finding,
    ReadyRule,
    ReportedFinding,
    WaitingRule,
    build_problem,
    cannot_be_decided,
    shown_values,
)
from services.policy.core.values import UNKNOWN, ConditionError, Context, Truth, UnknownTruth
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, TriggeredRule
from shared.domain.words import Level, RuleAction, ToolClass

_CALLS_OWN = ("tool", "call_id")  # no record says these


class CallScene(NamedTuple):
    """The facts for one planned call. ``proven``: those not given by the request alone; None if all are proven.

    ``recorded``: the facts as a record has them, for each record that differs; ``judges_records``: whether the policy
    looks at these where the call itself decides. ``proven_by_record``: the proven facts, completed from such a record.
    ``summed``: the facts with the figures of all calls that may concern the same record; None if it is the only one.
    """

    call: CallContext | None
    binding: bool
    context: Context
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    judges_records: bool = False
    proven_by_record: tuple[Context, ...] = ()
    summed: Context | None = None

    @property
    def call_id(self) -> str | None:
        return self.call.call_id if self.call else None

    @property
    def unknown(self) -> tuple[str, ...] | None:
        """The fields that the call has without a known value; None if the sender does not tell."""
        return self.call.unknown_fields if self.call else None

    @property
    def contexts(self) -> Sequence[Context]:
        """All versions of the facts that rules look at: as given, proven, and as records have them."""
        others = (one for one in (self.proven, self.summed) if one is not None)
        return (self.context, *others, *self.recorded, *self.proven_by_record)


def row_scenes(policy: Policy, request: EvaluateRequest) -> tuple[CallScene, ...]:
    """``scenes``, with one for each row of a call whose rows differ in what rules look at."""
    if not any(call.rows for call in request.calls):
        return scenes(policy, request)
    rows = tuple(row for call in request.calls for row in call.split_by_row())
    return scenes(policy, request.model_copy(update={"calls": rows}))


def scenes(policy: Policy, request: EvaluateRequest) -> tuple[CallScene, ...]:
    """One scene for each planned call, in the order of the plan; a single one without a call if there are none.

    A later source of a field wins: the policy's own facts, the request's, the call's fields, the call's true tool.
    """
    context = {**policy.context, **request.context}
    if not request.calls:
        return (CallScene(None, request.binding, context),)
    return tuple(_build_scene(policy, context, call, request.binding) for call in request.calls)


def _build_scene(policy: Policy, context: Context, call: CallContext, binding: bool) -> CallScene:
    known: Context = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
    if not binding:
        return CallScene(call, binding, known)
    records = [{name: value for name, value in one.items() if name not in _CALLS_OWN} for one in call.recorded]
    proven, instead = None, list[Context]()
    if call.unproven:
        proven = {name: value for name, value in known.items() if name not in call.unproven}
        instead = [{**proven, **{name: one[name] for name in one if name in call.unproven}} for one in records]
    recorded = tuple({**known, **one} for one in records)
    summed = {**known, **call.summed} if call.summed else None
    return CallScene(call, binding, known, proven, recorded, policy.judges_records, tuple(instead), summed)


def findings(rules: RuleIndex, scene: CallScene) -> Iterator[Finding]:
    """Yields what each rule finds in the scene; nothing for a rule whose condition is plainly false."""
    for ready in rules.find_candidates(scene.contexts):
        try:
            yield from _find_for_rule(ready, scene)
        except ConditionError as error:
            yield build_problem(ready.policy_id, ready.rule.id, error)


def applies_to_call(rules: RulesOfCalls, scene: CallScene) -> bool:
    """Whether any rule with an effect applies to the scene's call, whatever the rule finds."""
    may_apply = rules.all
    if scene.call is not None and scene.unknown is not None:
        may_apply = rules.find_applicable(_read_stated(scene), {*scene.call.fields, *scene.unknown})
    return any(_is_in_force(ready, scene) and _applies_to_call(ready, scene) for ready in may_apply)


def is_proven(condition: Condition, proven: Context, *, expected: bool) -> bool:
    """Whether a condition has the expected value without fields that only the request gives."""
    try:
        return condition.decide(proven) is expected
    except ConditionError:  # of a field that is not there
        return False


def _applies_to_call(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the rule concerns the scene's call; always, if the sender does not tell the call's unknown fields."""
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
    """The fields by which a rule may state which calls it is about (such as tool and process)."""
    return {name: scene.context[name] for name in NAMES_CALLS if name in scene.context}


def _is_in_force(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the rule can have an effect: not if it only reports, or acts only on known fields and one is not."""
    if ready.rule.report_only:
        return False
    try:
        return not (ready.rule.if_known and ready.condition.decide(scene.context) is UNKNOWN)
    except ConditionError:  # it is a problem of the verdict
        return False


def _find_for_rule(ready: ReadyRule, scene: CallScene) -> Iterator[Finding]:
    decision = ready.condition.decide(scene.context)
    if decision is True:
        yield _trigger(ready, scene)
        return
    is_missing = decision is UNKNOWN and not ready.rule.if_known
    if decision is UNKNOWN:
        if is_missing and scene.binding and _waits_for_unknown(ready, scene):
            because = cannot_be_decided(ready.condition.missing_fields(scene.context))
            action = RuleAction.BLOCK if _forbids_for_everyone(ready, scene) else RuleAction.ESCALATE
            yield _trigger(ready, scene, because, action)
        else:
            yield WaitingRule(ready.rule.id)
    if scene.summed is not None and ready.condition.decide(scene.summed) is True:
        yield _trigger(ready, scene._replace(context=scene.summed), SUMMED)
        return
    if not scene.recorded and scene.proven is None:
        return
    looked_at = scene.recorded if scene.judges_records or is_missing else ()
    acting = next((one for one in looked_at if ready.condition.decide(one) is True), None)
    if acting is not None:
        yield _trigger(ready, scene._replace(context=acting), SAID_BY_THE_RECORD)
    elif scene.proven is not None and _rests_on_request(ready, decision, scene.proven, scene):
        yield _trigger(ready, scene, RESTS_ON_THE_REQUEST, RuleAction.ESCALATE)


def _waits_for_unknown(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether an unknown field makes the call wait; a notice waits only for a rule that names it."""
    is_change = scene.unknown is None or scene.call is None or scene.call.tool_class is ToolClass.CHANGE
    return _applies_to_call(ready, scene) and (is_change or ready.states_calls)


def _forbids_for_everyone(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether nobody may approve what the rule may forbid: it blocks, and names no level."""
    return ready.action is RuleAction.BLOCK and ready.level is None and scene.unknown is not None


def _rests_on_request(ready: ReadyRule, decision: Truth, proven: Context, scene: CallScene) -> bool:
    """Whether a rule that does not act would act, or could not be decided, without the fields that only the request
    gives. An ``if_known`` rule counts only if it would act.
    """
    if ready.rule.if_known:
        known = (proven, *scene.proven_by_record)
        return any(is_proven(ready.condition, context, expected=True) for context in known)
    return decision is False and not is_proven(ready.condition, proven, expected=False)


def _trigger(
    ready: ReadyRule, scene: CallScene, because: str = "", in_doubt: RuleAction | None = None
) -> TriggeredRule | ReportedFinding:
    """The rule's effect in the scene. ``in_doubt``: its action if it is not known whether the rule acts."""
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
