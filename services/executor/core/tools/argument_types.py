"""Arguments whose type a server refuses: the same value in the type that it names, where nothing is lost by it."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from services.executor.core.tools.drift_errors import texts
from shared.domain.exact_json import Json, JsonObject, dumps

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?")
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("integer", "int", "whole number"), "integer"),
    **dict.fromkeys(("number", "numeric", "float", "decimal", "double"), "number"),
    **dict.fromkeys(("string", "str", "text"), "string"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list"), "array"),
}
_TYPE = "|".join(sorted(_TYPES, key=len, reverse=True))
_WANTED = re.compile(
    rf"(?:must be|should be|expect(?:s|ed)|is not|not|requires?|needs?|wants?|to be|invalid literal for)\s+"
    rf"(?:an? |of |the |type |valid |json |input )*[\"'`]?(?P<type>{_TYPE})\b"
    rf"|(?:(?:could not|cannot|unable to) (?:convert|parse))\b.{{0,60}}?\bto (?P<to>{_TYPE})\b",
    re.IGNORECASE,
)


def names_a_type(error: Json) -> bool:
    """Whether an error says which type a value must have."""
    return _WANTED.search(_text_of(error)) is not None


def with_wanted_types(arguments: JsonObject, error: Json) -> JsonObject | None:
    """The arguments with the values that the error is about in the type that it names; None where that is not plain.

    A value is only written otherwise: ``"42"`` and 42, a single value and a list of it. ``"007"`` stays what it is.
    """
    said = _text_of(error)
    found = _WANTED.search(said)
    if found is None:
        return None
    wanted = _TYPES[(found["type"] or found["to"]).lower()]
    whole = _WANTED.sub("", dumps(error))
    about = [name for name in arguments if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", whole)]
    names = about or ([*arguments] if len(arguments) == 1 else [])
    changed = {name: new for name in names if (new := _convert(arguments[name], wanted)) is not None}
    return {**arguments, **changed} if changed and len(changed) == len(names) else None


def _text_of(error: Json) -> str:
    return " ".join(texts(error))


def _convert(value: Json, wanted: str) -> Json:
    """The value in that type; None where it is of it already, or would not be the same."""
    if wanted == "array":
        return [value] if isinstance(value, str | int | Decimal) and not isinstance(value, bool) else None
    if isinstance(value, list):
        return _single(value, wanted)
    return _CONVERSIONS[wanted](value)


def _single(value: list[Json], wanted: str) -> Json:
    if len(value) != 1 or isinstance(value[0], list | dict):
        return None
    return value[0] if _is_of(value[0], wanted) else _CONVERSIONS[wanted](value[0])


def _is_of(value: Json, wanted: str) -> bool:
    types: Mapping[str, tuple[type, ...]] = {
        "integer": (int,),
        "number": (int, Decimal),
        "string": (str,),
        "boolean": (bool,),
    }
    return isinstance(value, types[wanted]) and (wanted == "boolean" or not isinstance(value, bool))


def _to_integer(value: Json) -> Json:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        return int(value)
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value.strip()) else None


def _to_number(value: Json) -> Json:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return None
    return _to_integer(value) if "." not in value else Decimal(value.strip())


def _to_string(value: Json) -> Json:
    return dumps(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _to_boolean(value: Json) -> Json:
    return {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None


_CONVERSIONS: Mapping[str, Callable[[Json], Json]] = {
    "integer": _to_integer,
    "number": _to_number,
    "string": _to_string,
    "boolean": _to_boolean,
}
