"""Reads whose tool is gone, busy or too greedy, in the middle of a task; and writes, which nothing stands in for."""

import pytest

from services.executor.ports.tools import AnswerTooLarge, ToolAnswer
from shared.contracts.policy import ToolRule
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import TaskState, ToolClass
from shared.ports.models import Tier
from tests.doubles.scripted_model import json_reply
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, ONE, READ_2, TASK, Stage, keeps_silent, schema, the_fact, use

BUSY = ToolAnswer("429 Too Many Requests", is_error=True)
GONE = ToolAnswer("Unknown tool: get_claim", is_error=True)


def gone(**others: ToolClass) -> Stage:
    """A stage whose ``lookup_claim`` is listed and gone; other tools answer with the claim."""
    stage = Stage()
    stage.servers.add("lookup_claim", lambda _: GONE, input_schema=ONE)
    for name, kind in others.items():
        stage.servers.add(name, stage.claims.get, kind, ONE)
    stage.talk.rounds[0] = [("lookup_claim", {"claim_id": "C-1"})]
    return stage


@pytest.mark.promise("recover.synonyms", "recover.says_so")
async def test_a_read_of_the_same_answers_for_a_tool_that_is_gone_and_where_none_can_it_says_what_was_tried() -> None:
    stage = gone()
    await stage.ends(TaskState.COMPLETED)
    assert (the_fact(stage).ok, the_fact(stage).tool) == (True, "lookup_claim")
    assert the_fact(stage).note == "lookup_claim is gone; get_claim answered instead."
    assert (await replayed(stage)).is_same
    stage = gone()
    stage.servers.add("get_claim", lambda _: ToolAnswer("not for you", is_error=True), input_schema=ONE)
    await stage.run()
    assert not the_fact(stage).ok
    assert the_fact(stage).note == 'lookup_claim could not be read; tried instead: get_claim: "not for you".'


@pytest.mark.promise("recover.never_stronger")
async def test_nothing_that_changes_something_stands_in_for_a_read_nor_another_tool_for_a_write() -> None:
    """``get_claim`` is a tool that writes here, whatever its name says: it is left alone."""
    stage = gone(get_claim=ToolClass.CHANGE, set_claim=ToolClass.CHANGE, notify_claim=ToolClass.NOTIFY)
    stage.only_asks()
    await stage.run()
    assert [call.tool for call in stage.servers.calls] == ["lookup_claim"]
    assert the_fact(stage).note == "lookup_claim could not be read; nothing could stand in for it."
    stage = Stage()
    refusal = ToolAnswer("Unknown tool: approve_claim", is_error=True, not_begun=True)
    stage.servers.add("approve_claim", lambda _: refusal, ToolClass.CHANGE, ONE)
    for name in ("accept_claim", "deny_claim", "approve_claims", "confirm_claim"):
        stage.servers.add(name, stage.claims.approve, ToolClass.CHANGE, ONE)
    await stage.ends(TaskState.FAILED, [])


@pytest.mark.promise("recover.synonyms", "recover.kinds", "recover.silence")
async def test_where_rules_speak_of_tools_nothing_is_replaced_and_nobody_asked_again() -> None:
    """A rule may allow the call a single time."""
    replaced, busy, silent = gone(), Stage(), answering(None)
    replaced.set_rules(ToolRule(id="R", kind="never", tool="get_claim"))
    busy.limits = busy.limits._replace(tool_seconds=0.6)
    busy.servers.add("get_claim", lambda _: BUSY, input_schema=ONE)
    for stage in (replaced, busy):
        stage.only_asks()
    for stage in (busy, silent):
        stage.set_rules(ToolRule(id="R", kind="at_most", tool="get_claim", limit=1))
    await replaced.run()
    assert [call.tool for call in replaced.servers.calls] == ["lookup_claim"]
    assert not the_fact(replaced).ok
    await busy.run()
    await silent.ends(TaskState.FAILED, [], why="did not answer get_claim")
    assert [len(stage.servers.called("get_claim")) for stage in (busy, silent)] == [1, 1]


@pytest.mark.promise("recover.kinds", "recover.silence")
@each_row("first", [BUSY, None])
async def test_a_server_that_is_busy_or_silent_is_asked_once_more(first: ToolAnswer | None) -> None:
    stage = answering(first)
    stage.limits = stage.limits._replace(tool_seconds=0.6)
    await stage.ends(TaskState.COMPLETED)
    assert the_fact(stage).ok
    assert (await replayed(stage)).is_same
    again = answering(None, None)
    await again.ends(TaskState.FAILED, [], why="did not answer get_claim")
    assert len(again.servers.called("get_claim")) == 2


def answers_too_much(_: JsonObject) -> Json:
    raise AnswerTooLarge("the answer is larger than 9 bytes")


@pytest.mark.promise("recover.kinds")
async def test_a_read_whose_answer_is_too_large_is_told_so_and_a_write_is_in_doubt() -> None:
    """A read can ask for less; what came of a write only a read can tell."""
    stage = Stage()
    stage.servers.add("get_claim", answers_too_much, input_schema=ONE)
    stage.only_asks()
    await stage.run()
    assert len(stage.servers.called("get_claim")) == 1
    assert "larger than 9 bytes: ask for less" in str(the_fact(stage).result)
    assert (await replayed(stage)).is_same
    written = Stage()
    written.cannot_read()
    written.servers.add("approve_claim", answers_too_much, ToolClass.CHANGE)
    await written.ends(TaskState.INPUT_REQUIRED)
    assert written.statuses == ["in_doubt"]


@pytest.mark.promise("recover.kinds")
@each_row(
    ("answer", "note"),
    (ToolAnswer({"found": False, "error": "no such claim"}), None),
    (ToolAnswer([]), None),
    (ToolAnswer({"data": [], "total": None}), None),
    (ToolAnswer("CHECK constraint failed", is_error=True), None),
    (ToolAnswer("claim_id must be a number", is_error=True), None),
    (
        ToolAnswer("Permission denied", is_error=True),
        "get_claim is not permitted here; nothing was asked in its place.",
    ),
    (ToolAnswer("claim C-1 not found", is_error=True), "get_claim works, and has no such record."),
)
async def test_an_answer_a_refusal_and_a_wrong_argument_are_final_and_asked_once(
    answer: ToolAnswer, note: str | None
) -> None:
    """Not even of another tool that asks the same."""
    stage = Stage()
    stage.servers.add("read_claim", stage.claims.get, input_schema=ONE)
    stage.servers.add("get_claim", lambda _: answer, input_schema=ONE)
    stage.only_asks()
    await stage.run()
    assert [call.tool for call in stage.servers.calls] == ["get_claim"]
    assert the_fact(stage).ok is not answer.is_error
    assert note is None or the_fact(stage).note == note


def answering(*answers: "Json | ToolAnswer | None") -> Stage:
    """A stage whose ``get_claim`` gives these answers in turn (None: it is silent), and then the claim."""
    stage, left = Stage(), [*answers]

    def get(given: JsonObject) -> "Json | ToolAnswer":
        answer = left.pop(0) if left else stage.claims.get(given)
        return keeps_silent(given) if answer is None else answer

    stage.servers.add("get_claim", get)
    return stage


@pytest.mark.promise("recover.types")
async def test_a_value_of_the_wrong_type_is_sent_once_more_in_the_type_that_the_server_names() -> None:
    stage = Stage()

    def typed(given: JsonObject) -> "Json | ToolAnswer":
        numbered = isinstance(given["number"], int)
        return {"id": "C-1", "status": "open"} if numbered else ToolAnswer("number must be an integer", is_error=True)

    stage.servers.add("get_claim", typed)
    stage.only_asks()
    stage.talk.rounds = [[("get_claim", {"number": "42"})]]
    await stage.run()
    assert stage.servers.called("get_claim") == [{"number": "42"}, {"number": 42}]
    assert the_fact(stage).ok
    assert the_fact(stage).note == "number: sent in the type that get_claim takes."
    assert (await replayed(stage)).is_same


@pytest.mark.promise("recover.one_by_one")
@each_row("refusal", ["Unknown tool: get_claims", "too many ids"])
async def test_a_read_of_several_is_made_one_by_one_and_what_could_not_be_read_is_said_first(refusal: str) -> None:
    stage, partly = (Stage(TASK, [use("get_claims", claim_ids=["C-1", "C-2"])], [APPROVE]) for _ in range(2))
    for one in (stage, partly):
        one.servers.add("get_claims", lambda _: ToolAnswer(refusal, is_error=True))
    await stage.run()
    rows: list[Json] = [dict(stage.claims.rows["C-1"], status="open"), dict(stage.claims.rows["C-2"])]
    assert the_fact(stage).result == rows
    assert the_fact(stage).note == "Read one by one with get_claim: 2 of 2."
    closed, get = ToolAnswer("closed", is_error=True), partly.claims.get
    partly.servers.add("get_claim", lambda given: closed if given == READ_2[1] else get(given), input_schema=ONE)
    await partly.run()
    assert the_fact(partly).note.startswith("NOT all rows: Read one by one with get_claim: 1 of 2.")


@pytest.mark.promise("recover.synonyms")
async def test_dying_at_any_stored_step_leads_to_the_same_fact() -> None:
    whole = gone()
    await whole.run()
    for step in range(0, whole.turns.stored, 3):
        stage = gone()
        await stage.dies(step)
        await stage.run(attempts=2)
        assert the_fact(stage) == the_fact(whole), step
        assert stage.claims.applied == ["C-1"], step


@pytest.mark.promise("recover.synonyms")
async def test_a_parameter_that_was_renamed_is_sent_under_its_new_name_and_remembered() -> None:
    stage = Stage()

    def renamed(given: JsonObject) -> "Json | ToolAnswer":
        if "claim_id" in given:
            said = "claim_id\n  Unexpected keyword argument\nclaimId\n  Field required"
            return ToolAnswer(said, is_error=True)
        return stage.claims.get({"claim_id": given["claimId"]})

    stage.servers.add("get_claim", renamed)
    stage.only_asks()
    stage.talk.rounds[0] = [("get_claim", {"claim_id": "C-1"})]
    await stage.run()
    assert the_fact(stage).ok, dumps(the_fact(stage).result)
    assert stage.servers.called("get_claim") == [{"claim_id": "C-1"}, {"claimId": "C-1"}]
    assert stage.turns.remembered.corrections == {"office/get_claim:@claim_id": "claimId"}


def only_a_search(answer: Json) -> Stage:
    """The claim's own tool is gone, and there is but a search, of which nobody knows whether it asks the same."""
    stage = gone()
    text = schema("text")
    stage.servers.add("search_claims", lambda given: stage.claims.get({"claim_id": given["text"]}), input_schema=text)
    stage.servers.add("search_budgets", lambda _: {"id": "B-1"}, input_schema=text)
    stage.servers.add("get_claim", lambda _: ToolAnswer("not for you", is_error=True), input_schema=ONE)
    stage.talk.helpers["stand_in"] = json_reply(answer)
    return stage


@pytest.mark.promise("recover.advice")
async def test_a_small_model_may_name_one_of_the_reads_about_the_same_kind_of_record() -> None:
    stage = only_a_search({"tool": "search_claims", "arguments_json": '{"text": "C-1"}', "why": "finds it"})
    await stage.run()
    assert the_fact(stage).note == "lookup_claim is gone; search_claims answered instead."
    (asked,) = [one for one in stage.model.requests if "# State: STAND IN" in "".join(one.system)]
    assert asked.tier is Tier.SMALL
    assert "search_claims" in str(asked.messages)
    assert not any(name in str(asked.messages) for name in ("search_budgets", "approve_claim", "notify_person"))
    assert (await replayed(stage)).is_same


@pytest.mark.promise("recover.advice")
@each_row(
    "advice",
    {"tool": None, "arguments_json": "{}", "why": "none does"},
    {"tool": "search_budgets", "arguments_json": '{"text": "C-1"}', "why": "x"},
    {"tool": "approve_claim", "arguments_json": '{"claim_id": "C-1"}', "why": "x"},
    {"tool": "invented", "arguments_json": "{}", "why": "x"},
    {"tool": "search_claims", "arguments_json": '{"text": "C-2"}', "why": "another claim"},
    {"tool": "search_claims", "arguments_json": "not json", "why": "x"},
    {"answer": 7},
)
async def test_advice_that_names_anything_else_is_not_followed(advice: JsonObject) -> None:
    stage = only_a_search(advice)
    stage.only_asks()
    await stage.run()
    assert [call.tool for call in stage.servers.calls] == ["lookup_claim", "get_claim"]
    assert not the_fact(stage).ok
    assert stage.claims.applied == []
