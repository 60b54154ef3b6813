"""What rules with conditions find in one scene: a planned call, or the context where there are none."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from services.policy.core.applying import applies
from services.policy.core.conditions import Condition
from services.policy.core.rules import ReadyRule, problem
from services.policy.core.scenes import Scene
from services.policy.core.shown import RESTS_ON_THE_REQUEST, SAID_BY_THE_RECORD, cannot_be_decided, shown_values
from services.policy.core.values import ConditionError, Context, Truth, Unknown
from shared.contracts.policy import PolicyProblem, TriggeredRule
from shared.domain.words import Level, RuleAction


class Undecided(NamedTuple):
    """A rule that waits for a field without effect.

    The request is provisional, or the rule acts only if known, or it has nothing to do with the call.
    """

    rule_id: str


class Reported(NamedTuple):
    """What a report-only rule would have done."""

    rule: TriggeredRule


Finding: TypeAlias = TriggeredRule | Reported | Undecided | PolicyProblem


def findings(rules: Iterable[ReadyRule], scene: Scene) -> Iterator[Finding]:
    """Everything that is not a plain "does not apply"."""
    for ready in rules:
        try:
            decision = ready.condition.decide(scene.context)
            if decision is not False:
                yield _finding(ready, decision, scene)
            if decision is not True:
                yield from _further(ready, decision, scene)
        except ConditionError as error:
            yield problem(ready.policy_id, ready.rule.id, error.cause, error.position)


def is_proven(condition: Condition, proven: Context, *, expected: bool) -> bool:
    """Whether a condition comes out as expected without what only the request gives."""
    try:
        return condition.decide(proven) is expected
    except ConditionError:  # of a field that is not there
        return False


def _further(ready: ReadyRule, decision: Truth, scene: Scene) -> Iterator[Finding]:
    """What a rule finds that the call, as it stands, does not set off."""
    missing = isinstance(decision, Unknown) and not ready.rule.if_known
    looked_at = scene.recorded if scene.judges_records or missing else ()
    acting = next((one for one in looked_at if ready.condition.decide(one) is True), None)
    if acting is not None:
        yield _on_record(ready, scene._replace(context=acting))
    elif scene.proven is not None and _rests_on_a_word(ready, decision, scene):
        yield _on_a_word(ready, scene)


def _on_record(ready: ReadyRule, scene: Scene) -> Finding:
    """The rule acts on what the records say, which the call contradicts."""
    found = _triggered(ready, scene)
    found = found.model_copy(update={"reason": f"{found.reason} ({SAID_BY_THE_RECORD})"})
    return Reported(found) if ready.rule.report_only else found


def _rests_on_a_word(ready: ReadyRule, decision: Truth, scene: Scene) -> bool:
    """Whether only the request keeps the rule from acting; one that acts on what is known acts on no gap either."""
    if ready.rule.if_known:
        known = (scene.proven or {}, *scene.proven_by_record)
        return any(is_proven(ready.condition, context, expected=True) for context in known)
    return decision is False and not is_proven(ready.condition, scene.proven or {}, expected=False)


def _on_a_word(ready: ReadyRule, scene: Scene) -> Finding:
    """The rule would not act, but for no better reason than that the request says so."""
    found = _in_doubt(ready, scene)
    said = f"{ready.rule.reason or ready.rule.condition} ({RESTS_ON_THE_REQUEST})"
    found = found.model_copy(update={"reason": said})
    return Reported(found) if ready.rule.report_only else found


def _finding(ready: ReadyRule, decision: Truth, scene: Scene) -> Finding:
    if not isinstance(decision, Unknown):
        found = _triggered(ready, scene)
    elif scene.binding and not ready.rule.if_known and _asks_of(ready, scene):
        found = _in_doubt(ready, scene)
        if _forbids_to_all(ready, scene):
            found = found.model_copy(update={"action": RuleAction.BLOCK, "level": None})
    else:
        return Undecided(ready.rule.id)
    return Reported(found) if ready.rule.report_only else found


def _forbids_to_all(ready: ReadyRule, scene: Scene) -> bool:
    """Whether nobody may let pass what the rule may forbid: it names no level, and surely has to do with the call."""
    return ready.action is RuleAction.BLOCK and ready.level is None and scene.unknown is not None


def _asks_of(ready: ReadyRule, scene: Scene) -> bool:
    """Whether the call waits for what is not known; a notice does so only for a rule that names it."""
    return applies(ready, scene) and (scene.unknown is None or scene.changes or ready.states_calls)


def _triggered(ready: ReadyRule, scene: Scene) -> TriggeredRule:
    return TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=ready.action,
        level=ready.level.word if ready.level else None,
        approvers=ready.rule.approvers or 1,
        reason=ready.rule.reason or ready.rule.condition,
        call_id=scene.call_id,
        values=shown_values(ready.condition, scene.context),
    )


def _in_doubt(ready: ReadyRule, scene: Scene) -> TriggeredRule:
    missing = ready.condition.missing(scene.context)
    return TriggeredRule(
        rule_id=ready.rule.id,
        policy_id=ready.policy_id,
        action=RuleAction.ESCALATE,
        level=(ready.level or Level.MANAGER).word,
        approvers=ready.rule.approvers or 1,
        reason=f"{ready.rule.reason or ready.rule.condition} ({cannot_be_decided(missing)})",
        call_id=scene.call_id,
        values=shown_values(ready.condition, scene.context),
        indeterminate=True,
    )
