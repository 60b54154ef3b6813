"""Whole tasks in plain words through the real worker: what the planner, the engine and the rules come to together."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import structlog

from cli.gateway.messages import Event, TaskView
from examples.demo.books import BooksSnapshot, DemoTask, DemoTurn
from examples.demo.checks import ObservedTask, find_problems
from examples.demo.script import TASKS as DEMO
from shared.contracts.task import Principal, TaskEvent
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import Role, Strategy
from tests.planner_tasks.company_tasks import CONDITIONED, ENGLISH, FOREIGN, VARIED
from tests.planner_tasks.judged_courses import Judged, Verdict, judge
from tests.planner_tasks.task import PlainTask
from tests.planner_tasks.through_worker import Course, Office

pytestmark = pytest.mark.promise("planner.plain_words")

_WIDE = 300  # further tools, with which a catalogue is too long for a line a tool
_OF_THE_DEMO = (
    Strategy.MOA,
    *(pytest.param(one, marks=pytest.mark.long) for one in (Strategy.FSM, Strategy.FIVE_PHASE)),
)
_DELIBERATE = (Strategy.FIVE_PHASE, Strategy.MOA)
Tell = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("strategy", _OF_THE_DEMO)
async def test_the_tasks_of_the_demo_hold_one_after_the_other(strategy: Strategy, tmp_path: Path) -> None:
    office = Office(tmp_path, strategy)
    found = {task.name: find_problems(await _observed(task, office)) for task in DEMO}
    office.close()
    assert {name: said for name, said in found.items() if said} == {}


@pytest.mark.parametrize(
    ("tasks", "least"),
    [
        pytest.param((*ENGLISH[1::8], *VARIED[1::5], *FOREIGN[1::4]), 8, id="some"),
        pytest.param(CONDITIONED[::3], 8, id="some_conditioned"),
        pytest.param(CONDITIONED, 28, id="conditioned", marks=pytest.mark.long),
        pytest.param(ENGLISH, 30, id="english", marks=pytest.mark.long),
        pytest.param(VARIED, 11, id="varied", marks=pytest.mark.long),
        pytest.param(FOREIGN, 5, id="foreign", marks=pytest.mark.long),
    ],
)
async def test_most_tasks_are_carried_out_none_wrongly_and_nobody_is_asked_without_a_rule(
    tasks: tuple[PlainTask, ...], least: int, tmp_path: Path, record_property: Tell
) -> None:
    ends = {task.text: await judge(task, tmp_path) for task in tasks}
    _tell(record_property, "fsm", ends)
    _hold(ends, least)


@pytest.mark.parametrize("strategy", _DELIBERATE)
async def test_tasks_hold_whatever_the_strategy(strategy: Strategy, tmp_path: Path, record_property: Tell) -> None:
    tasks = (*ENGLISH[::11], *FOREIGN[::8])
    ends = {task.text: await judge(task, tmp_path, strategy) for task in tasks}
    _tell(record_property, strategy.value, ends)
    _hold(ends, len(tasks) - 1)


async def test_tools_of_a_wide_catalogue_are_found_and_used(tmp_path: Path, record_property: Tell) -> None:
    tasks = ENGLISH[:5]
    ends = {task.text: await judge(task, tmp_path, others=_WIDE) for task in tasks}
    _tell(record_property, "wide", ends)
    _hold(ends, len(tasks) - 2)


async def test_a_claim_with_one_dependent_read_takes_four_calls_and_one_question_beside(tmp_path: Path) -> None:
    usage = (await _carried_out("Approve expense claim EXP-1002.", tmp_path)).usage
    assert (usage.calls, usage.helpers <= 1, usage.tokens <= 5_000) == (4, True, True), usage


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Reject expense claim EXP-1003 because it is not covered.", ()),
        ("Approve expense claim EXP-1011.", ()),
        ("Approve purchase order PO-7023 unless it is over 500 USD.", ()),
        ("Approve all pending expense claims of the category training except EXP-1006.", ()),
        ("Approve expense claim EXP-1002.", ("budget after: 68263.60",)),
        ("Approve expense claim EXP-1005, but do not approve EXP-1006.", ("budget after of EXP-1005: 67725.50",)),
    ],
)
async def test_what_a_change_leaves_of_a_budget_is_told_of_the_changes_that_were_made(
    text: str, told: tuple[str, ...], tmp_path: Path
) -> None:
    answer = (await _carried_out(text, tmp_path)).answer
    assert tuple(re.findall(r"budget after[\w\s-]*: [\d.]*\d", answer)) == told


@pytest.mark.promise("planner.follows_up")
@pytest.mark.parametrize(
    ("texts", "changed", "says"),
    [
        (("What is the status of EXP-1002?", "Approve it."), "EXP-1002 approved", "EXP-1002 is approved"),
        (("Reject EXP-1007 because it is too much.", "and the same for EXP-1008"), "EXP-1008 rejected", "EXP-1008"),
        (("Wie hoch ist EXP-1002?", "Genehmige sie."), "EXP-1002 approved", "EXP-1002 is approved"),
        (("Approve EXP-1002.", "EXP-1003 too, please"), "EXP-1003 approved", "EXP-1003 is approved"),
        (("What is the status of EXP-1002 and EXP-1003?", "Approve it."), "", "could mean EXP-1002 or EXP-1003"),
        (("Approve EXP-1002 and notify EMP-305.", "the same for EXP-1003"), "", "about EXP-1002 and EMP-305"),
    ],
)
async def test_a_follow_up_in_a_session_is_carried_out_or_refused(
    texts: tuple[str, str], changed: str, says: str, tmp_path: Path
) -> None:
    office = Office(tmp_path)
    first = await office.carry_out(texts[0])
    before = office.books()
    course = await office.carry_out(texts[1], first)
    states = [f"{one.row} {one.value}" for one in office.books().changes_since(before) if one.column == "status"]
    office.close()
    assert (states, says in course.answer) == ([changed] if changed else [], True), course.answer


async def _carried_out(text: str, folder: Path) -> Course:
    office = Office(folder)
    course = await office.carry_out(text)
    office.close()
    return course


async def _observed(task: DemoTask, office: Office) -> ObservedTask:
    """One task of the demo as its command would observe it."""
    office.misbehave(task.faults or "{}")
    before, views, pictures, course = office.books(), list[TaskView](), list[BooksSnapshot](), None
    for said in task.turns:
        course = await (office.decide(course, said.text, _speaker(said)) if course else office.send(said.text))
        views.append(_view(course))
        pictures.append(office.books())
        if views[-1].state != said.then:
            break
    events = course.turns.events if course else []
    story = tuple(Event("", one.kind, one.at, _data(one)) for one in events)
    return ObservedTask(task, tuple(views), before, tuple(pictures[: len(task.turns) - 1]), pictures[-1], 0.0, story)


def _data(event: TaskEvent) -> JsonObject:
    data = loads_object(event.model_dump_json())["data"]
    assert isinstance(data, dict)
    return data


def _speaker(said: DemoTurn) -> Principal:
    return Principal(id=said.by.name, roles=(Role.APPROVER,), levels=said.by.levels)


def _view(course: Course) -> TaskView:
    record = course.record
    metadata = loads_object(record.model_dump_json())["metadata"]
    assert isinstance(metadata, dict)
    return TaskView(record.task_id, record.state.value, record.answer or record.reason or "", metadata)


def _hold(ends: Mapping[str, Judged], least: int) -> None:
    assert [name for name, one in ends.items() if one.verdict is Verdict.WRONG] == []
    assert {name: one.needless for name, one in ends.items() if one.needless} == {}
    assert sum(one.verdict is Verdict.RIGHT for one in ends.values()) >= least, ends


def _tell(record_property: Tell, how: str, ends: Mapping[str, Judged]) -> None:
    usages, counts = [one.usage for one in ends.values()], Counter(one.verdict.value for one in ends.values())
    mean = [round(sum(figures) / len(usages), 1) for figures in zip(*usages, strict=True)]
    record_property("shown", f"{how}: {dict(counts)} of {len(ends)}; calls, helpers, tokens on average {mean}")
