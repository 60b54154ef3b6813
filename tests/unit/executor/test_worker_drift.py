"""A renamed column in the middle of a task: the read recovers, the session remembers, no approved write is touched."""

import pytest

from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_talk import of_conversation, texts_in
from tests.each_row import each_row
from tests.unit.executor.stage import APPROVE, TASK, Stage, decision, use

QUERY: JsonObject = {"table": "claims", "columns": ["id", "amount"], "filter_column": "id", "filter_value": "amount"}
TABLE: JsonObject = {"type": "object", "properties": {"table": {"enum": ["claims"]}}, "required": ["table"]}
ARCHIVE = use("archive_claim", claim_id="C-1")
OLD, NEW = ["id", "amount"], ["id", "total_amount"]


class Ledgers:
    """A table whose column ``amount`` is called ``name`` now; any other name is refused, in the way of SQLite."""

    def __init__(self, name: str = "total_amount") -> None:
        self.name = name

    def query(self, given: JsonObject) -> "Json | ToolAnswer":
        columns = given["columns"]
        assert isinstance(columns, list)
        unknown = [column for column in columns if column not in ("id", self.name)]
        if unknown:
            return ToolAnswer(f"no such column: {unknown[0]}", is_error=True)
        return [{"id": "C-1", self.name: "120.50"}]

    def describe(self, _: JsonObject) -> Json:
        return {"table": "claims", "columns": [{"name": "id"}, {"name": self.name}]}


def drifted(name: str = "total_amount", text: str = TASK) -> Stage:
    stage = Stage(text)
    ledgers = Ledgers(name)
    stage.servers.add("query_table", ledgers.query)
    stage.servers.add("describe_table", ledgers.describe, input_schema=TABLE)
    stage.talk.rounds = [[("query_table", QUERY)], [APPROVE]]
    return stage


def columns(stage: Stage) -> list[Json]:
    """Those of each query in turn."""
    return [call["columns"] for call in stage.servers.called("query_table")]


def told(stage: Stage) -> list[tuple[object, object, object]]:
    notes = [event.data for event in stage.turns.events if event.kind == "note"]
    return [(d["renamed_column"], d["now_called"], d["found_by"]) for d in notes if "renamed_column" in d]


@pytest.mark.promise("drift.recovers")
async def test_a_read_that_meets_a_renamed_column_recovers_once_says_so_and_shows_it_under_both_names() -> None:
    stage = drifted()
    await stage.ends(TaskState.COMPLETED)
    assert columns(stage) == [OLD, NEW]
    assert stage.servers.called("query_table")[1]["filter_value"] == "amount"
    assert stage.servers.called("describe_table") == [{"table": "claims"}]
    assert told(stage) == [("amount", "total_amount", "alias")]
    asked = of_conversation(stage.model.requests)[1]
    assert dumps([{"amount": "120.50", "id": "C-1", "total_amount": "120.50"}]) in texts_in(asked)


@pytest.mark.promise("drift.described")
async def test_a_column_is_found_by_the_description_of_the_server() -> None:
    """No letters tell that the two names are one; the server does."""
    stage = drifted("grand_figure_eur")
    said: Json = {"columns": [{"name": "id"}, {"name": "grand_figure_eur", "description": "Previously: amount"}]}
    stage.servers.add("describe_table", lambda _: said, input_schema=TABLE)
    await stage.run()
    assert told(stage) == [("amount", "grand_figure_eur", "described")]


@pytest.mark.promise("drift.recovers")
@each_row("name", ["sum_of_it", "price_or_value"])
async def test_a_column_that_no_alias_explains_stays_an_error_and_is_not_guessed(name: str) -> None:
    stage = drifted(name)
    record = await stage.run()
    assert len(stage.servers.called("query_table")) == 1
    assert told(stage) == []
    assert record.state is TaskState.COMPLETED  # the model was told of the error and went on


@pytest.mark.promise("drift.remembered")
async def test_a_later_task_of_the_session_is_corrected_before_its_call_and_corrected_again_where_that_fails() -> None:
    first, second, other, third = drifted(), drifted(), drifted("amount"), drifted("amount")
    await first.run()
    for stage in (second, other):
        stage.turns.remembered = first.turns.remembered
        await stage.run()
    assert (columns(second), second.servers.called("describe_table")) == ([NEW], [])
    assert columns(other) == [NEW, OLD]
    third.turns.remembered = other.turns.remembered
    await third.run()
    assert columns(third) == [OLD]


@pytest.mark.promise("drift.recovers")
async def test_dying_at_any_stored_step_leads_to_the_same_end_and_the_same_memory() -> None:
    whole = drifted()
    await whole.run()
    for step in range(whole.turns.stored):
        stage = drifted()
        await stage.dies(step)
        record = await stage.run(attempts=2)
        assert record.state is TaskState.COMPLETED, step
        assert stage.turns.remembered.corrections == whole.turns.remembered.corrections, step
        assert stage.claims.applied == ["C-1"], step


@pytest.mark.promise("drift.approved_writes_stay")
async def test_an_approved_plan_over_corrected_reads_is_carried_out_without_asking_again() -> None:
    """The inputs are read again with the same correction, so nothing has changed."""
    stage = drifted()
    stage.change_tenant(unruled_writes="approve")
    waiting = await stage.run()
    record = await stage.run(decision("approve"))
    assert (waiting.state, record.state) == (TaskState.INPUT_REQUIRED, TaskState.COMPLETED)
    assert stage.claims.applied == ["C-1"]


@pytest.mark.promise("drift.approved_writes_stay")
async def test_a_plan_is_made_with_the_names_that_the_session_has_learned_and_not_corrected_at_dispatch() -> None:
    refusal = ToolAnswer("no such column: owner", is_error=True, not_begun=True)
    owner, amount = (use("set_claim_column", table="claims", column=one, claim_id="C-1") for one in ("owner", "amount"))
    refused, learned = (
        drifted(text="Set the owner column of claims for C-1 of 120.50, and the amount column") for _ in range(2)
    )
    for stage, call in ((refused, owner), (learned, amount)):
        stage.servers.add("set_claim_column", lambda _: refusal, ToolClass.CHANGE)
        stage.talk.rounds[1] = [call]
        await stage.ends(TaskState.FAILED)
    assert refused.servers.called("set_claim_column") == [owner[1]]
    assert learned.servers.called("set_claim_column") == [{**amount[1], "column": "total_amount"}]
    assert "total_amount" in next(iter(learned.turns.writes.values())).call.arguments_json


@pytest.mark.promise("tools.named_by_task")
async def test_a_tool_that_only_the_task_names_is_called_under_every_rule_of_its_state() -> None:
    stage = Stage("Call archive_claim for claim C-1.")
    stage.servers.lists_not_all = True
    stage.talk.rounds = [[ARCHIVE], [ARCHIVE]]
    stage.change_tenant(unruled_writes="approve")
    waiting = await stage.run()
    assert (waiting.state, stage.servers.called("archive_claim")) == (TaskState.INPUT_REQUIRED, [])
    await stage.run(decision("approve"))
    assert stage.servers.called("archive_claim") == [ARCHIVE[1]]


@pytest.mark.promise("tools.named_by_task")
@each_row(("text", "lists_not_all"), [("Archive claim C-1.", True), ("Call archive_claim for C-1.", False)])
async def test_a_tool_named_nowhere_or_unknown_to_a_server_that_lists_all_is_refused(
    text: str, lists_not_all: bool
) -> None:
    stage = Stage(text)
    stage.servers.lists_not_all = lists_not_all
    stage.talk.rounds = [[ARCHIVE]]
    await stage.ends(TaskState.FAILED)
    assert stage.servers.called("archive_claim") == []
