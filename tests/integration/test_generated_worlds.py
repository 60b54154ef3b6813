"""The worker and the planner in worlds that nobody wrote code for.

Computations and writes, answers that are lists, lists that come in parts, a write for each of many, two look-ups.
"""

from collections import Counter

import pytest

from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import load_prompts
from services.executor.core.tools.classes import classify_tool
from services.executor.core.turn.worker import Worker
from services.executor.ports.tools import ToolAnswer
from shared.domain.exact_json import Json, JsonObject, to_exact
from shared.domain.words import Strategy, TaskState
from shared.ports.models import Model, ToolDefinition
from tests.doubles.fake_tool_servers import FakeToolServers, Handler
from tests.doubles.generated_tools import World
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import MemoryTurns
from tests.integration.planner_server import model_at, planner_server
from tests.unit.executor.stage import OneTenant, SaidPolicy, message, new_record, office

SEEDS, SAMPLE = range(100), range(12)
AT_LEAST = 0.8


@pytest.mark.promise("planner.generated_worlds")
@pytest.mark.parametrize("seeds", [SAMPLE, pytest.param(SEEDS, marks=pytest.mark.long)])
async def test_most_tasks_of_generated_worlds_are_carried_out(seeds: range, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the seeds at least 80 % end as asked, through all states of the worker; none ends with a wrong write."""
    async with planner_server() as url, model_at(url) as model:
        ends = {seed: await _end_of(World(seed), model) for seed in seeds}
    exact = [seed for seed, end in ends.items() if not end]
    kinds = Counter(World(seed).task.kind for seed in exact)
    with capsys.disabled():
        print(f"\ngenerated worlds carried out exactly: {len(exact)} of {len(seeds)}: {dict(kinds)}")  # noqa: T201
    assert len(exact) >= AT_LEAST * len(seeds), {seed: end for seed, end in ends.items() if end}


@pytest.mark.long
@pytest.mark.promise("strategy.three")
@pytest.mark.parametrize("strategy", [Strategy.FIVE_PHASE, Strategy.MOA])
async def test_every_strategy_carries_out_most_tasks_of_generated_worlds(strategy: Strategy) -> None:
    limits = Limits(strategies=(strategy,))
    async with planner_server() as url, model_at(url) as model:
        ends = {seed: await _end_of(World(seed), model, limits) for seed in SEEDS}
    assert sum(not end for end in ends.values()) >= AT_LEAST * len(SEEDS)


async def _end_of(world: World, model: Model, limits: Limits | None = None) -> list[str]:
    """What is not as asked at the end; empty if the task was completed exactly."""
    turns = MemoryTurns(new_record(world.task.text))
    ports = Ports(model, _servers(world), SaidPolicy(), OneTenant(office()), MemoryLearned())
    await Worker(ports, limits or Limits(), load_prompts()).run(turns.work(message(world.task.text)), turns)
    ended = turns.record
    said = [] if ended.state is TaskState.COMPLETED else [f"{ended.state}: {ended.reason}"]
    return [*said, *world.problems(ended.answer or "")]


def _servers(world: World) -> FakeToolServers:
    servers = FakeToolServers()
    for tool in (*world.readers, *world.writers):
        tool_class, _ = classify_tool(tool.name, None, None)
        servers.add(tool.name, _handler(world, tool), tool_class, _schema(tool), tool.description)
    return servers


def _handler(world: World, tool: ToolDefinition) -> Handler:
    def handle(given: JsonObject) -> "Json | ToolAnswer":
        try:
            return world.call(tool.name, given)
        except ValueError as refusal:
            return ToolAnswer({"error": str(refusal)}, is_error=True)

    return handle


def _schema(tool: ToolDefinition) -> JsonObject:
    schema = to_exact(tool.input_schema)
    assert isinstance(schema, dict)
    return schema
