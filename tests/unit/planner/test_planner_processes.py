"""What a plan makes itself, whom the kind of process wants told, and what its instruction says to read besides."""

import pytest

from services.planner.core.request import PlannerReply
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, links, optional, planned, said, tool

_LIST: Json = {**tool("list_kites"), "description": "All kites."}
_GET: Json = tool("get_kite", kite_id="string")
_ADD: Json = tool("create_kite", name="string", email="string")
_TAIL: Json = tool("create_tail", kite_id="string", metres="integer")
_TELL: Json = tool("notify_pilot", pilot_id="string", message="string")
_APPROVE: Json = tool("approve_kite", kite_id="string")
_KITES: list[Json] = [
    {"id": "KIT-1", "name": "Red Baron", "email": "hello@redbaron.example", "pilot_id": "PIL-1"},
    {"id": "KIT-2", "name": "Blue Heron", "email": "mail@blueheron.example", "pilot_id": "PIL-2"},
]
_NEW = (
    "Create the new kite Green Finch with email hello@greenfinch.example and create a tail of 12 metres for the kite."
)
_ONE: list[Json] = [fact("f1", "get_kite", {"kite_id": "KIT-1"}, _KITES[0])]


@pytest.mark.promise("planner.new_things")
def test_a_later_call_refers_to_what_an_earlier_one_makes_and_a_thing_that_is_named_is_the_one_there() -> None:
    """Nothing of the kites that are there goes into the new one, nor is the new tail one of theirs."""
    plan = planned(_NEW, [fact("f1", "list_kites", {}, [*_KITES])], [_ADD, _TAIL], [_LIST, _GET])
    assert calls(plan) == [
        ("create_kite", {"email": "hello@greenfinch.example", "name": "Green Finch"}),
        ("create_tail", {"metres": 12}),
    ]
    assert links(plan) == [{"part": 1}, {"part": 2, "from": {"kite_id": "1.id"}}]
    text = (
        "Create the new kite Green Finch with email hi@greenfinch.example. Create a tail of 12 metres for kite KIT-2."
    )
    plan = planned(text, [fact("f1", "list_kites", {}, [*_KITES])], [_ADD, _TAIL])
    assert calls(plan)[1] == ("create_tail", {"kite_id": "KIT-2", "metres": 12})


def _plan(task: str, **sections: Json) -> PlannerReply:
    return planned(task, _ONE, [_APPROVE, _TELL], [_GET], **sections)


@pytest.mark.promise("planner.tells_whom_a_process_names")
def test_whoever_a_process_wants_told_is_told_once_and_of_nothing_nobody() -> None:
    plan = _plan("Approve kite KIT-1.", process={"notice_to": "pilot"})
    assert calls(plan) == [
        ("approve_kite", {"kite_id": "KIT-1"}),
        ("notify_pilot", {"message": "Kite KIT-1 is approved.", "pilot_id": "PIL-1"}),
    ]
    process: Json = {"notice_to": "pilot"}
    assert calls(_plan("Do not approve kite KIT-1.", process=process)) == []
    told = calls(_plan("Approve kite KIT-1 and notify pilot PIL-1 that it may fly.", process=process))
    assert [name for name, _ in told] == ["approve_kite", "notify_pilot"]


@pytest.mark.promise("planner.tells_whom_a_process_names")
def test_nobody_is_told_for_a_process_with_whom_what_is_done_has_nothing_to_do() -> None:
    """The pilot of the kite that is excepted is the only one whose kite was read by itself."""
    seen = [fact("f1", "list_kites", {}, [*_KITES]), fact("f2", "get_kite", {"kite_id": "KIT-2"}, _KITES[1])]
    task = "Approve every kite except KIT-2."
    made = calls(planned(task, seen, [_APPROVE, _TELL], [_GET], process={"notice_to": "pilot"}))
    assert [given for name, given in made if name == "approve_kite"] == [{"kite_id": "KIT-1"}]
    assert "PIL-2" not in {given.get("pilot_id") for _, given in made}


def _read(instruction: str) -> PlannerReply:
    tails = optional(tool("list_tails", kite_id="string"))
    sections: dict[str, Json] = {"task": "Approve kite KIT-1.", "so_far": _ONE, "process": {"instruction": instruction}}
    return said(sections, [tails, tool("list_storms")])


@pytest.mark.promise("planner.reads_what_a_process_names")
def test_what_a_process_says_to_read_is_read_for_the_task_s_own_thing() -> None:
    assert _read("Read all tails of the kite, and the storms.").calls == (("list_tails", {"kite_id": "KIT-1"}),)
    assert _read("Read the kite.").calls == ()


_FIELD: Json = tool("get_field", field="string")


def _kite(number: int, field: str) -> Json:
    found: JsonObject = {"id": f"KIT-{number}", "pilot_id": f"PIL-{number}", "field": field}
    return fact(f"f{number}", "get_kite", {"kite_id": f"KIT-{number}"}, found)


@pytest.mark.promise("planner.reads_for_each_named")
@each_row(("fields", "read"), [(("North", "South"), ["North", "South"]), (("North", "North"), ["North"])])
def test_what_several_named_things_say_differently_is_read_for_each(fields: tuple[str, str], read: list[str]) -> None:
    """A field of the same name in something that the task does not name is nobody's."""
    other: Json = {"id": "KIT-9", "field": "West"}
    facts = [_kite(1, fields[0]), _kite(2, fields[1]), fact("f3", "get_kite", {"kite_id": "KIT-9"}, other)]
    found = said({"task": "Approve kites KIT-1 and KIT-2.", "so_far": facts}, [_FIELD])
    assert found.calls == tuple(("get_field", {"field": name}) for name in read)
