"""`purple bench throughput`, and the floor of `purple bench overhead`: their model, and what their figures miss."""

import json

import pytest

from tests.each_row import each_row
from tools.bench.canned.replies import UncannedTask, reply_to
from tools.bench.overhead.load import overhead
from tools.bench.throughput.command import missed_targets
from tools.bench.throughput.load import CellFigures, LoadCell, ThroughputPlan, measure

_RECORD = '{"id": "EXP-7", "amount": "160.95", "department": "Operations", "status": "pending"}'
_OURS = CellFigures("ours, 1 executor(s)", 0.0, 64, 192, 80.0, 1.0, 2.0, 100.0, 10.0, 50.0, 1.0)


def _reply(*contents: object, ours: bool = True) -> list[dict[str, object]]:
    """``contents``: of the user's and the assistant's messages in turn."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]
    tools = [{"name": name} for name in ("get_expense", *(["understand"] if ours else []))]
    reply = json.loads(reply_to(json.dumps({"model": "m", "tools": tools, "messages": messages}).encode()))
    return list(reply["content"])


@pytest.mark.promise("bench.throughput")
def test_a_question_is_read_once_and_answered_with_what_was_read() -> None:
    asked = "What is the amount of expense claim EXP-7?"
    first = _reply(asked)
    assert [block["name"] for block in first] == ["understand", "get_expense"]
    assert [block["name"] for block in _reply(asked, ours=False)] == ["get_expense"]
    read = [{"type": "tool_result", "tool_use_id": "1", "content": _RECORD}]
    assert _reply(asked, first, read)[0]["text"] == "The amount of EXP-7 is 160.95."


@pytest.mark.promise("bench.throughput")
def test_the_task_is_taken_from_its_section_and_not_from_what_is_known_of_others() -> None:
    known = "What is the amount of expense claim EXP-1?"
    first = _reply(f"{known}\n<task>\nApprove expense claim EXP-7.\n</task>")
    assert [block["input"] for block in first][1] == {"expense_id": "EXP-7"}
    with pytest.raises(UncannedTask):
        _reply("Water the plants.")


@pytest.mark.promise("bench.throughput")
@each_row(
    ("cells", "missed"),
    [
        ([_OURS], []),
        ([_OURS._replace(a_second=10.0)], ["64 reads at once: 10.0 a second"]),
        ([_OURS._replace(latency=30.0, memory_mb=900.0, idle_percent=17.0)], ["64 held: 900 MB", "64 held: 17.0 %"]),
        ([_OURS._replace(latency=1.0, a_second=8.0), _OURS._replace(latency=1.0, a_second=9.0)], ["two executors"]),
        ([_OURS._replace(latency=1.0), _OURS._replace(latency=1.0, cpu_percent=80.0)], ["one and two executors: not"]),
        ([_OURS._replace(subject="bare loop", a_second=1.0)], []),
    ],
)
def test_a_target_that_is_missed_is_named(cells: list[CellFigures], missed: list[str]) -> None:
    found = missed_targets(cells)
    assert len(found) == len(missed)
    assert all(sentence.startswith(start) for sentence, start in zip(found, missed, strict=True))


@pytest.mark.long
@pytest.mark.promise("bench.throughput")
async def test_our_stack_and_a_bare_loop_are_measured_on_the_same_tasks() -> None:
    ours, bare = await measure(ThroughputPlan([LoadCell(0.0, 2, 2)], bound=0, held=0, langgraph=False), cores=2)
    assert (ours.subject, bare.subject) == ("ours, 1 executor(s)", "bare loop on the SDKs")
    assert ours.a_second > 0
    assert bare.memory_mb > 0


@pytest.mark.promise("bench.overhead")
@pytest.mark.long
async def test_each_task_is_measured_beside_the_least_that_it_can_cost() -> None:
    measured = await overhead(3, 1, "fsm")
    assert measured.floor.keys() == {"read", "write"}
    assert all(measured.kinds[name].redis_round_trips > floor.round_trips for name, floor in measured.floor.items())
