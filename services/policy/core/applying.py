"""Which rules apply to which calls: those that name their tools or process, and those whose fields the call has.

A rule that applies may still find nothing. What is not known keeps a call waiting only where the rule applies to it.
"""

from collections.abc import Mapping, Sequence

from services.policy.core.closures import value_at
from services.policy.core.prepared import ReadyPolicy
from services.policy.core.rules import ReadyRule
from services.policy.core.scenes import Scene
from services.policy.core.values import ConditionError, Unknown
from shared.contracts.policy import EvaluateRequest


def applies(ready: ReadyRule, scene: Scene) -> bool:
    """Whether the rule has to do with the scene's call; of a call whose sender does not tell, every rule has."""
    if scene.unknown is None:
        return True
    if ready.states_calls:
        return _may_be_meant(ready, scene)
    return not ready.looks_at or any(_has(scene, field.name, field.path) for field in ready.looks_at)


def ruled_calls(
    ready: Sequence[ReadyPolicy], scenes: Sequence[Sequence[Scene]], request: EvaluateRequest
) -> Mapping[str, tuple[str, ...]]:
    """By call, the policies of which a rule applies to it. ``scenes``: for each policy, those of the calls."""
    return {
        call.call_id: tuple(
            policy.policy.id for policy, seen in zip(ready, scenes, strict=True) if _rules(policy, seen[number])
        )
        for number, call in enumerate(request.calls)
    }


def _rules(policy: ReadyPolicy, scene: Scene) -> bool:
    if any(rule.matches(scene.tool) and not rule.rule.report_only for rule in policy.tool_rules):
        return True
    return any(_is_in_force(ready, scene) and applies(ready, scene) for ready in policy.rules)


def _is_in_force(ready: ReadyRule, scene: Scene) -> bool:
    """A rule that only reports has no effect, nor has one that acts only on known fields where they are not."""
    if ready.rule.report_only:
        return False
    try:
        return not (ready.rule.if_known and isinstance(ready.condition.decide(scene.context), Unknown))
    except ConditionError:  # it is a problem of the verdict
        return False


def _may_be_meant(ready: ReadyRule, scene: Scene) -> bool:
    """Whether the tool and the process alone leave it open that the rule acts."""
    try:
        return ready.condition.decide(scene.stated) is not False
    except ConditionError:
        return True


def _has(scene: Scene, name: str, path: Sequence[str]) -> bool:
    return name in (scene.unknown or ()) or not isinstance(value_at(scene.own, path), Unknown)
