"""The arguments of a planned call as they are sent: with what earlier calls gave in place of the references."""

import re
from collections.abc import Mapping
from typing import cast

from services.executor.core.figures.calculate.conditions import NoSuchPath
from services.executor.core.records.references import REFERENCE, find_made_id, find_named_id, made_name
from shared.domain.exact_json import Json, JsonObject

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_BARE_NAME = re.compile(r"[A-Za-z][\w-]*")


def resolve(arguments: JsonObject, results: Mapping[str, Json]) -> JsonObject:
    """The arguments with every reference replaced. Raises ``NoSuchPath`` if a result has no such field."""
    return cast(JsonObject, _resolve_value(arguments, results))


def _resolve_value(value: Json, results: Mapping[str, Json]) -> Json:
    if isinstance(value, list):
        return [_resolve_value(item, results) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {REFERENCE}:
        return {key: _resolve_value(item, results) for key, item in value.items()}
    call_id, _, path = str(value[REFERENCE]).partition(".")
    if call_id not in results:
        raise NoSuchPath(f"{value[REFERENCE]}: call {call_id} has no result")
    name = made_name(path)
    return _value_at(results[call_id], path) if name is None else _find_made(results[call_id], name, path)


def find_at(result: Json, path: str) -> Json:
    """The one value at a path of fields and places; raises ``NoSuchPath`` where there is none."""
    value = result
    for match in _STEP.finditer(path.removeprefix("$").removeprefix(".")):
        key, place = match.groups()
        if key is not None and isinstance(value, dict) and key in value:
            value = value[key]
        elif place is not None and isinstance(value, list) and int(place) < len(value):
            value = value[int(place)]
        else:
            raise NoSuchPath(f"path {path!r}: no {key or f'[{place}]'} there")
    return value


def _value_at(result: Json, path: str) -> Json:
    try:
        return find_at(result, path)
    except NoSuchPath:
        found = find_named_id(result, path) if _BARE_NAME.fullmatch(path) else None
        if found is None:
            raise
        return found


def _find_made(result: Json, name: str, path: str) -> Json:
    found = find_made_id(result, name)
    if found is None:
        raise NoSuchPath(f"path {path!r}: the answer names no such id")
    return found
