"""What rules with conditions find in one scene, and which of them apply to its call.

A rule that applies may still find nothing. What is not known keeps a call waiting only where the rule applies to it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import Condition, value_at
from services.policy.core.rule_index import RuleIndex
from services.policy.core.rules import ReadyRule, problem
from services.policy.core.scenes import (
    RESTS_ON_THE_REQUEST,
    SAID_BY_THE_RECORD,
    CallScene,
    cannot_be_decided,
    shown_values,
)
from services.policy.core.values import UNKNOWN, ConditionError, Context, Truth, UnknownTruth
from shared.contracts.policy import CallNeed, CallRefusal, PolicyProblem, TriggeredRule
from shared.domain.words import Level, RuleAction


class Undecided(NamedTuple):
    """A rule that waits for a field without effect.

    The request is provisional, or the rule acts only if known, or it has nothing to do with the call.
    """

    rule_id: str


class ReportedFinding(NamedTuple):
    """What a report-only rule would have done."""

    found: TriggeredRule | CallRefusal


Finding: TypeAlias = TriggeredRule | CallRefusal | CallNeed | ReportedFinding | Undecided | PolicyProblem


def findings(rules: RuleIndex, scene: CallScene) -> Iterator[Finding]:
    """Everything that is not a plain "does not apply"."""
    for ready in rules.find_open(_contexts(scene)):
        if _has_none_of_its_fields(ready, scene):
            if ready.without_fields is UNKNOWN:
                yield Undecided(ready.rule.id)
            continue
        try:
            decision = ready.condition.decide(scene.context)
            if decision is not False:
                yield _finding(ready, decision, scene)
            if decision is not True:
                yield from _find_more(ready, decision, scene)
        except ConditionError as error:
            yield problem(ready.policy_id, ready.rule.id, error.cause, error.position)


def rules_call(rules: RuleIndex, scene: CallScene) -> bool:
    """Whether a rule that has an effect applies to the scene's call, whatever it finds."""
    told = scene.fields if scene.unknown is not None and scene.has_certain_tool else None
    may_apply = rules.all if told is None else rules.find_applicable(scene.tool, told)
    return any(_is_in_force(ready, scene) and _applies(ready, scene) for ready in may_apply)


def is_proven(condition: Condition, proven: Context, *, expected: bool) -> bool:
    """Whether a condition comes out as expected without what only the request gives."""
    try:
        return condition.decide(proven) is expected
    except ConditionError:  # of a field that is not there
        return False


def _contexts(scene: CallScene) -> Sequence[Context]:
    """All that is looked at: the facts, what of them is proven, and what records say instead."""
    proven = () if scene.proven is None else (scene.proven,)
    return (scene.context, *proven, *scene.recorded, *scene.proven_by_record)


def _has_none_of_its_fields(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the rule has nothing to do with the scene, and comes to what it does without any field."""
    return ready.reads is not None and scene.fields is not None and ready.reads.isdisjoint(scene.fields)


def _applies(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the rule has to do with the scene's call; of a call whose sender does not tell, every rule has."""
    if scene.unknown is None:
        return True
    if _has_none_of_its_fields(ready, scene):
        return False
    if not ready.states_calls:
        return not ready.looks_at or any(_has(scene, field.name, field.path) for field in ready.looks_at)
    try:
        return ready.condition.decide(scene.stated) is not False  # tool and process leave it open that the rule acts
    except ConditionError:
        return True


def _has(scene: CallScene, name: str, path: Sequence[str]) -> bool:
    return name in (scene.unknown or ()) or not isinstance(value_at(scene.own, path), UnknownTruth)


def _is_in_force(ready: ReadyRule, scene: CallScene) -> bool:
    """A rule that only reports has no effect, nor has one that acts only on known fields where they are not."""
    if ready.rule.report_only:
        return False
    try:
        return not (ready.rule.if_known and isinstance(ready.condition.decide(scene.context), UnknownTruth))
    except ConditionError:  # it is a problem of the verdict
        return False


def _finding(ready: ReadyRule, decision: Truth, scene: CallScene) -> Finding:
    if decision is True:
        return _trigger_rule(ready, scene)
    if scene.binding and not ready.rule.if_known and _asks_of(ready, scene):
        because = cannot_be_decided(ready.condition.missing(scene.context))
        if _forbids_to_all(ready, scene):
            return _acts(ready, scene, RuleAction.BLOCK, None, because, indeterminate=True)
        return _in_doubt(ready, scene, because)
    return Undecided(ready.rule.id)


def _forbids_to_all(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether nobody may let pass what the rule may forbid: it names no level, and surely has to do with the call."""
    return ready.action is RuleAction.BLOCK and ready.level is None and scene.unknown is not None


def _asks_of(ready: ReadyRule, scene: CallScene) -> bool:
    """Whether the call waits for what is not known; a notice does so only for a rule that names it."""
    return _applies(ready, scene) and (scene.unknown is None or scene.changes or ready.states_calls)


def _find_more(ready: ReadyRule, decision: Truth, scene: CallScene) -> Iterator[Finding]:
    """What a rule finds that the call, as it stands, does not set off."""
    missing = isinstance(decision, UnknownTruth) and not ready.rule.if_known
    looked_at = scene.recorded if scene.judges_records or missing else ()
    acting = next((one for one in looked_at if ready.condition.decide(one) is True), None)
    if acting is not None:
        yield _trigger_rule(ready, scene._replace(context=acting), SAID_BY_THE_RECORD)
    elif scene.proven is not None and _rests_on_a_word(ready, decision, scene):
        yield _in_doubt(ready, scene, RESTS_ON_THE_REQUEST)


def _rests_on_a_word(ready: ReadyRule, decision: Truth, scene: CallScene) -> bool:
    """Whether only the request keeps the rule from acting; one that acts on what is known acts on no gap either."""
    if ready.rule.if_known:
        known = (scene.proven or {}, *scene.proven_by_record)
        return any(is_proven(ready.condition, context, expected=True) for context in known)
    return decision is False and not is_proven(ready.condition, scene.proven or {}, expected=False)


def _trigger_rule(ready: ReadyRule, scene: CallScene, because: str | None = None) -> TriggeredRule | ReportedFinding:
    return _acts(ready, scene, ready.action, ready.level.word if ready.level else None, because)


def _in_doubt(ready: ReadyRule, scene: CallScene, because: str) -> TriggeredRule | ReportedFinding:
    level = (ready.level or Level.MANAGER).word
    return _acts(ready, scene, RuleAction.ESCALATE, level, because, indeterminate=True)


def _acts(
    ready: ReadyRule,
    scene: CallScene,
    action: RuleAction,
    level: str | None,
    because: str | None,
    *,
    indeterminate: bool = False,
) -> TriggeredRule | ReportedFinding:
    found = TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=action,
        level=level,
        approvers=ready.rule.approvers or 1,
        reason=f"{ready.reason} ({because})" if because else ready.reason,
        call_id=scene.call_id,
        values=shown_values(ready.condition, scene.context),
        indeterminate=indeterminate,
    )
    return ReportedFinding(found) if ready.rule.report_only else found
