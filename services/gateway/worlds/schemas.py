"""The JSON Schema of an operation, as short as a model needs it."""

from functools import cache
from typing import cast

from services.gateway.worlds.world import Operation
from shared.domain.exact_json import Json, JsonObject, plain

_NULL: Json = {"type": "null"}
_IDLE = frozenset({"title", "default"})


@cache
def schema_of(kind: type[Operation]) -> JsonObject:
    """Nothing said of titles and defaults; what may be left out is of one type, and never null."""
    given = cast(JsonObject, plain(kind.model_json_schema()))
    properties = cast("dict[str, JsonObject]", given.get("properties", {}))
    schema: JsonObject = {"type": "object", "properties": {name: _field(one) for name, one in properties.items()}}
    return {**schema, "required": given.get("required", []), "additionalProperties": False}


def _field(given: JsonObject) -> Json:
    options = given.get("anyOf")
    kept = [one for one in options if one != _NULL] if isinstance(options, list) else []
    only = kept[0] if len(kept) == 1 else {}
    merged = {**given, **(only if isinstance(only, dict) else {})}
    return {name: value for name, value in merged.items() if name not in _IDLE and name != "anyOf"}
