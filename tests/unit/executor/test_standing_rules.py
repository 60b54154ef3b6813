"""The tenant's rules about tools, as the model reads them before it proposes anything."""

from shared.contracts.policy import ToolRule
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.stage import Stage

_RULES = {
    "at most 1 call of approve_claim with the same claim_id: once only": ToolRule(
        id="T1", kind="at_most", tool="approve_claim", per=("claim_id",), reason="once only"
    ),
    "at most 3 successful calls of approve_*": ToolRule(
        id="T2", kind="at_most", tool="approve_*", limit=3, counting="successes"
    ),
    "approve_claim only after get_claim or list_claims with the same claim_id": ToolRule(
        id="T3", kind="only_after", tool="approve_claim", after=("get_claim", "list_claims"), per=("claim_id",)
    ),
    "approve_claim only when amount < 500": ToolRule(
        id="T4", kind="only_when", tool="approve_claim", condition="amount < 500"
    ),
    "approve_claim only after confirmation by manager": ToolRule(
        id="T5", kind="only_after_confirmation", tool="approve_claim", level="manager"
    ),
}


@each_row("said", _RULES)
async def test_a_rule_about_a_tool_stands_before_the_model_with_its_limit_and_what_has_to_agree(said: str) -> None:
    stage = Stage()
    others = tuple(ToolRule(id=f"N{place}", kind="never", tool="get_claim", reason="x" * 200) for place in range(3))
    stage.set_rules(*others, _RULES[said])
    await stage.run()
    assert f"- {said}" in texts_in(stage.model.requests[0])
