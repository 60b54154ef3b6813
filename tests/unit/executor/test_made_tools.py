"""Tools made at run time: asked for twice, judged by independent cases, used by ``calculate``, signed, replayable."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from services.executor.adapters.made_tools import MontySandbox
from services.executor.core.session.dossier import Progress
from services.executor.core.session.journal import restore_latest_progress
from services.executor.ports.services import NoSandbox
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_model import json_reply
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.made_stage import (
    CASES,
    FUNCTION,
    ChangingSandbox,
    MadeStage,
    by_planner,
    cases,
    offers_made_tool,
)
from tests.unit.executor.stage import APPROVE, READ, decision, office


@pytest_asyncio.fixture
async def stage() -> AsyncIterator[MadeStage]:
    async with MontySandbox() as sandbox:
        yield MadeStage(sandbox)


async def _last(stage: MadeStage) -> Progress:
    found = restore_latest_progress(await stage.turns.read_journal())
    assert found is not None
    return found


async def _made_notes(stage: MadeStage) -> str:
    return str((await _last(stage)).notes["made_tools"])


@pytest.mark.promise("made.off", "parts.optional")
@each_row("is_wanted", [True, False])
async def test_nothing_is_made_unless_the_tenant_says_so_or_without_the_part(stage: MadeStage, is_wanted: bool) -> None:
    without = MadeStage(NoSandbox()) if is_wanted else MadeStage(stage.sandbox)
    if not is_wanted:
        without.tenants.record = office()
    await without.ends(TaskState.COMPLETED)
    assert not without.asked("MAKE TOOL")
    assert not without.asked("TOOL GAP")
    assert not any(offers_made_tool(tool) for request in without.model.requests for tool in request.tools)
    assert "unknown operation 'net_margin'" in without.refused[0]


@pytest.mark.promise("made.used", "made.replayable")
async def test_a_formula_of_the_task_becomes_an_operation_whose_values_are_signed_and_journaled(
    stage: MadeStage,
) -> None:
    """With the code that gave them; a replay needs neither sandbox nor model."""
    await stage.ends(TaskState.COMPLETED)
    (value,), (tool,) = (await _last(stage)).dossier.values, stage.made.tools["acme"]
    assert (value.value, value.made_by) == ("36.000000", tool.reference)
    assert (await _last(stage)).dossier.made == (tool,)
    await assert_replayed(stage)
    kept = {entry.key: entry.data_json for entry in await stage.turns.read_journal()}
    results = [loads_object(data)["value"] for key, data in kept.items() if ":made:" in key]
    assert results == ["36.00"] * 2, "the call, and the audit that works it out again"
    assert any(FUNCTION.split("\\n")[0].partition("(")[0] in kept[key] for key in kept if key.endswith(":tools"))


@pytest.mark.promise("made.independent")
async def test_function_and_cases_are_asked_for_apart_and_neither_sees_the_other(stage: MadeStage) -> None:
    await stage.run()

    (write,), (judge,) = stage.asked("MAKE TOOL"), stage.asked("TOOL CASES")
    assert write.system[-1] != judge.system[-1]
    assert "def net_margin" not in str(judge.messages)
    assert "66.666667" not in str(write.messages)


@pytest.mark.promise("made.independent")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((*CASES[:2], (("3", "1"), "66.7")), "an independent case says 66.7"),
        ((*CASES[:2], (("3", "1"), "33.333333")), "an independent case says"),
        (CASES[:2], "3 to 8 cases are needed"),
        ((*CASES, CASES[0]), "stands there twice"),
        (tuple((inputs, "40") for inputs, _ in CASES), "come to the same"),
        ((*CASES[:2], (("3",), "1")), "a case has 1 figures"),
        ((*CASES[:2], (("3", "1"), "1E+999999")), "too long"),
        ((*CASES[:2], (("3", "x"), "1")), "no decimal"),
        ((*CASES[:2], (("0", "1"), "1.5")), "fails on 0, 1"),
    ],
)
async def test_cases_that_do_not_come_out_or_prove_nothing_keep_the_tool_out(
    stage: MadeStage, given: tuple[tuple[tuple[str, ...], str], ...], why: str
) -> None:
    stage.talk.helpers["tool_cases"] = cases(given)

    await stage.ends(TaskState.COMPLETED)
    assert not stage.made.tools["acme"]
    assert why in await _made_notes(stage)
    assert not (await _last(stage)).dossier.values
    assert "unknown operation 'net_margin'" in stage.refused[0]


@pytest.mark.promise("made.audited")
async def test_a_value_that_the_tool_does_not_give_again_is_refused(stage: MadeStage) -> None:
    """The audit before the plan works it out in the sandbox anew, and believes nothing that was worked out before."""
    stage.sandbox = ChangingSandbox(stage.sandbox, right=2 * len(CASES) + 1)

    record = await stage.run()

    assert record.state is not TaskState.COMPLETED
    assert "audit" in (record.reason or "")
    assert "net_margin" in (record.reason or "")
    assert stage.claims.applied == []


@pytest.mark.promise("made.shadow")
async def test_a_made_tool_never_takes_the_name_of_a_servers_tool(stage: MadeStage) -> None:
    stage.servers.add("net_margin", stage.claims.get, ToolClass.READ)

    await stage.run()

    assert not stage.made.tools["acme"]
    assert not stage.asked("MAKE TOOL")


@pytest.mark.promise("made.kept", "made.removed")
async def test_a_kept_tool_is_used_again_and_nobody_is_asked_and_code_that_was_removed_never_comes_back(
    stage: MadeStage,
) -> None:
    await stage.run()
    again, removed, tool = MadeStage(stage.sandbox), MadeStage(stage.sandbox), stage.made.tools["acme"][0]
    again.made = stage.made
    await again.ends(TaskState.COMPLETED)
    assert not again.asked("MAKE TOOL")
    assert (await _last(again)).dossier.values[0].made_by == tool.reference
    removed.made.tools["acme"] = [tool.copy_as_removed(tool.made_at, "olga")]
    await removed.run()
    assert len(removed.made.tools["acme"]) == 1
    assert "removed by an operator" in await _made_notes(removed)


@pytest.mark.promise("made.gap")
async def test_a_gap_that_only_a_model_sees_is_asked_about_once(stage: MadeStage) -> None:
    text = "Approve claim C-1 of 120.50 after working out what share of the yearly ceiling is left over for all others."
    quiet = MadeStage(stage.sandbox, text)
    spec: JsonObject = {
        "name": "net_margin",
        "purpose": "share left",
        "arguments": ["revenue", "cost"],
        "result": "ratio",
    }
    quiet.talk.helpers["tool_gap"] = json_reply({"gaps": [spec]})
    quiet.talk.rounds = [[READ], [APPROVE]]

    await quiet.run()

    assert len(quiet.asked("TOOL GAP")) == 1
    assert [tool.name for tool in quiet.made.tools["acme"]] == ["net_margin"]


@pytest.mark.promise("made.needs_a_model", "planner.made_tools")
async def test_with_the_rule_based_planner_a_stated_formula_is_made_used_and_signed(stage: MadeStage) -> None:
    """Without any model: it writes the function, judges it by figures of its own, and asks it."""
    stage.thinks = by_planner

    await stage.ends(TaskState.COMPLETED)
    (value,) = (await _last(stage)).dossier.values
    assert (value.operation, value.value) == ("net_margin", "36.000000")
    assert value.made_by == stage.made.tools["acme"][0].reference


@pytest.mark.promise("made.replayable")
@pytest.mark.parametrize("die_before", range(3, 11))
async def test_a_worker_that_dies_on_the_way_pays_for_no_tool_twice(stage: MadeStage, die_before: int) -> None:
    """Wherever it dies, another one comes to the same value by the same code, and the run can be replayed."""
    await stage.dies(die_before)

    await stage.run(attempts=2)

    await assert_replayed(stage)
    assert [value.value for value in (await _last(stage)).dossier.values] == ["36.000000"]
    assert len(stage.made.tools["acme"]) == 1
    assert len(stage.asked("MAKE TOOL")) <= 2, "a reply that was lost before it was stored is asked for again"


@pytest.mark.promise("made.audited")
async def test_after_an_approval_the_value_is_worked_out_again_from_fresh_facts(stage: MadeStage) -> None:
    """By the code that the plan was approved with, although the tool was removed meanwhile."""
    stage.change_tenant(unruled_writes="approve")
    await stage.run()
    stage.made.tools.clear()

    await stage.ends(TaskState.COMPLETED, turn=decision("approve"))
    again = [
        entry.key for entry in await stage.turns.read_journal() if ":again:" in entry.key and ":made:" in entry.key
    ]
    assert len(again) == 1
    await assert_replayed(stage)
