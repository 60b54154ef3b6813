"""JSON schemas of the protocol's own types, read from their descriptors: what ``MessageToDict`` writes."""

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from pydantic import JsonValue

Schema = dict[str, JsonValue]

_NUMBERS = frozenset({FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_UINT32})
_FRACTIONS = frozenset({FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT})
_WELL_KNOWN: dict[str, Schema] = {
    "google.protobuf.Struct": {"type": "object"},
    "google.protobuf.Value": {},
    "google.protobuf.ListValue": {"type": "array"},
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
}


def components(prefix: str, *roots: Descriptor) -> dict[str, JsonValue]:
    """The schemas of these types and of all that they hold, each under ``prefix`` and its name."""
    found: dict[str, JsonValue] = {}
    waiting = list(roots)
    while waiting:
        kind = waiting.pop()
        if prefix + kind.name in found:
            continue
        fields = [field for field in kind.fields if not _is_well_known(field)]
        found[prefix + kind.name] = _object(kind, prefix)
        waiting += [_held(field) for field in fields if field.message_type]
    return found


def reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(kind: Descriptor, prefix: str) -> Schema:
    properties: Schema = {field.json_name: _field(field, prefix) for field in kind.fields}
    return {"type": "object", "properties": properties}


def _field(field: FieldDescriptor, prefix: str) -> Schema:
    if _is_map(field):
        return {"type": "object", "additionalProperties": _single(_value_of(field), prefix)}
    single = _single(field, prefix)
    return {"type": "array", "items": single} if field.is_repeated else single


def _single(field: FieldDescriptor, prefix: str) -> Schema:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        known = _WELL_KNOWN.get(field.message_type.full_name)
        return reference(prefix + field.message_type.name) if known is None else known
    if field.type == FieldDescriptor.TYPE_ENUM:
        return {"type": "string", "enum": [value.name for value in field.enum_type.values]}
    if field.type == FieldDescriptor.TYPE_BOOL:
        return {"type": "boolean"}
    if field.type in _FRACTIONS:
        return {"type": "number"}
    return {"type": "integer"} if field.type in _NUMBERS else {"type": "string"}


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _value_of(field: FieldDescriptor) -> FieldDescriptor:
    return field.message_type.fields_by_name["value"]


def _is_well_known(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.full_name in _WELL_KNOWN)


def _held(field: FieldDescriptor) -> Descriptor:
    """The type that a field holds; for a map, of its values."""
    if _is_map(field) and _value_of(field).message_type:
        return _value_of(field).message_type
    return field.message_type
