"""Our key in a call: a server that honours it may get a lost call again, a bounded number of times (I3)."""

import pytest

from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import Calls
from tests.each_row import each_row
from tests.unit.executor.stage import Stage, cancel
from tests.unit.executor.test_worker_doubts import word

_KEYED: JsonObject = {
    "type": "object",
    "properties": {"claim_id": {"type": "string"}, "once": {"type": "string"}},
    "required": ["claim_id"],
    "additionalProperties": False,
}


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
    read_back: bool = True, schema: JsonObject = _KEYED, lost_before: int = 0, lost_after: int = 0
) -> tuple[Stage, KeyedOffice]:
    stage = Stage()
    office = KeyedOffice(stage, lost_before, lost_after)
    entry = CatalogueEntry(idempotency_field="once")
    connection = Connection(id="office", url="http://office", catalogue={"approve_claim": entry})
    stage.tenants.record = TenantRecord(id="acme", unruled_writes="allow", connections=(connection,))
    stage.servers.add("approve_claim", office.approve, ToolClass.CHANGE, schema)
    if not read_back:
        stage.cannot_read()
    return stage, office


@pytest.mark.promise("I3.our_key")
@pytest.mark.parametrize(("before", "after"), [(1, 0), (2, 0), (1, 1)])
@pytest.mark.parametrize("read_back", [True, False])
async def test_a_lost_call_is_sent_again_under_the_same_key_and_applied_once(
    before: int, after: int, read_back: bool
) -> None:
    stage, office = keyed(read_back, lost_before=before, lost_after=after)
    await stage.ends(TaskState.COMPLETED, ["C-1"])
    assert len(set(office.keys)) == 1
    assert stage.statuses == ["verified" if read_back else "unverified"]


@pytest.mark.promise("I3.our_key")
async def test_the_key_is_the_ledgers_and_no_part_of_the_planned_arguments() -> None:
    stage, office = keyed()
    await stage.run()
    (entry,) = stage.turns.writes.values()
    assert office.keys == [entry.key]
    assert (entry.arguments_json, entry.idempotency_field) == ('{"claim_id":"C-1"}', "once")


@pytest.mark.promise("I3.our_key")
async def test_a_key_that_the_server_requires_is_still_ours_to_fill() -> None:
    stage, office = keyed(schema={**_KEYED, "required": ["claim_id", "once"]})
    record = await stage.run()
    (entry,) = stage.turns.writes.values()
    assert (record.state, office.keys) == (TaskState.COMPLETED, [entry.key])
    offered = next(tool for tool in stage.model.requests[0].tools if tool.name == "approve_claim")
    assert offered.input_schema["required"] == ["claim_id"]


@pytest.mark.promise("I4.unread_errors")
async def test_a_resend_that_is_refused_says_nothing_of_the_sending_that_was_lost() -> None:
    stage, office = keyed(read_back=False)

    def lost_and_then_refused(given: JsonObject) -> ToolAnswer:
        office.keys.append(str(given["once"]))
        if len(office.keys) == 1:
            raise ToolSilent("cut off")
        return ToolAnswer("closed by now", is_error=True, not_begun=True)

    stage.servers.add("approve_claim", lost_and_then_refused, ToolClass.CHANGE, _KEYED)
    record = await stage.run()
    assert (record.state, stage.statuses, len(office.keys)) == (TaskState.INPUT_REQUIRED, ["in_doubt"], 2)


@pytest.mark.promise("I3.our_key")
async def test_resends_are_bounded_and_then_an_operator_is_asked() -> None:
    stage, office = keyed(lost_before=10)
    record = await stage.run()
    assert (record.state, stage.statuses, len(office.keys)) == (TaskState.INPUT_REQUIRED, ["absent"], 3)
    left = await stage.run(word(stage, "skip"))
    assert (left.state, len(office.keys)) == (TaskState.FAILED, 3)


@pytest.mark.promise("I3.our_key")
async def test_a_field_that_the_tool_does_not_have_permits_no_resend() -> None:
    plain: JsonObject = {**_KEYED, "properties": {"claim_id": {"type": "string"}}}
    stage, office = keyed(schema=plain, lost_before=1)
    record = await stage.run()
    assert (record.state, stage.statuses, office.keys) == (TaskState.INPUT_REQUIRED, ["absent"], ["None"])


@pytest.mark.promise("I3.our_key")
async def test_a_resend_that_finds_no_server_stays_in_doubt() -> None:
    stage, office = keyed()

    def lost_then_gone(given: JsonObject) -> Json:
        office.keys.append(str(given["once"]))
        if len(office.keys) == 1:
            raise ToolSilent("cut off")
        raise ToolUnreachable("connection refused")

    stage.servers.add("approve_claim", lost_then_gone, ToolClass.CHANGE, _KEYED)
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["in_doubt"])


@pytest.mark.promise("I3.our_key")
async def test_dying_at_any_step_of_a_resend_applies_the_write_once() -> None:
    whole, _ = keyed(lost_before=1)
    await whole.run()
    for step in range(whole.turns.stored):
        stage, office = keyed(lost_before=1)
        await stage.dies(step)
        record = await stage.run(attempts=2)
        assert (record.state, stage.claims.applied, stage.statuses) == (TaskState.COMPLETED, ["C-1"], ["verified"]), (
            step
        )
        assert len(set(office.keys)) == 1, step


@pytest.mark.promise("I3.our_key")
@each_row(
    "later",
    [
        {"type": "object", "properties": {"claim_id": {"type": "string"}}},
        {"type": "object", "properties": {}, "additionalProperties": False},
    ],
)
async def test_a_server_that_no_longer_takes_our_key_gets_nothing_again(later: JsonObject) -> None:
    stage, office = keyed(lost_before=1)
    sending = office.approve

    def dies(given: JsonObject) -> Json:
        try:
            return sending(given)
        except ToolSilent:
            stage.turns.die_before = stage.turns.stored + 1  # the loss is settled, the resend is not begun
            raise

    stage.servers.add("approve_claim", dies, ToolClass.CHANGE, _KEYED)
    with pytest.raises(Died):
        await stage.run()
    assert stage.statuses == ["resend"]
    stage.turns.die_before = None
    stage.servers.add("approve_claim", sending, ToolClass.CHANGE, later)
    record = await stage.run(attempts=2)
    assert (record.state, stage.statuses, len(office.keys)) == (TaskState.INPUT_REQUIRED, ["in_doubt"], 1)


@pytest.mark.promise("I3.our_key")
@each_row("servers_down", [True, False])
async def test_a_run_that_ends_before_its_resend_leaves_the_doubt_as_it_was(servers_down: bool) -> None:
    stage, office = keyed(lost_before=1)

    def lost(given: JsonObject) -> Json:
        stage.turns.die_before = stage.turns.stored + 1
        return office.approve(given)

    stage.servers.add("approve_claim", lost, ToolClass.CHANGE, _KEYED)
    with pytest.raises(Died):
        await stage.run()
    assert stage.statuses == ["resend"]
    stage.turns.die_before = None
    if servers_down:
        stage.servers.go_down("office")
        record = await stage.run(attempts=2)
        assert (record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["in_doubt"])
    record = await stage.run(cancel())
    assert (record.state, stage.statuses, len(office.keys)) == (TaskState.CANCELED, ["in_doubt"], 1)


async def test_the_model_is_not_shown_the_argument_that_is_ours_to_fill() -> None:
    stage, _ = keyed()
    await stage.run()
    (approve,) = [tool for tool in stage.model.requests[0].tools if tool.name == "approve_claim"]
    assert "claim_id" in str(approve.input_schema)
    assert "once" not in str(approve.input_schema)


async def test_the_approver_is_told_of_our_key() -> None:
    stage, _ = keyed()
    stage.policy.says = {"requires_approval": True}
    record = await stage.run()
    assert "[sent with a key of ours in once]" in (record.answer or "")


async def test_a_plan_that_fills_our_argument_is_asked_for_again() -> None:
    stage, office = keyed()
    filled: Calls = [("approve_claim", {"claim_id": "C-1", "once": "mine"})]
    stage.talk.rounds[1:] = [filled] * 4
    record = await stage.run()
    assert (record.state, office.keys) == (TaskState.FAILED, [])
    assert "not for you to fill" in (record.reason or "")
