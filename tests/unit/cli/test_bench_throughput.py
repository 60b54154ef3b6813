"""What `purple bench` makes of what it measured: throughput, capacity, the gateway, overhead, scale."""

import json

import pytest

from tests.each_row import each_row
from tools.bench.canned.replies import reply_to
from tools.bench.capacity.burst import BurstFigures
from tools.bench.capacity.command import missed_targets as missed_of_capacity
from tools.bench.gateway.load import Beside, GatewayFigures, OpenStreams, Plan, RequestRates, Streaming, measure_gateway
from tools.bench.overhead.command import OURS, missed_targets as missed_of_overhead
from tools.bench.overhead.load import OverheadFigures, measure_overhead
from tools.bench.overhead.spending import Costs, OfRedis, Spent, idle_costs, task_costs
from tools.bench.scale.command import measure_scale
from tools.bench.scale.growth import Growth
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
@each_row(
    ("cells", "missed"),
    ([_OURS], []),
    ([_OURS._replace(a_second=10.0)], ["64 reads at once: 10.0 a second"]),
    ([_OURS._replace(latency=30.0, memory_mb=900.0, idle_percent=17.0)], ["64 held: 900 MB", "64 held: 17.0 %"]),
    ([_OURS._replace(latency=1.0, a_second=8.0), _OURS._replace(latency=1.0, a_second=9.0)], ["two executors"]),
    ([_OURS._replace(latency=1.0), _OURS._replace(latency=1.0, cpu_percent=80.0)], ["one and two executors: not"]),
    ([_OURS._replace(subject="bare loop", a_second=1.0)], []),
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
    measured = await measure_overhead(3, 1, "fsm")
    assert measured.floor.keys() == {"read", "write"}
    assert all(measured.kinds[name].redis_round_trips > floor.round_trips for name, floor in measured.floor.items())


WELL = BurstFigures(
    sent=600,
    accepted=600,
    refused=0,
    seconds_to_send=1.0,
    seconds_to_drain=60.0,
    wakes_a_task=1.0,
    slots_used=0.9,
    cores_used=0.2,
    most_waiting=580,
    quiet_tasks=40,
    quiet_begun_median=0.1,
    quiet_begun_most=0.3,
    quiet_ended_most=1.5,
    warnings={},
)


@pytest.mark.promise("bench.capacity")
@each_row(
    ("figures", "named"),
    (WELL, ()),
    (WELL._replace(wakes_a_task=1.3), ("wakes",)),
    (WELL._replace(quiet_begun_most=2.0), ("another tenant",)),
    (WELL._replace(slots_used=0.5), ("slots",)),
    (WELL._replace(slots_used=0.5, cores_used=0.95), ()),
    (WELL._replace(slots_used=0.0, most_waiting=0), ()),
)
def test_each_missed_target_is_named(figures: BurstFigures, named: tuple[str, ...]) -> None:
    missed = missed_of_capacity(figures)
    assert len(missed) == len(named)
    assert all(word in sentence for word, sentence in zip(named, missed, strict=True))


_SDK = RequestRates(a_second=1000, limit_p99_ms=9, cpu_ms=1, p50_ms=1, p99_ms=8, client_percent=1)


def _figures(ours: RequestRates) -> GatewayFigures:
    even = Beside(_SDK._replace(a_second=5000, p99_ms=1), _SDK, 800)
    held = OpenStreams(1, 1, 1)
    return GatewayFigures(Beside(ours, _SDK, 800), even, Streaming(1, 1), Streaming(1, 1), held, load=0)


@pytest.mark.promise("bench.gateway")
@each_row(
    ("ours", "missed"),
    (_SDK._replace(a_second=2000, p99_ms=2), []),
    (_SDK._replace(a_second=1900, p99_ms=2), ["GetTask: 1.90 times"]),
    (_SDK._replace(a_second=2000, p99_ms=3), ["GetTask: p99 at 800/s is 0.38"]),
)
def test_a_target_of_the_gateway_that_is_missed_is_named(ours: RequestRates, missed: list[str]) -> None:
    found = _figures(ours).missed
    assert len(found) == len(missed)
    assert all(sentence.startswith(start) for sentence, start in zip(found, missed, strict=True))


@pytest.mark.long
@pytest.mark.promise("bench.gateway")
async def test_both_servers_answer_all_that_is_measured() -> None:
    figures = await measure_gateway(Plan(rounds=1, seconds=0.2, open_streams=3))
    rates = (*figures.get_task[:2], *figures.accept[:2])
    assert all(rate.a_second > 0 and rate.p99_ms > 0 for rate in rates)
    assert figures.ours_streaming.a_second > 0
    assert figures.held.streams == 3


_NAMES = (*OURS, "planner", "company")


def _spent(at: float, cpu_ms: float, reads: int, memory: int) -> Spent:
    return Spent(at, dict.fromkeys(_NAMES, cpu_ms), OfRedis(0, reads, 2 * reads, memory, 0), OfRedis(0, reads, 0, 0, 0))


def _costs(cpu_ms: float) -> Costs:
    return Costs(dict.fromkeys(_NAMES, cpu_ms), 0, 0, 0, 0, 0, 0)


@pytest.mark.promise("bench.overhead")
def test_a_task_costs_what_was_spent_beyond_idleness() -> None:
    """10 idle seconds cost 20 ms and 50 round trips; 5 tasks in 10 seconds 70 ms and 150."""
    start, rested, worked = _spent(0, 0, 0, 0), _spent(10, 20, 50, 0), _spent(20, 90, 200, 5000)

    idle = idle_costs(start, rested)
    costs = task_costs(rested, worked, idle, 5)

    assert (idle.cpu_ms["gateway"], idle.redis_round_trips) == (2, 5)
    assert (costs.cpu_ms["gateway"], costs.redis_round_trips, costs.redis_memory_bytes) == (10, 20, 1000)


@pytest.mark.promise("bench.overhead")
def test_a_target_that_is_missed_is_named_and_others_costs_do_not_count() -> None:
    dear = _costs(100)
    elsewhere = Costs({name: 0.0 if name in OURS else 9_999.0 for name in _NAMES}, 0, 0, 0, 0, 0, 0)

    missed = missed_of_overhead(OverheadFigures(1, 1, _costs(0), {"read": dear, "write": elsewhere}, {}))

    assert [sentence.split(":")[0] for sentence in missed] == ["read"]


@pytest.mark.promise("bench.overhead")
@pytest.mark.parametrize(("sdk_ms", "target"), [(1.0, "12"), (1.1, "16")])
def test_a_slow_machine_is_told_by_the_sdk_and_has_wider_targets(sdk_ms: float, target: str) -> None:
    figures = OverheadFigures(1, 1, _costs(0), {"read": _costs(100), "write": _costs(0)}, {}, sdk_ms=sdk_ms)

    [missed, *_] = missed_of_overhead(figures)

    assert missed.endswith(f"ms of CPU a task, target at most {target}")


@pytest.mark.promise("bench.scale")
def test_a_fifth_more_is_flat_and_more_is_not() -> None:
    assert Growth("rules", "a verdict", 1, 2, 1.0, 1.2).is_flat
    assert not Growth("rules", "a verdict", 1, 2, 1.0, 1.3).is_flat


@pytest.mark.promise("bench.scale")
async def test_everything_that_grows_is_measured_few_and_many() -> None:
    grown = [one async for one in measure_scale(divided=500, repeats=3)]
    assert len({(one.of, one.doing) for one in grown}) == 9
    assert all(one.small < one.large and one.small_ms > 0 for one in grown)
