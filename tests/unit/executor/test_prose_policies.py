"""Policies in the worker: in plain words, of an unknown shape or about nobody, and those that a task began with."""

import json
from pathlib import Path

import pytest

from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants
from services.executor.core.prime.prose import select_binding_sentences
from services.executor.ports.services import PolicyUnavailable
from services.executor.ports.tools import ToolAnswer
from shared.contracts.policy import CallPrerequisite, CallRefusal, Rule, ToolRule
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import ProsePolicy
from shared.domain.exact_json import Json
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_model import json_reply, state_of, text_reply
from tests.doubles.scripted_talk import results_in, texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, READ, TASK, SaidPolicy, Stage, schema, use

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
async def test_a_policy_that_cannot_be_checked_or_translated_ends_the_task_unwritten_only_where_it_is_enforced(
    enforce: bool, state: str
) -> None:
    """No rules, no writes; one that only advises is noted as not translated."""
    unchecked, untold = _play(enforce=enforce), _play(enforce=enforce)
    unchecked.policy = _NoProse()
    untold.talk.helpers["translate_policy"] = text_reply("I would rather talk about the weather.")
    for play, why in ((unchecked, "it is down"), (untold, "no usable answer")):
        record = await play.run()
        assert (record.state, bool(play.claims.applied)) == (state, not enforce)
        assert why in str(record.reason if enforce else record.metadata["prose_policy"])


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
    parts = (f"{TASK}.", "Pay claim C-1.")
    calls = [use("approve_claim", 1, claim_id="C-1"), use("pay_claim", 2, claim_id="C-1")]
    play = Stage(" ".join(parts), [READ], calls, parts=parts)
    play.servers.add("approve_claim", lambda _: ToolAnswer({"error": "closed"}, is_error=True), ToolClass.CHANGE)
    play.servers.add("pay_claim", lambda _: {}, ToolClass.CHANGE)
    need = CallPrerequisite(call_id="c2", any_of=("c1",), rule_id="T2", policy_id="p", reason="approve first")
    play.policy.says = {"needs": (need,)}
    record = await play.run()
    assert play.servers.called("pay_claim") == []
    assert "T2: approve first" in str(record.reason)


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
@each_row(("sentence", "is_binding"), [*((one, True) for one in BINDING), *((one, False) for one in TELLING)])
def test_a_sentence_that_commands_or_forbids_is_told_from_one_that_tells_or_sets_a_tone(
    sentence: str, is_binding: bool
) -> None:
    assert select_binding_sentences((sentence,)) == ((sentence,) if is_binding else ())


@pytest.mark.promise("prose.nothing_dropped", "prose.said")
@each_row(("enforce", "rules"), [(True, []), (True, [RULE]), (False, [])])
async def test_an_enforced_policy_with_a_command_in_no_rule_ends_the_task_unwritten(
    enforce: bool, rules: list[Json]
) -> None:
    """Whatever the translator returned: nothing, or rules of other sentences. One that only advises stops nothing."""
    play = _play(enforce=enforce)
    play.talk.helpers["translate_policy"] = json_reply({"rules": rules})
    play.policy.untranslated = ("Be kind", "Never approve a claim without a receipt.")
    record = await play.ends(TaskState.FAILED if enforce else TaskState.COMPLETED, [] if enforce else ["C-1"])
    assert ("no rule says: Never approve a claim without a receipt." in str(record.reason)) is enforce
    assert "Be kind" not in str(record.reason)
    assert "policy_unenforced" not in record.metadata  # which speaks of a request's own policy alone


@pytest.mark.promise("prose.said")
@each_row(
    ("enforce", "left", "said"),
    (False, (), "taken as advice; it was not enforced"),
    (False, ("Be kind",), "taken as advice; it was not enforced"),
    (True, ("Be kind",), "this was not enforced: \u201cBe kind\u201d."),
    (True, (), None),
)
async def test_the_metadata_says_what_of_a_requests_own_policy_was_not_enforced(
    enforce: bool, left: tuple[str, ...], said: str | None
) -> None:
    play = _play(enforce=enforce)
    play.change_tenant(prose_policies=())
    play.change_request(policy_doc=SOURCE)
    play.policy.untranslated = left
    record = await play.run()
    found = record.metadata.get("policy_unenforced")
    assert found is None if said is None else said in str(found)


@pytest.mark.promise("replay.same_end")
@each_row("enforce", [False, True])
async def test_a_task_of_a_tenant_with_prose_policies_is_replayed_by_whoever_has_no_settings(enforce: bool) -> None:
    """The translator is the executor's setting: a replay has none, and the archive says which one it was.
    It says nothing of the order in which a server lists a tool's arguments.
    """
    play = _play(enforce=enforce)
    play.servers.add("tell_person", play.claims.notify, ToolClass.NOTIFY, schema("[text]", "[person_id]"))
    play.limits = play.limits._replace(translator="a-small-model")
    await play.run()
    done = await replayed(play)
    assert done.is_same, f"{done.at}: {done.difference}"


@pytest.mark.promise("policy.says_nothing")
async def test_a_rule_about_a_tool_that_nobody_offers_is_named_in_the_task() -> None:
    """The worker cannot know what was meant; whoever reads the task can."""
    play = Stage()
    rules = (ToolRule(id="T1", kind="never", tool="aprove_claim"), ToolRule(id="T2", kind="never", tool="delete_*"))
    known = ToolRule(id="T3", kind="at_most", tool=" get_* ")
    limit = Rule(id="R1", condition='tool == "office__approve_claim" && amount > 9', action="block")
    play.set_rules(*rules, known, limit)
    record = await play.run()
    assert record.metadata["policy_notes"] == [
        "rule T1 of house is about 'aprove_claim', and no such tool is offered",
        "rule T2 of house is about 'delete_*', and no such tool is offered",
        "rule R1 of house is about 'office__approve_claim', and no such tool is offered",
    ]


@pytest.mark.promise("policy.binding")
@each_row(
    "condition",
    'tool == "get_payment" && amount > 100',
    "tool in ['pay', 'get_payment'] && amount > 100",
    'tool == "get_payment" && amount > 100 && claim_id != "C-9"',
)
async def test_a_tool_that_a_rule_names_is_judged_before_it_is_called_though_its_name_reads(condition: str) -> None:
    """Its server may know what its name does not say; whoever wrote the rule does."""
    for amount, end in ((150, TaskState.REJECTED), (90, TaskState.COMPLETED)):
        play = Stage("Take 90 or 150 for C-1", [READ], [use("get_payment", 1, claim_id="C-1", amount=amount)])
        asked = schema("claim_id", "amount:integer")
        play.servers.add("get_payment", lambda given: {"ok": True, **given}, ToolClass.READ, asked)
        play.judge_by(Rule(id="MOST", condition=condition, action="block"))
        await play.ends(end)
        assert play.written == (["get_payment"] if end is TaskState.COMPLETED else [])
        assert len(play.servers.called("get_payment")) == len(play.written)


@pytest.mark.promise("policy.unknown_shape")
async def test_a_field_of_the_request_that_nobody_reads_ends_the_task_unwritten_unless_it_only_describes() -> None:
    """What it says would not hold, so nothing is done under it."""
    play, described = Stage(), Stage()
    play.change_request(policy_doc={"rules": [], "tooldefault": "deny"})
    why = "metadata.policy_doc cannot be read as rules: policy.tooldefault: nobody reads this field"
    await play.ends(TaskState.FAILED, [], why=why)
    described.change_request(policy_doc={"rules": [], "title": "House rules"})
    record = await described.ends(TaskState.COMPLETED, ["C-1"])
    assert record.metadata["policy_notes"] == ["nobody reads the field policy.title"]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"id": "p", "tooldefault": "deny"}, "no policy has a field p.tooldefault"),
        ({"id": "p", "rules": [{"id": "A", "condition": "x", "action": "block", "levle": "cfo"}]}, "A.levle"),
    ],
)
def test_a_tenants_policy_with_a_field_that_nobody_reads_stops_the_start(
    tmp_path: Path, policy: Json, sentence: str
) -> None:
    file = tmp_path / "tenant.json"
    file.write_text(json.dumps({"id": "default", "policies": [policy]}), "utf-8")
    with pytest.raises(BadTenantFile, match=sentence):
        FileTenants.read_file(file)


@pytest.mark.parametrize("url", ["http://tools:99999", "http://tools:x", "http://[::1", "http://a..b", "http://:80"])
def test_a_tenants_file_with_a_tool_server_that_no_client_can_call_stops_the_start(tmp_path: Path, url: str) -> None:
    file = tmp_path / "tenant.json"
    file.write_text(json.dumps({"id": "t", "connections": [{"id": "office", "url": url}]}), "utf-8")
    with pytest.raises(BadTenantFile, match="is no usable URL"):
        FileTenants.read_file(file)


def test_a_tenants_file_holds_rules_of_every_kind_in_one_list_and_has_the_given_server_where_it_names_none(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tenant.json"
    rules = [{"id": "A", "kind": "never", "tool": "pay"}, {"id": "B", "type": "deny", "keywords": ["x"]}]
    file.write_text(json.dumps({"id": "default", "policies": [{"id": "p", "rules": rules}]}), "utf-8")
    (policy,) = FileTenants.read_file(file).record.policies
    assert ([rule.id for rule in policy.tool_rules], [rule.id for rule in policy.text_rules]) == (["A"], ["B"])
    (tmp_path / "tenant.json").write_text('{"id": "t", "connections": []}')
    (one,) = FileTenants.read_file(tmp_path / "tenant.json", "http://tools:9009").record.connections
    assert (one.id, one.url) == ("default", "http://tools:9009")


@pytest.mark.promise("plan.as_made")
async def test_rules_see_a_plan_in_the_order_in_which_it_is_made() -> None:
    """Notices go out after the changes, wherever the model wrote them."""
    play = Stage()
    play.talk.rounds[1] = [("notify_person", {}), APPROVE]
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert [call.tool for call in binding.calls] == ["approve_claim", "notify_person"]
