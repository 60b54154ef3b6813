"""Policies in plain words, in the worker: translated once, listed always, enforced where the tenant says so."""

import pytest

from services.executor.core.prime.prose import binding_sentences
from services.executor.ports.policy import PolicyUnavailable
from services.executor.ports.tools import ToolAnswer
from shared.contracts.allowance import CallLimit, ToolAllowance
from shared.contracts.policy import CallPrerequisite, CallRefusal, ToolRule
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import ProsePolicy
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.doubles.scripted_talk import results_in, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, SaidPolicy, Stage

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
    play.talk.helpers["translate_policy"] = json_reply({"rules": [RULE]})
    play.policy.untranslated = ("Be kind",)
    standing = (ProsePolicy(id="house", text=SOURCE),)
    play.change_tenant(prose_policies=standing, enforce_prose=enforce)
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
    assert SOURCE in texts_in(play.model.requests[-1])


@pytest.mark.promise("prose.enforced")
async def test_where_the_tenant_says_so_its_rules_are_enforced() -> None:
    play = _play(enforce=True)
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert [rule.tool for policy in binding.policies for rule in policy.tool_rules] == ["approve_claim"]
    assert [policy.id for policy in binding.policies] == ["prose:house"]


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


@each_row(("enforce", "state"), [(True, "failed"), (False, "completed")])
async def test_an_enforced_policy_that_cannot_be_checked_ends_the_task_unwritten(enforce: bool, state: str) -> None:
    """No rules, no writes; one that only advises is noted as not translated."""
    play = _play(enforce=enforce)
    play.policy = _NoProse()
    record = await play.run()
    assert record.state == state
    assert bool(play.claims.applied) is not enforce
    assert "it is down" in str(record.reason if enforce else record.metadata["prose_policy"])


@pytest.mark.promise("tools.rules_retold")
@each_row("again", [0, 1, 4])
async def test_a_refused_call_is_told_to_the_model_which_may_propose_again(again: int) -> None:
    """The call that a rule forbids is never made, however often it is proposed; who asked is told the rule."""
    play = Stage()
    refused = CallRefusal(
        call_id="c1", tool="approve_claim", rule_id="T1", policy_id="p", kind="only_after", reason="look first"
    )
    play.policy.says = {"refusals": (refused,), "passed": False}
    play.talk.rounds += [[APPROVE]] * again
    record = await play.run()
    told = [result.content for result in results_in(play.model.requests[-1]) if result.is_error]
    assert len(told) == 1 + min(again, 2)
    assert all("look first" in content for content in told)
    assert (record.state, play.claims.applied) == ("failed", [])
    assert "T1: look first" in str(record.reason)


@pytest.mark.promise("tools.only_after")
async def test_a_call_waits_for_the_success_of_the_one_before_it() -> None:
    """The other part goes on although the first one's call failed; the call that a rule puts after it is not made."""
    play = Stage(text="Approve claim C-1 of 120.50. Pay claim C-1.")
    play.talk.parts = [("Approve claim C-1 of 120.50.", "do"), ("Pay claim C-1.", "do")]
    play.servers.add("approve_claim", lambda _: ToolAnswer({"error": "closed"}, is_error=True), ToolClass.CHANGE)
    paid: list[JsonObject] = []

    def pay(given: JsonObject) -> ToolAnswer:
        paid.append(given)
        return ToolAnswer({})

    play.servers.add("pay_claim", pay, ToolClass.CHANGE)
    play.talk.rounds[1] = [
        ("approve_claim", {"claim_id": "C-1", "_call": {"part": 1}}),
        ("pay_claim", {"claim_id": "C-1", "_call": {"part": 2}}),
    ]
    need = CallPrerequisite(call_id="c2", any_of=("c1",), rule_id="T2", policy_id="p", reason="approve first")
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
    play.set_rules(ONCE)
    play.only_asks()
    play.talk.rounds = [[("get_claim", {"claim_id": "C-1"}), ("get_claim", {"claim_id": "C-2"})]]
    await play.run()
    told = next(str(request.messages) for request in play.model.requests if "Refused by policy rule" in str(request))
    assert play.servers.called("get_claim") == [{"claim_id": "C-1"}]
    assert "T3: once a session" in told
    assert [call.tool for call in (await play.turns.session()).calls] == ["get_claim"]


ONCE = ToolRule(id="T3", kind="at_most", tool="get_*")


@each_row(("enforce", "state"), [(True, "failed"), (False, "completed")])
async def test_a_translation_that_is_no_answer_ends_the_task_only_where_it_is_enforced(
    enforce: bool, state: str
) -> None:
    play = _play(enforce=enforce)
    play.talk.helpers["translate_policy"] = text_reply("I would rather talk about the weather.")
    record = await play.run()
    assert record.state == state
    assert bool(play.claims.applied) is not enforce
    assert "no usable answer" in str(record.reason if enforce else record.metadata["prose_policy"])


BINDING = (
    "No refunds.",
    "Be kind and never pay twice.",
    "Never pay the same invoice twice.",
    "Invoices over 5,000 go to finance.",
    "The manager signs invoices over 5,000.",
    "Ask legal first.",
    "Approvals need two people.",
    "Claims without a receipt are rejected.",
    "delete_everything is forbidden.",
    "Zahlungen \u00fcber 5.000 Euro brauchen eine Freigabe.",
    "You may refund at most 50 dollars.",
    "Text messages to customers are friendly and go to no other number.",
    "Refunds are short of 50 dollars.",
)
TELLING = (
    "Be kind.",
    "Please be brief and friendly.",
    "Answer in a polite tone.",
    "This policy was approved by the board in 2024.",
    "The finance team sits in Berlin.",
    "Our customers are mostly small companies.",
    "We value honesty.",
    "Text messages to customers are friendly.",
    "Letters are always polite, short and clear.",
)


@pytest.mark.promise("prose.nothing_dropped")
@each_row("sentence", BINDING)
def test_a_sentence_that_commands_or_forbids_is_told_from_others(sentence: str) -> None:
    assert binding_sentences((sentence,)) == (sentence,)


@pytest.mark.promise("prose.nothing_dropped")
@each_row("sentence", TELLING)
def test_a_sentence_that_tells_or_sets_a_tone_is_no_command(sentence: str) -> None:
    assert binding_sentences((sentence,)) == ()


@pytest.mark.promise("prose.nothing_dropped")
@each_row("rules", [[], [RULE]])
async def test_an_enforced_policy_with_a_command_in_no_rule_ends_the_task_unwritten(rules: list[Json]) -> None:
    """Whatever the translator returned: nothing, or rules of other sentences."""
    play = _play(enforce=True)
    play.talk.helpers["translate_policy"] = json_reply({"rules": rules})
    play.policy.untranslated = ("Be kind", "Never approve a claim without a receipt.")
    record = await play.run()
    assert (record.state, play.claims.applied) == ("failed", [])
    assert "no rule says: Never approve a claim without a receipt." in str(record.reason)
    assert "Be kind" not in str(record.reason)


@pytest.mark.promise("prose.nothing_dropped")
async def test_the_same_policy_that_only_advises_stops_nothing() -> None:
    play = _play()
    play.talk.helpers["translate_policy"] = json_reply({"rules": []})
    play.policy.untranslated = ("Never approve a claim without a receipt.",)
    record = await play.run()
    assert (record.state, play.claims.applied) == ("completed", ["C-1"])


@pytest.mark.promise("prose.said")
@each_row(
    ("enforce", "left", "said"),
    [
        (False, (), "taken as advice; it was not enforced"),
        (False, ("Be kind",), "taken as advice; it was not enforced"),
        (True, ("Be kind",), "this was not enforced: \u201cBe kind\u201d."),
        (True, (), None),
    ],
)
async def test_the_metadata_says_what_of_a_requests_own_policy_was_not_enforced(
    enforce: bool, left: tuple[str, ...], said: str | None
) -> None:
    play = _play(enforce=enforce)
    play.change_tenant(prose_policies=())
    request = play.turns.record.request.model_copy(update={"policy_doc": SOURCE})
    play.turns.record = play.turns.record.model_copy(update={"request": request})
    play.policy.untranslated = left
    record = await play.run()
    found = record.metadata.get("policy_unenforced")
    assert found is None if said is None else said in str(found)


@pytest.mark.promise("prose.said")
async def test_of_a_tenants_own_policy_the_request_is_told_nothing() -> None:
    record = await _play().run()
    assert "policy_unenforced" not in record.metadata


@pytest.mark.promise("replay.same_end")
@each_row("enforce", [False, True])
async def test_a_task_of_a_tenant_with_prose_policies_is_replayed_by_whoever_has_no_settings(enforce: bool) -> None:
    """The translator is the executor's setting: a replay has none, and the archive says which one it was.
    It says nothing of the order in which a server lists a tool's arguments.
    """
    play = _play(enforce=enforce)
    arguments: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}, "person_id": {}}}
    play.servers.add("tell_person", play.claims.notify, ToolClass.NOTIFY, arguments)
    play.limits = play.limits._replace(translator="a-small-model")
    record = await play.run()
    done = await replayed(play)
    assert done.is_same, f"{done.at}: {done.difference}"
    assert done.state is record.state
