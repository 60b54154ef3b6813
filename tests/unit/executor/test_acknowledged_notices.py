"""A notice of a change that its server only acknowledged goes out with the sentence that was approved with the plan."""

import pytest

from services.executor.core.states.machine import TEMPLATES
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_talk import Call
from tests.each_row import each_row
from tests.unit.executor.begun_as import NOTICE, begun_as
from tests.unit.executor.stage import Stage

CLOSE = TEMPLATES["month_end_close"]
ONE: JsonObject = {"type": "object", "properties": {"claim_id": {"type": "string"}}, "required": ["claim_id"]}


async def planned(*, shown: bool, tool: str = "approve_claim", **tenant: bool) -> Stage:
    """A change and its notice; ``shown``: a read shows the claim."""
    stage = await begun_as(CLOSE, (tool, {"claim_id": "C-1"}), NOTICE)
    if not shown:
        stage.servers.remove("get_claim")
        stage.talk.rounds[0] = []
    stage.change_tenant(**tenant)
    return stage


def told(stage: Stage) -> list[str]:
    return [str(given["text"]) for given in stage.claims.told]


@pytest.mark.promise("notify.proved_only")
async def test_of_a_change_that_no_read_shows_the_notice_says_so() -> None:
    stage = await planned(shown=False)
    record = await stage.run()
    assert (record.state, stage.statuses[0]) == (TaskState.COMPLETED, "unverified")
    assert told(stage) == [
        "Claim C-1 is approved.\n\nPlease note: accepted by the system, but not yet confirmed: approve claim."
    ]


@pytest.mark.promise("notify.proved_only")
async def test_of_a_verified_change_the_notice_goes_out_as_it_was_written() -> None:
    stage = await planned(shown=True)
    await stage.run()
    assert (stage.statuses[0], told(stage)) == ("verified", ["Claim C-1 is approved."])


@pytest.mark.promise("notify.own_part")
async def test_a_change_of_another_part_holds_no_notice_back_and_adds_nothing_to_it() -> None:
    text = "Close the file C-1, then approve claim C-1 and say so"
    (notify, said), closing, rest = NOTICE, "Close the file C-1", "then approve claim C-1 and say so"
    changes: tuple[Call, ...] = (
        ("close_file", {"name": "C-1", "_call": {"part": 1}}),
        ("approve_claim", {"claim_id": "C-1", "_call": {"part": 2}}),
    )
    stage = await begun_as(CLOSE, *changes, (notify, {**said, "_call": {"part": 2}}), text=text)
    stage.servers.add("close_file", lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.talk.parts = [(closing, "do"), (rest, "do")]
    await stage.run()
    assert (stage.statuses[:2], told(stage)) == (["unverified", "verified"], ["Claim C-1 is approved."])


@pytest.mark.promise("I4.proof")
@each_row(("said", "status"), [("claim C-1 not found", "verified"), ("internal error", "unverified")])
async def test_a_removal_is_proved_by_a_read_that_finds_nothing_and_not_by_one_that_fails(
    said: str, status: str
) -> None:
    stage = await planned(shown=True, tool="delete_claim")

    def removed(given: JsonObject) -> Json:
        stage.claims.rows.pop(str(given["claim_id"]))
        return {"ok": True}

    def shown(given: JsonObject) -> "Json | ToolAnswer":
        row = stage.claims.rows.get(str(given["claim_id"]))
        return dict(row) if row else ToolAnswer(said, is_error=True)

    stage.servers.add("delete_claim", removed, ToolClass.CHANGE, ONE)
    stage.servers.add("get_claim", shown, ToolClass.READ, ONE)
    await stage.run()
    assert stage.statuses[0] == status
