"""Plain tasks over a small foreign tool server: right, or refused by name; none done or answered wrongly."""

from collections import Counter
from collections.abc import Callable

import pytest

from services.planner.core.request import parse_request
from services.planner.core.roles import reply
from shared.domain.exact_json import Json, dumps
from tests.planner_tasks import museum
from tests.planner_tasks.judged_courses import Verdict, answers
from tests.planner_tasks.plain_world import PlainWorld
from tests.planner_tasks.task import PlainTask
from tests.unit.planner.planner_requests import shown

_TURNS = 40
_ADMITS = ("Not done", "Not understood", "Could not be found out")

pytestmark = pytest.mark.promise("planner.plain_words")


def test_no_word_of_a_task_is_passed_over(record_property: Callable[[str, object], None]) -> None:
    ends = {(kind, task.text): _judge(task) for kind, tasks in museum.FAMILIES.items() for task in tasks}
    for kind in museum.FAMILIES:
        record_property("shown", f"{kind}: {dict(Counter(end for (of, _), end in ends.items() if of == kind))}")
    assert [name for name, end in ends.items() if end is Verdict.WRONG] == []
    assert Counter(ends.values())[Verdict.RIGHT] >= 67, ends


def _judge(task: PlainTask) -> Verdict:
    model = museum.open_museum()
    for name, given in task.writes:
        result, failed = model.call(name, given)
        assert not failed, (task.text, result)
    world = museum.open_museum()
    said = run_flat(task.text, world)
    expected = {f"{name} {dumps(given)}" for name, given in task.writes}
    made = {f"{name} {dumps(given)}" for name, given in world.made}
    if world.end_state() == model.end_state() and answers(task, said):
        return Verdict.RIGHT
    return Verdict.REFUSED if any(words in said for words in _ADMITS) and made <= expected else Verdict.WRONG


def run_flat(task: str, world: PlainWorld) -> str:
    """The answer, in a loop that makes each call at once."""
    content = shown({"task": task, "now": "2027-02-10T09:00:00+01:00"})
    messages: list[Json] = [{"role": "user", "content": content}]
    for turn in range(_TURNS):
        said = reply(parse_request({"system": "rules", "messages": messages, "tools": world.offered()}))
        if not said.calls:
            return said.text
        uses: list[Json] = []
        told: list[Json] = []
        for place, (name, given) in enumerate(said.calls):
            result, failed = world.call(name, given)
            content = result if isinstance(result, str) else dumps(result)
            uses.append({"type": "tool_use", "id": f"u{turn}_{place}", "name": name, "input": given})
            told.append(
                {"type": "tool_result", "tool_use_id": f"u{turn}_{place}", "content": content, "is_error": failed}
            )
        messages += [{"role": "assistant", "content": uses}, {"role": "user", "content": told}]
    raise AssertionError("no end")
