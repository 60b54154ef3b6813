"""Our key in a call: a server that honours it may get a lost call again, a bounded number of times (I3)."""

import pytest

from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.each_row import each_row
from tests.unit.executor.stage import Stage, cancel, keeps_silent, schema, use
from tests.unit.executor.test_worker_doubts import word

pytestmark = pytest.mark.promise("I3.our_key")

_KEYED = schema("claim_id", "[once]", closed=True)
DONE, WAITS = TaskState.COMPLETED, TaskState.INPUT_REQUIRED


class KeyedOffice:
    """An office that applies a write once for each key; ``lost_before`` calls vanish unseen, ``lost_after`` applied."""

    def __init__(self, stage: Stage, lost_before: int = 0, lost_after: int = 0) -> None:
        self.stage, self.lost_before, self.lost_after = stage, lost_before, lost_after
        self.keys: list[str] = []
        self.first: dict[str, Json] = {}

    def approve(self, given: JsonObject) -> Json:
        self.keys.append(str(given.get("once")))
        if len(self.keys) <= self.lost_before:
            raise ToolSilent("cut off")
        if self.keys[-1] not in self.first:
            self.first[self.keys[-1]] = self.stage.claims.approve({"claim_id": given["claim_id"]})
        if len(self.keys) <= self.lost_before + self.lost_after:
            raise ToolSilent("cut off")
        return self.first[self.keys[-1]]


def keyed(
    read_back: bool = True, shape: JsonObject = _KEYED, lost_before: int = 0, lost_after: int = 0
) -> tuple[Stage, KeyedOffice]:
    stage = Stage()
    office = KeyedOffice(stage, lost_before, lost_after)
    stage.set_catalogue(approve_claim=CatalogueEntry(idempotency_field="once"))
    stage.servers.add("approve_claim", office.approve, ToolClass.CHANGE, shape)
    if not read_back:
        stage.cannot_read()
    return stage, office


@each_row(("before", "after"), [(1, 0), (2, 0), (1, 1)])
@each_row("read_back", [True, False])
async def test_a_lost_call_is_sent_again_under_the_same_key_and_applied_once(
    before: int, after: int, read_back: bool
) -> None:
    stage, office = keyed(read_back, lost_before=before, lost_after=after)
    await stage.ends(DONE, ["C-1"])
    assert len(set(office.keys)) == 1
    assert stage.statuses == ["verified" if read_back else "unverified"]


@each_row("required", [["claim_id"], ["claim_id", "once"]])
async def test_the_key_is_the_ledgers_and_no_part_of_the_planned_arguments_nor_shown_to_the_model(
    required: list[Json],
) -> None:
    stage, office = keyed(shape={**_KEYED, "required": required})
    await stage.ends(DONE)
    (entry,) = stage.turns.writes.values()
    assert office.keys == [entry.key]
    assert (entry.arguments_json, entry.idempotency_field) == ('{"claim_id":"C-1"}', "once")
    offered = next(tool for tool in stage.model.requests[0].tools if tool.name == "approve_claim")
    assert offered.input_schema["required"] == ["claim_id"]
    assert "once" not in str(offered.input_schema)


@pytest.mark.promise("I4.unread_errors", "I3.our_key")
@each_row("then", [ToolAnswer("closed by now", is_error=True, not_begun=True), ToolUnreachable("connection refused")])
async def test_a_resend_that_is_refused_or_finds_no_server_says_nothing_of_the_sending_that_was_lost(
    then: ToolAnswer | ToolUnreachable,
) -> None:
    stage, office = keyed(read_back=False)

    def lost_and_then(given: JsonObject) -> "Json | ToolAnswer":
        office.keys.append(str(given["once"]))
        if len(office.keys) == 1:
            return keeps_silent(given)
        if isinstance(then, ToolUnreachable):
            raise then
        return then

    stage.servers.add("approve_claim", lost_and_then, ToolClass.CHANGE, _KEYED)
    await stage.ends(WAITS)
    assert (stage.statuses, len(office.keys) > 1) == (["in_doubt"], True)


async def test_resends_are_bounded_and_then_an_operator_is_asked() -> None:
    stage, office = keyed(lost_before=10)
    await stage.ends(WAITS)
    assert (stage.statuses, len(office.keys)) == (["absent"], 3)
    await stage.ends(TaskState.FAILED, turn=word(stage, "skip"))
    assert len(office.keys) == 3


async def test_a_field_that_the_tool_does_not_have_permits_no_resend() -> None:
    stage, office = keyed(shape=schema("claim_id", closed=True), lost_before=1)
    await stage.ends(WAITS)
    assert (stage.statuses, office.keys) == (["absent"], ["None"])


async def test_dying_at_any_step_of_a_resend_applies_the_write_once() -> None:
    whole, _ = keyed(lost_before=1)
    await whole.run()
    for step in range(whole.turns.stored):
        stage, office = keyed(lost_before=1)
        await stage.dies(step)
        await stage.ends(DONE, ["C-1"], attempts=2)
        assert (stage.statuses, len(set(office.keys))) == (["verified"], 1), step


async def _died_before_its_resend() -> tuple[Stage, KeyedOffice]:
    """The loss is settled, the resend is not begun."""
    stage, office = keyed(lost_before=1)

    def dies(given: JsonObject) -> Json:
        stage.turns.die_before = stage.turns.stored + 1
        return office.approve(given)

    stage.servers.add("approve_claim", dies, ToolClass.CHANGE, _KEYED)
    with pytest.raises(Died):
        await stage.run()
    assert stage.statuses == ["resend"]
    stage.turns.die_before = None
    return stage, office


@each_row("later", [schema("[claim_id]"), schema(closed=True)])
async def test_a_server_that_no_longer_takes_our_key_gets_nothing_again(later: JsonObject) -> None:
    stage, office = await _died_before_its_resend()
    stage.servers.add("approve_claim", office.approve, ToolClass.CHANGE, later)
    await stage.ends(WAITS, attempts=2)
    assert (stage.statuses, len(office.keys)) == (["in_doubt"], 1)


@each_row("servers_down", [True, False])
async def test_a_run_that_ends_before_its_resend_leaves_the_doubt_as_it_was(servers_down: bool) -> None:
    stage, office = await _died_before_its_resend()
    if servers_down:
        stage.servers.go_down("office")
        await stage.ends(WAITS, attempts=2)
        assert stage.statuses == ["in_doubt"]
    await stage.ends(TaskState.CANCELED, turn=cancel())
    assert (stage.statuses, len(office.keys)) == (["in_doubt"], 1)


async def test_the_approver_is_told_of_our_key_and_a_plan_that_fills_it_is_asked_for_again() -> None:
    stage, _ = keyed()
    stage.policy.says = {"requires_approval": True}
    await stage.ends(WAITS, says="[sent with a key of ours in once]")
    filling, office = keyed()
    filling.talk.rounds[1:] = [[use("approve_claim", claim_id="C-1", once="mine")]] * 4
    await filling.ends(TaskState.FAILED, why="not for you to fill")
    assert office.keys == []
