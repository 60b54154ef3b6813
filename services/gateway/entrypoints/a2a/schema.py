"""A client's JSON read by the protocol's own schema: fields in both spellings, enums by name or number, types checked.

What comes out names each field by its JSON name (``taskId``) and each enum value by its name, so that nothing behind
this module knows of spellings. Fields that the schema does not know are left out, as ProtoJSON parsers do it. The
contents of ``Struct`` and ``Value`` stay as the client sent them: protobuf would turn their numbers into floats.
"""

import base64
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from services.gateway.core.errors import InvalidField
from services.gateway.core.fields import kind_of
from shared.domain.exact_json import Json, JsonObject

T = TypeVar("T")
Type = FieldDescriptor
_WHOLE_NUMBERS = {Type.TYPE_INT32: (-(2**31), 2**31 - 1), Type.TYPE_UINT32: (0, 2**32 - 1)}
_OPAQUE: Mapping[str, type] = {
    "google.protobuf.Struct": dict,
    "google.protobuf.Value": object,
    "google.protobuf.ListValue": list,
    "google.protobuf.Timestamp": str,
}
_FLAGS = {"true": True, "false": False}


def read_by_schema(value: JsonObject, schema: Descriptor, path: str = "") -> JsonObject:
    """The message in the schema's own words. ``path``: where it stands; raises ``InvalidField``."""
    names, read = _fields(schema), dict[str, Json]()
    for key, item in value.items():
        field = names.get(key)
        if field is None:
            continue
        at = f"{path}.{field.json_name}" if path else field.json_name
        if field.json_name in read:
            raise InvalidField(at, f"is given twice, as {field.name} and as {field.json_name}; send one of them")
        read[field.json_name] = None if item is None else _value(item, field, at)
    given: JsonObject = {name: item for name, item in read.items() if item is not None}
    _check_choices(given, schema, path)
    return given


def read_query(parameters: Iterable[tuple[str, str]], schema: Descriptor) -> JsonObject:
    """A query's parameters as the message that they stand for; raises ``InvalidField``."""
    names, value = _fields(schema), dict[str, Json]()
    for key, text in parameters:
        if key in value and key in names:
            raise InvalidField(names[key].json_name, "is given twice")
        value[key] = _from_text(text, names[key]) if key in names else text
    return read_by_schema(value, schema)


@cache
def _fields(schema: Descriptor) -> Mapping[str, FieldDescriptor]:
    """Each field by both of its names."""
    return {name: field for field in schema.fields for name in (field.name, field.json_name)}


def _check_choices(given: JsonObject, schema: Descriptor, path: str) -> None:
    """Of the fields of a ``oneof`` there is one at most."""
    for choice in schema.oneofs:
        chosen = [field.json_name for field in choice.fields if field.json_name in given]
        if len(chosen) > 1:
            raise InvalidField(path or choice.name, f"has {' and '.join(chosen)}; send one of them")


def _value(value: Json, field: FieldDescriptor, path: str) -> Json:
    if field.message_type and field.message_type.GetOptions().map_entry:
        of_map = field.message_type.fields_by_name["value"]
        return {key: _single(item, of_map, f"{path}.{key}") for key, item in _typed(value, dict, path).items()}
    if field.is_repeated:
        items = _typed(value, list, path)
        return [_single(item, field, f"{path}[{place}]") for place, item in enumerate(items)]
    return _single(value, field, path)


def _single(value: Json, field: FieldDescriptor, path: str) -> Json:
    match field.type:
        case Type.TYPE_MESSAGE if field.message_type.full_name in _OPAQUE:
            return _typed(value, _OPAQUE[field.message_type.full_name], path)
        case Type.TYPE_MESSAGE:
            return read_by_schema(_typed(value, dict, path), field.message_type, path)
        case Type.TYPE_ENUM:
            return _enum(value, field, path)
        case Type.TYPE_BOOL:
            return _typed(value, bool, path)
        case Type.TYPE_BYTES:
            return _bytes(_typed(value, str, path), path)
        case number if number in _WHOLE_NUMBERS:
            return _whole(value, path, *_WHOLE_NUMBERS[number])
        case _:
            return _typed(value, str, path)


def _enum(value: Json, field: FieldDescriptor, path: str) -> str:
    names: Mapping[str, object] = field.enum_type.values_by_name
    numbers = {str(number): one.name for number, one in field.enum_type.values_by_number.items()}
    said = str(value) if isinstance(value, str | int) else ""
    name = said if said in names else numbers.get(said)
    if name is None:
        raise InvalidField(path, f"must be one of {', '.join(names)}")
    return name


def _whole(value: Json, path: str, least: int, most: int) -> int:
    """A whole number, also as text or with zeros behind its point: so ProtoJSON has it."""
    try:
        number = Decimal(value) if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    except ArithmeticError:
        number = None
    if number is None or not number.is_finite() or number != number.to_integral_value():
        raise InvalidField(path, "must be a whole number")
    if not least <= number <= most:
        raise InvalidField(path, f"must be from {least} to {most}")
    return int(number)


def _bytes(value: str, path: str) -> str:
    """Base64 in either alphabet, with or without padding; given on in the usual one."""
    usual = value.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64encode(base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)).decode()
    except ValueError:
        raise InvalidField(path, "must be base64") from None


_NAMES: Mapping[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


def _typed(value: Json, kind: type[T], path: str) -> T:
    if not isinstance(value, kind):
        raise InvalidField(path, f"must be {_NAMES[kind]}, not {kind_of(value)}")
    return value


def _from_text(text: str, field: FieldDescriptor) -> Json:
    """A query has texts alone; the schema reads numbers out of them, but flags are words."""
    return _FLAGS.get(text.lower(), text) if field.type == Type.TYPE_BOOL else text
