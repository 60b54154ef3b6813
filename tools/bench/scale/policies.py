"""A verdict over few rules and over many, each rule naming its tool, as many of them for each tool."""

from services.policy.core.evaluate import decide
from services.policy.core.prepared import PreparedPolicies, prepare_policies
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule
from tools.bench.scale.growth import Growth, median_times

_RULES_OF_A_TOOL = 10


async def grow_rules(small: int, large: int, repeats: int) -> Growth:
    few, many = _prepare(small), _prepare(large)

    async def decide_over(prepared: PreparedPolicies) -> None:
        decide(_REQUEST, prepared)

    times = await median_times(lambda: decide_over(few), lambda: decide_over(many), repeats)
    return Growth("rules of a tenant", "a verdict on one call", small, large, *times)


_CALL = CallContext(call_id="c1", tool="tool_0", fields={"amount": 7_000, "is_manager": True})
_REQUEST = EvaluateRequest(policies=(), calls=(_CALL,), plan_hash="plan", binding=True)


def _prepare(rules: int) -> PreparedPolicies:
    policy = Policy(id="scale", version="1", rules=tuple(map(_rule, range(rules))))
    return prepare_policies((policy,))


def _rule(number: int) -> Rule:
    tool, limit = number // _RULES_OF_A_TOOL, 5_000 + number
    return Rule(
        id=f"RULE_{number}",
        condition=f'tool == "tool_{tool}" && amount > {limit} && is_manager',
        action="require_approval",
        level="finance",
        reason="More than this tool may move without a second pair of eyes",
    )
