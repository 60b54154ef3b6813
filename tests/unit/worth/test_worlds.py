"""The generated worlds: the same from the same seed, apart from each other, and as varied as they say."""

import json
import re
from datetime import date

import pytest

from tests.each_row import each_row
from tools.bench.worth.judge import same_state
from tools.bench.worth.worlds.data import ServerRefusal, TableRow
from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.world import ForeignWorld


def describe(task: WorthTask) -> str:
    snapshot = task.world.snapshot()
    return repr((task.text, task.parts, task.rounds, task.answer, task.world.tools, task.world.tenant, snapshot))


def list_ids(world: ForeignWorld) -> set[str]:
    return {key for table in world.blueprint.form.kinds for row in world.rows(table) if (key := str(first(row)))}


def first(row: TableRow) -> object:
    return next(iter(row.values()))


def test_a_seed_makes_the_same_worlds_each_time_for_the_day_that_is_given() -> None:
    assert [describe(task) for task in generate_tasks(5)] == [describe(task) for task in generate_tasks(5)]
    tasks = generate_tasks(1, date(2027, 11, 30))

    assert {task.world.blueprint.today for task in tasks} == {date(2027, 11, 30)}


@pytest.mark.parametrize("seed", [*range(1, 4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 21))])
def test_the_gold_is_carried_out_without_a_refusal(seed: int) -> None:
    for task in generate_tasks(seed):
        assert len(task.right_end.writes) == sum(call.writes for call in task.calls()), task.id


@each_row("seed", [1, 2])
def test_every_part_is_a_quote_of_the_text(seed: int) -> None:
    for task in generate_tasks(seed):
        assert task.parts
        assert all(part.quote in task.text for part in task.parts), task.id
        assert all(0 <= call.part < len(task.parts) for call in task.calls()), task.id


@each_row("seed", [1, 2])
def test_no_id_of_a_world_stands_in_the_task_of_another(seed: int) -> None:
    tasks = generate_tasks(seed)
    words = {task.id: set(re.findall(r"[\w/-]+", f"{task.text} {task.rounds}")) for task in tasks}
    for world in {task.domain: task.world for task in tasks}.values():
        ids = list_ids(world)
        foreign = [task.id for task in tasks if task.world is not world and ids & words[task.id]]
        assert not foreign


def test_the_order_of_a_round_makes_no_difference_to_its_end() -> None:
    for task in generate_tasks(4):
        world = task.world.copy()
        for calls in task.rounds:
            for call in reversed(calls):
                world.call(call.tool, call.arguments)
        assert same_state(world.snapshot(), task.right_end), task.id


def test_copies_of_a_world_share_nothing() -> None:
    task = next(task for task in generate_tasks(1) if task.right_end.writes)
    before = task.world.snapshot()

    copy = task.world.copy()
    for call in task.calls():
        copy.call(call.tool, call.arguments)

    assert task.world.snapshot() == before
    assert copy.snapshot() != before


def test_what_a_server_does_not_take_is_refused_with_a_text() -> None:
    task = next(task for task in generate_tasks(1) if any(call.writes for call in task.calls()))
    call = next(call for call in task.calls() if call.writes)

    with pytest.raises(ServerRefusal, match="unknown argument"):
        task.world.copy().call(call.tool, {**call.arguments, "surprise": 1})
    with pytest.raises(ServerRefusal, match="missing"):
        task.world.copy().call(call.tool, {})
    with pytest.raises(ServerRefusal, match="Unknown tool"):
        task.world.copy().call("no_such_tool", {})


def test_the_tenant_record_is_plain_data_and_its_rules_name_tools_that_exist() -> None:
    for task in generate_tasks(6):
        tenant = json.loads(json.dumps(task.world.tenant))
        names = {tool.name for tool in task.world.tools}
        tools = [
            re.match(r'tool == "([^"]+)"', rule["condition"]) for each in tenant["policies"] for rule in each["rules"]
        ]
        assert tools
        assert all(found and found[1] in names for found in tools)
        assert set(tenant["tools"]) <= names


def test_a_field_that_a_rule_names_stands_in_what_the_server_shows_or_takes() -> None:
    for task in generate_tasks(7):
        blueprint = task.world.blueprint
        for rule in blueprint.rules:
            if rule.table:
                shown = str(blueprint.form.show_row(rule.table, task.world.rows(rule.table)[0]))
                assert f"'{blueprint.form.show_field(rule.table, rule.field)}'" in shown
            else:
                params = blueprint.operations[rule.operation].params
                assert rule.field in {param.name for param in params}
