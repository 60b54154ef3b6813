"""Every field of every message that a client may send, made from the schemas: two spellings, one meaning."""

import base64
import json
from decimal import Decimal
from functools import cache

import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.types import a2a_pb2 as new
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from services.gateway.a2a.schema import parse_by_schema, parse_message_0_3, parse_query_by_schema
from services.gateway.edge.errors import InvalidField
from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.each_row import each_row

_REQUESTS = [
    method.input_type
    for file in (new.DESCRIPTOR, old.DESCRIPTOR)
    for service in file.services_by_name.values()
    for method in service.methods
]


_LIST: Json = ["x"]
_OBJECT: Json = {"x": 1}


def _messages(schemas: list[Descriptor]) -> list[Descriptor]:
    """The requests and all messages that they hold."""
    found: dict[str, Descriptor] = {}
    waiting = list(schemas)
    while waiting:
        one = waiting.pop()
        if one.full_name not in found and not one.full_name.startswith("google."):
            found[one.full_name] = one
            waiting += [field.message_type for field in one.fields if field.message_type]
    return list(found.values())


_FIELDS = [(message, field) for message in _messages(_REQUESTS) for field in message.fields]


def _some(field: FieldDescriptor) -> Json:
    """A value that the field takes."""
    single = _single(field)
    return [single] if field.is_repeated else single


def _single(field: FieldDescriptor) -> Json:
    if field.message_type:
        name = field.message_type.full_name
        if name == "google.protobuf.Timestamp":
            return "2026-01-31T12:00:00Z"
        if name.startswith("google.protobuf."):
            return {"some_key": 1}
        first = next((one for one in field.message_type.fields if one.type == FieldDescriptor.TYPE_STRING), None)
        return {first.name: "inner"} if first and not first.is_repeated else {}
    if field.enum_type:
        return str(field.enum_type.values[-1].name)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return base64.b64encode(b"bytes").decode()
    return {FieldDescriptor.TYPE_BOOL: True, FieldDescriptor.TYPE_INT32: 7}.get(field.type, "text")


def _wrong(field: FieldDescriptor) -> Json:
    """A value that no field of its type takes."""
    if field.message_type and field.message_type.full_name == "google.protobuf.Value":
        return None
    is_object = field.message_type and field.message_type.full_name != "google.protobuf.Timestamp"
    wrong = _LIST if is_object or field.type == FieldDescriptor.TYPE_BOOL else _OBJECT
    return [wrong] if field.is_repeated else wrong


@pytest.mark.promise("gateway.schema")
@each_row(("message", "field"), _FIELDS)
def test_both_spellings_of_every_field_mean_the_same_and_together_are_refused(
    message: Descriptor, field: FieldDescriptor
) -> None:
    value = _some(field)
    snake, camel = parse_by_schema({field.name: value}, message), parse_by_schema({field.json_name: value}, message)
    assert snake == camel
    assert list(snake) == [field.json_name]
    if field.name != field.json_name:
        with pytest.raises(InvalidField, match="twice"):
            parse_by_schema({field.name: value, field.json_name: value}, message)


@pytest.mark.promise("gateway.schema")
@each_row(("message", "field"), _FIELDS)
def test_a_value_of_another_type_is_refused_by_name(message: Descriptor, field: FieldDescriptor) -> None:
    if (wrong := _wrong(field)) is None:
        return
    with pytest.raises(InvalidField) as refused:
        parse_by_schema({field.name: wrong}, message)
    assert str(refused.value).startswith(field.json_name)


_ENUMS = [(message, field) for message, field in _FIELDS if field.enum_type]


@pytest.mark.promise("gateway.schema")
@each_row(("message", "field"), _ENUMS)
def test_an_enum_is_taken_by_name_and_by_number(message: Descriptor, field: FieldDescriptor) -> None:
    for one in field.enum_type.values:
        known: tuple[Json, ...] = (one.name, one.number, str(one.number))
        for said in known:
            assert parse_by_schema({field.name: said}, message) == {field.json_name: one.name}
    wrong: tuple[Json, ...] = ("NO_SUCH", 99, -1, True, [], {})
    for said in wrong:
        with pytest.raises(InvalidField, match="must be one of"):
            parse_by_schema({field.name: said}, message)


@pytest.mark.promise("gateway.schema")
@pytest.mark.parametrize("message", _REQUESTS, ids=lambda one: one.full_name)
@settings(max_examples=20)
@given(data=st.data())
def test_what_is_read_is_what_the_official_parser_reads(message: Descriptor, data: st.DataObject) -> None:
    said = data.draw(_bodies(message, 3))
    kind = GetMessageClass(message)
    assert ParseDict(said, kind()) == ParseDict(parse_by_schema(said, message), kind())


@cache
def _bodies(message: Descriptor, depth: int) -> st.SearchStrategy[JsonObject]:
    """Messages with any of their fields, in either spelling, and one of each choice."""
    fields = {
        spelling: _values(field, depth)
        for field in message.fields
        if field.containing_oneof is None or field.containing_oneof.fields[0] is field
        for spelling in (field.name, field.json_name)
    }
    return st.fixed_dictionaries({}, optional=fields).map(lambda said: _once(said, message))


def _once(said: JsonObject, message: Descriptor) -> JsonObject:
    """Without the second spelling of what is said already."""
    kept = {message.fields_by_name[name].json_name for name in said if name in message.fields_by_name}
    return {name: value for name, value in said.items() if name in message.fields_by_name or name not in kept}


def _values(field: FieldDescriptor, depth: int) -> st.SearchStrategy[Json]:
    single: st.SearchStrategy[Json] = st.just(_single(field))
    if field.message_type and not field.message_type.full_name.startswith("google."):
        single = _bodies(field.message_type, depth - 1) if depth else st.just({})
    elif field.enum_type:
        single = st.sampled_from([said for one in field.enum_type.values for said in (one.name, one.number)])
    return st.lists(single, max_size=2) if field.is_repeated else single


@pytest.mark.promise("gateway.schema")
def test_free_values_stay_as_they_came_a_part_holds_one_content_and_unknown_fields_are_left_out() -> None:
    data = '{"task_id": 0.10, "taskId": 12345678901234567890}'
    text = f'{{"message": {{"parts": [{{"data": {data}}}]}}, "metadata": {{"a_b": 1}}}}'
    read = parse_by_schema(loads_object(text), new.SendMessageRequest.DESCRIPTOR)
    assert read == loads_object(text)
    assert str(read["message"]) == str(loads_object(text)["message"])
    with pytest.raises(InvalidField, match=r"message\.parts\[0\]: has text and url"):
        parse_by_schema({"message": {"parts": [{"text": "a", "url": "b"}]}}, new.SendMessageRequest.DESCRIPTOR)
    assert parse_by_schema({"id": "t", "draft_field": 1}, new.GetTaskRequest.DESCRIPTOR) == {"id": "t"}


@each_row("said", ["\u2603", "a b", 5])
def test_what_is_no_base64_is_refused(said: Json) -> None:
    with pytest.raises(InvalidField, match=r"parts\[0\]\.raw: must be"):
        parse_by_schema({"parts": [{"raw": said}]}, new.Message.DESCRIPTOR)


@each_row("said", ["x", "", 7.5, True, 2**31, "1e999999", "NaN"])
def test_what_is_no_whole_number_is_refused(said: Json) -> None:
    value = json.loads(json.dumps(said), parse_float=Decimal)
    with pytest.raises(InvalidField, match="historyLength: must be"):
        parse_by_schema({"history_length": value}, new.GetTaskRequest.DESCRIPTOR)


@pytest.mark.promise("gateway.schema")
def test_a_query_has_both_spellings_too() -> None:
    snake, camel = ("page_size", "include_artifacts", "TASK_STATE_WORKING"), ("pageSize", "includeArtifacts", "2")
    for page, flag, state in (snake, camel):
        query = [(page, "5"), (flag, "True"), ("status", state), ("A2A-Version", "1.0")]
        read = parse_query_by_schema(query, new.ListTasksRequest.DESCRIPTOR)
        assert read == {"pageSize": 5, "includeArtifacts": True, "status": "TASK_STATE_WORKING"}


@each_row(
    "query",
    [[("page_size", "5"), ("pageSize", "5")], [("pageSize", "1"), ("pageSize", "2")], [("includeArtifacts", "maybe")]],
)
def test_a_query_that_says_a_thing_twice_or_wrongly_is_refused(query: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidField):
        parse_query_by_schema(query, new.ListTasksRequest.DESCRIPTOR)


def test_of_many_parts_that_are_none_the_first_is_named_and_the_others_are_not_looked_at() -> None:
    """A list of all their faults took seconds, in which the gateway answered nobody."""
    message: JsonObject = {"messageId": "m", "role": "user", "kind": "message", "parts": [{"kind": "none"}] * 1000}
    with pytest.raises(InvalidField, match=r"params\.message\.parts\[0\]") as refused:
        parse_message_0_3({"message": message})
    faults = refused.value.__context__
    assert isinstance(faults, ValidationError)
    assert faults.error_count() < 10
