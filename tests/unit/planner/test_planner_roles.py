"""Every other role: what a schema asks, or the sentence that a model is needed; and the faults on purpose."""

import pytest

from services.planner.core import faults
from services.planner.core.request import parse
from services.planner.core.roles import Reply, reply
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.unit.planner.planner_requests import asked, fact, said, tool


def _with_schema(properties: JsonObject, text: str = "Judge this.") -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    body: JsonObject = {
        "messages": [{"role": "user", "content": text}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }
    return loads_object(reply(parse(body)).text)


def test_without_a_schema_it_says_that_a_model_is_needed() -> None:
    """Free text of an unknown role is not made up."""
    body: JsonObject = {"messages": [{"role": "user", "content": "Write a poem."}]}
    assert "needs a model" in reply(parse(body)).text


@pytest.mark.promise("planner.unjudged")
def test_a_criterion_that_needs_judgement_gets_nothing_and_says_so() -> None:
    """Score 0, marked as unjudged, so that totals can be shown with and without it."""
    details: JsonObject = {"type": "object", "properties": {}}
    answer = _with_schema({"score": {"type": "number"}, "details": details, "why": {"type": "string"}})
    assert (answer["score"], answer["details"]) == (0, {"unjudged": True})
    assert "needs a model" in str(answer["why"])


def test_a_choice_is_the_one_that_the_text_names() -> None:
    """An enumeration is filled from the request where exactly one of its words stands there."""
    kinds: JsonObject = {"type": "string", "enum": ["invoice", "order", "general"]}
    assert _with_schema({"kind": kinds}, "This is about an order.") == {"kind": "order"}
    assert _with_schema({"kind": kinds}, "This is about nothing.") == {"kind": "general"}


def test_advice_on_a_tool_that_is_gone_is_none() -> None:
    """Which read asks the same as another is for a model to judge: the planner names none."""
    properties: JsonObject = {"tool": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "why": {"type": "string"}}
    assert _with_schema(properties)["tool"] is None


def test_decomposition_names_needs_entities_and_the_form_of_answer() -> None:
    """What DECOMPOSE hands on."""
    answer = loads_object(said("DECOMPOSE", {"task": "Which kites of AB-12 fly? Answer with a JSON list."}).text)
    assert answer["answer_format"] == "list"
    assert {"kind": "id", "value": "AB-12"} in list(answer["entities"] if isinstance(answer["entities"], list) else [])
    assert answer["needs"]


def test_reading_follows_references_and_then_stops() -> None:
    """First what the task names, then what that refers to, then a sentence; no call twice."""
    tools: list[Json] = [tool("get_kite", kite_id="string"), tool("get_pilot", pilot_id="string")]
    task = "Approve kite KIT-7."
    assert said("ASSESS", {"task": task}, tools).calls == (("get_kite", {"kite_id": "KIT-7"}),)
    kite = fact("f1", "get_kite", {"kite_id": "KIT-7"}, {"id": "KIT-7", "pilot_id": "PIL-2"})
    assert said("ASSESS", {"task": task, "facts": [kite]}, tools).calls == (("get_pilot", {"pilot_id": "PIL-2"}),)
    pilot = fact("f2", "get_pilot", {"pilot_id": "PIL-2"}, {"id": "PIL-2", "name": "Ada"})
    assert said("ASSESS", {"task": task, "facts": [kite, pilot]}, tools).calls == ()


_PLAN = '{"calls":[{"arguments_json":"{\\"id\\":\\"1\\"}","call_id":"c1","tool":"a"}],"why_none":null}'


@pytest.mark.parametrize(
    ("state", "fault", "text", "changed"),
    [
        ("COMPUTE", "wrong_arithmetic", '{"values":[{"name":"a","value":"2.50"}]}', '"value":"3.50"'),
        ("WRITE PLAN", "repeated_write", _PLAN, '"call_id":"c1b"'),
        ("WRITE PLAN", "invented_tool", _PLAN, '"tool":"invented_write"'),
        ("WRITE PLAN", "stale_column", _PLAN, "id_old"),
        (
            "PLAN",
            "few_reads",
            '{"look_again":true,"reads":[{"id":"s1"},{"id":"s2"}]}',
            '{"look_again":false,"reads":[{"id":"s1"}]}',
        ),
    ],
)
def test_a_fault_spoils_the_answer_of_its_state(state: str, fault: str, text: str, changed: str) -> None:
    """Each switch makes one known mistake."""
    request = asked(state, {"task": "Approve kite KIT-7."})
    assert changed in faults.spoil(Reply(text), request, {fault: ""}).text
    assert faults.spoil(Reply(text), request, {}).text == text


def test_few_reads_may_concern_some_tasks_only() -> None:
    """Those in which a word stands."""
    request, planned = asked("PLAN", {"task": "Approve kite KIT-7."}), '{"look_again":true,"reads":[{"id":"s1"}]}'
    assert '"look_again":false' in faults.spoil(Reply(planned), request, faults.parse("few_reads=Kite")).text
    assert faults.spoil(Reply(planned), request, faults.parse("few_reads=boat")).text == planned


def test_write_before_read_asks_for_the_write_it_is_told_to() -> None:
    """In ASSESS it calls the named tool first, with the arguments of its first read."""
    request = asked("ASSESS", {"task": "Approve kite KIT-7."})
    honest = Reply(calls=(("get_kite", {"id": "KIT-7"}),))
    spoiled = faults.spoil(honest, request, faults.parse("write_before_read=approve_kite"))
    assert spoiled.calls[0] == ("approve_kite", {"id": "KIT-7"})


def test_ignored_policy_heeds_no_condition() -> None:
    """The condition does not hold, and the write is planned all the same."""
    sections: dict[str, Json] = {
        "task": "Approve kite KIT-7 if its fee is under 1.00.",
        "facts": [fact("f1", "get_kite", {}, {"id": "KIT-7", "fee": "9.00"})],
        "write_tools": [tool("approve_kite", "main", kite_id="string")],
    }
    request = asked("WRITE PLAN", sections)
    assert loads_object(reply(request).text)["calls"] == []
    assert loads_object(reply(request, ignores_policy=True).text)["calls"]


def test_an_unknown_fault_is_refused_by_name() -> None:
    """A switch that does not exist is an error that lists those that do."""
    with pytest.raises(faults.UnknownFault, match="wrong_arithmetic"):
        faults.parse("rudeness")
