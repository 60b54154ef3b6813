"""Policies in plain words, in the worker: translated once, listed always, enforced where the tenant says so."""

import pytest

from services.executor.ports.policy import PolicyUnavailable
from services.executor.ports.tools import ToolAnswer
from shared.contracts.allowance import CallLimit, ToolAllowance
from shared.contracts.policy import CallNeed, CallRefusal, Policy, ToolRule
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import ProsePolicy
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.doubles.scripted_model import json_reply, state_of, text_reply, tool_reply
from tests.unit.executor.stage import CALL, SaidPolicy, Stage

SOURCE = "approve_claim may only be called once. Be kind."
RULE: Json = {
    "quote": "approve_claim may only be called once",
    "kind": "at_most",
    "tool": "approve_claim",
    "limit": 1,
    "after": [],
    "condition": "",
    "action": "",
    "level": "",
    "reason": "once only",
}


def _play(*, enforce: bool = False) -> Stage:
    play = Stage()
    play.scripts["translate_policy"] = json_reply({"rules": [RULE]})
    play.policy.untranslated = ("Be kind",)
    standing = (ProsePolicy(id="house", text=SOURCE),)
    play.tenants.record = play.tenants.record.model_copy(update={"prose_policies": standing, "enforce_prose": enforce})
    return play


def _translations(play: Stage) -> int:
    return sum(state_of(request) == "TRANSLATE POLICY" for request in play.model.requests)


@pytest.mark.promise("prose.listed")
async def test_a_prose_policy_is_advice_and_is_listed_with_what_was_not_translated() -> None:
    """It stands in the prompts; its rules are shown, and have no effect on the verdict."""
    play = _play()
    record = await play.run()
    assert record.metadata["prose_policy"] == [
        {
            "policy": "house",
            "enforced": False,
            "rules": [
                {
                    "id": "P1",
                    "kind": "at_most",
                    "tool": "approve_claim",
                    "limit": 1,
                    "reason": "once only",
                    "quote": "approve_claim may only be called once",
                }
            ],
            "refused": [],
            "untranslated": ["Be kind"],
        }
    ]
    asked = [policy.id for request in play.policy.asked for policy in request.policies]
    assert all(policy_id.startswith("process:") for policy_id in asked)
    assert any(SOURCE in str(request.messages) for request in play.model.requests if state_of(request) == "WRITE PLAN")


@pytest.mark.promise("prose.enforced")
async def test_where_the_tenant_says_so_its_rules_are_enforced() -> None:
    play = _play(enforce=True)
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert [rule.tool for policy in binding.policies for rule in policy.tool_rules] == ["approve_claim"]
    assert [policy.id for policy in binding.policies] == ["prose:house", "process:expense_approval"]


async def test_it_is_translated_once_for_all_tasks_of_the_tenant() -> None:
    first = _play()
    await first.run()
    second = _play()
    second.learned = first.learned
    record = await second.run()
    assert (_translations(first), _translations(second)) == (1, 0)
    assert record.metadata["prose_policy"] == first.turns.record.metadata["prose_policy"]


class _NoProse(SaidPolicy):
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        raise PolicyUnavailable("it is down")


@pytest.mark.parametrize(("enforce", "state"), [(True, "failed"), (False, "completed")])
async def test_an_enforced_policy_that_cannot_be_checked_ends_the_task_unwritten(enforce: bool, state: str) -> None:
    """No rules, no writes; one that only advises is noted as not translated."""
    play = _play(enforce=enforce)
    play.policy = _NoProse()
    record = await play.run()
    assert record.state == state
    assert bool(play.claims.applied) is not enforce
    assert "it is down" in str(record.reason if enforce else record.metadata["prose_policy"])


@pytest.mark.promise("tools.rules_retold")
async def test_a_refused_call_is_told_to_the_model_which_plans_again() -> None:
    """The plan with the call that a rule forbids is never carried out; the next one is checked like the first."""
    play = Stage()
    refused = CallRefusal(
        call_id="c1", tool="approve_claim", rule_id="T1", policy_id="p", kind="only_after", reason="look first"
    )
    play.policy.says = {"refusals": (refused,), "passed": False}
    record = await play.run()
    plans = [str(request.messages) for request in play.model.requests if state_of(request) == "WRITE PLAN"]
    assert len(plans) == 2
    assert "look first" in plans[1]
    assert (record.state, play.claims.applied) == ("rejected", [])
    assert "T1: look first" in str(record.reason)


@pytest.mark.promise("tools.only_after")
async def test_a_call_waits_for_the_success_of_the_one_before_it() -> None:
    """Its plan goes on although the first call failed; the call that a rule puts after it is not made."""
    play = Stage()
    play.servers.add("approve_claim", lambda _: ToolAnswer({"error": "closed"}, is_error=True), ToolClass.CHANGE)
    paid: list[JsonObject] = []

    def pay(given: JsonObject) -> ToolAnswer:
        paid.append(given)
        return ToolAnswer({})

    play.servers.add("pay_claim", pay, ToolClass.CHANGE)
    second: JsonObject = {**CALL, "call_id": "c2", "tool": "pay_claim", "read_back": None}
    calls: list[Json] = [{**CALL, "on_failure": "continue"}, second]
    play.scripts["write_plan"] = json_reply({"calls": calls, "why_none": None})
    need = CallNeed(call_id="c2", any_of=("c1",), rule_id="T2", policy_id="p", reason="approve first")
    play.policy.says = {"needs": (need,)}
    record = await play.run()
    assert paid == []
    assert "T2: approve first" in str(record.reason)


@pytest.mark.promise("tools.reads_under_rules")
async def test_a_once_only_read_asked_for_twice_in_one_breath_is_made_once() -> None:
    """The second is answered with the rule's reason, also where both are asked for side by side."""
    play = Stage(text="Which claims are open?")
    limit = CallLimit(rule_id="T3", policy_id="p", reason="once a session", remaining=1)
    play.policy.allows = (ToolAllowance(tool="get_claim", limits=(limit,)),)
    play.tenants.record = play.tenants.record.model_copy(update={"policies": (Policy(id="p", tool_rules=(ONCE,)),)})
    replies = iter([tool_reply(("get_claim", {"claim_id": "C-1"}), ("get_claim", {"claim_id": "C-2"}))])
    play.scripts["assess"] = lambda _: next(replies, text_reply("done"))
    await play.run()
    told = next(str(request.messages) for request in play.model.requests if "Refused by policy rule" in str(request))
    assert play.servers.called("get_claim") == [{"claim_id": "C-1"}]
    assert "T3: once a session" in told
    assert [call.tool for call in (await play.turns.session()).calls] == ["get_claim"]


ONCE = ToolRule(id="T3", kind="at_most", tool="get_*")


@pytest.mark.parametrize(("enforce", "state"), [(True, "failed"), (False, "completed")])
async def test_a_translation_that_is_no_answer_ends_the_task_only_where_it_is_enforced(
    enforce: bool, state: str
) -> None:
    play = _play(enforce=enforce)
    play.scripts["translate_policy"] = text_reply("I would rather talk about the weather.")
    record = await play.run()
    assert record.state == state
    assert bool(play.claims.applied) is not enforce
    assert "no usable answer" in str(record.reason if enforce else record.metadata["prose_policy"])
