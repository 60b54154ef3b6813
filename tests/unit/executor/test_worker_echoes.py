"""Servers that answer "ok" to anything: no source of figures, no proof, and no proof against one either."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.unit.executor.stage import Stage


def echoing(tool: str, given: JsonObject) -> Json:
    return {"status": "ok", "tool": tool, "params": given}


@pytest.mark.promise("tools.echoes")
async def test_a_read_that_only_repeats_the_call_is_no_source_of_a_figure() -> None:
    """Else a model could launder an invented amount through it."""
    stage = Stage("Set the limit")
    stage.servers.add("look_up_limit", lambda given: echoing("look_up_limit", given))
    stage.servers.add("set_limit", lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.talk.rounds = [[("look_up_limit", {"amount": "98765.00"})], *[[("set_limit", {"amount": "98765.00"})]] * 4]
    record = await stage.run()
    assert record.state is TaskState.FAILED
    assert "98765.00 (amount) stands neither in the task nor in a result" in (record.reason or "")
    assert stage.servers.called("set_limit") == []


@pytest.mark.promise("tools.echoes")
@pytest.mark.parametrize(("applies", "status"), [(True, "verified"), (False, "unverified")])
async def test_the_read_back_decides_and_not_the_echo(applies: bool, status: str) -> None:
    stage = Stage()

    def approve(given: JsonObject) -> Json:
        if applies:
            stage.claims.approve(given)
        return echoing("approve_claim", given)

    stage.servers.add("approve_claim", approve, ToolClass.CHANGE)
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.COMPLETED, [status])
    assert stage.servers.called("approve_claim") == [{"claim_id": "C-1"}]
