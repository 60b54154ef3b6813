"""JSON whose numbers stay exact: no binary floating point between a tool server and a ledger (I8)."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import TypeAlias, cast

Json: TypeAlias = "None | bool | int | Decimal | str | list[Json] | dict[str, Json]"
JsonObject: TypeAlias = dict[str, Json]
_encode_any = json.JSONEncoder(ensure_ascii=False).encode  # made once: making it costs ten times the encoding
_encode_text = encode_basestring  # of a text
MAX_JSON_DEPTH = 100  # deeper values end a writer's stack
MAX_JSON_EXPONENT = 1_000  # 1e999999999 is ten characters to read and a gigabyte to write out


def loads(text: str | bytes) -> Json:
    """Parses JSON; fractions become ``Decimal``.

    Raises ``ValueError`` on bad JSON, NaN, Infinity, absurd exponents, nesting over ``MAX_JSON_DEPTH``, and unpaired
    surrogates, which no other process could read.
    """
    if isinstance(text, bytes):
        text = text.decode()
    try:
        value = _parse_text(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and _is_too_deep(value):
        raise ValueError("JSON nested too deeply")
    if "\\u" in text and "\\ud" in text.lower():
        dumps(value).encode()
    return value


def loads_object(text: str | bytes) -> JsonObject:
    """Parses a JSON object; raises ``ValueError`` for anything else."""
    value = loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {type(value).__name__}")
    return value


def dumps(value: Json) -> str:
    """The canonical JSON text of a value: keys sorted, no white space, a ``Decimal`` as the number it is written as."""
    return _DUMPERS_BY_TYPE[type(value)](value)


def walk_json(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yields the value and everything inside it, outermost first, each with the name of its field."""
    yield name, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk_json(inner, key)
    elif isinstance(value, list):
        for item in value:
            yield from walk_json(item, name)


def map_leaves(value: Json, change: Callable[[Json], Json]) -> Json:
    """A copy of the value in which each text, number, truth value and null is replaced by the result of ``change`` for
    it.
    """
    if isinstance(value, dict):
        return {key: map_leaves(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [map_leaves(inner, change) for inner in value]
    return change(value)


def digest(value: Json) -> str:
    """The SHA-256 (hex) of a value's canonical text, by which plans, contexts and policies are identified."""
    return hashlib.sha256(dumps(value).encode()).hexdigest()


def _parse_text(text: str) -> Json:
    """Parses JSON; canonical text without surrounding white space takes a third of the time."""
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        value, end = None, -1
    return cast(Json, value if end == len(text) else EXACT_DECODER.decode(text))


def _is_too_deep(value: Json) -> bool:
    level = _select_lists_and_objects([value])
    for _ in range(MAX_JSON_DEPTH - 1):
        if not level:
            return False
        contents = (item.values() if isinstance(item, dict) else item for item in level)
        level = [inner for values in contents for inner in _select_lists_and_objects(values)]
    return any(level)


def _select_lists_and_objects(values: Iterable[Json]) -> list[list[Json] | dict[str, Json]]:
    return [value for value in values if isinstance(value, dict | list)]


def _parse_decimal(text: str) -> Decimal:
    try:
        number: Decimal | None = Decimal(text)
    except InvalidOperation:  # an exponent that no Decimal holds
        number = None
    if number is None or abs(number.adjusted()) > MAX_JSON_EXPONENT:
        raise ValueError(f"a number with an exponent over {MAX_JSON_EXPONENT}")
    return number


def _refuse_nan_or_infinity(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _dump_object(value: JsonObject) -> str:
    # The writer is looked up here: to call ``dumps`` for each value costs more than to write most of them.
    fields = [f"{_encode_text(key)}:{_DUMPERS_BY_TYPE[type(value[key])](value[key])}" for key in sorted(value)]
    return "{" + ",".join(fields) + "}"


def _dump_list(value: Iterable[Json]) -> str:
    return "[" + ",".join([_DUMPERS_BY_TYPE[type(item)](item) for item in value]) + "]"


def _dump_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"{value} is not JSON")
    return format(value, "f")


def _refuse_float(_: float) -> str:
    raise TypeError("a binary float has no exact JSON; pass Decimal")


class _DumpersByType(dict[type, Callable[..., str]]):
    """The function that writes values of each exact type. A derived type gets its base's, looked up once."""

    def __missing__(self, kind: type) -> Callable[..., str]:
        for base in (str, dict, list, tuple, Decimal, float):
            if issubclass(kind, base):
                return self.setdefault(kind, self[base])
        return _encode_any


_DUMPERS_BY_TYPE = _DumpersByType(
    {
        str: encode_basestring,
        dict: _dump_object,
        list: _dump_list,
        tuple: _dump_list,
        int: int.__repr__,
        float: _refuse_float,
        Decimal: _dump_decimal,
        bool: {True: "true", False: "false"}.__getitem__,
        type(None): {None: "null"}.__getitem__,
    }
)


def dumps_inexact(value: object) -> str:
    """The canonical JSON text of a library's JSON-like value: ``dumps(to_exact(value))``, but faster where all of it is
    exact already.
    """
    try:
        return _DUMPERS_BY_TYPE[type(value)](value)
    except TypeError:  # it has floats, or keys and values that are no JSON as they are
        return dumps(to_exact(value))


def to_exact(value: object) -> Json:
    """Converts a library's JSON-like value (with floats, tuples, mappings) to exact JSON; floats by their shortest
    text.

    Raises ``TypeError`` for anything that is not JSON.
    """
    match value:
        case None | bool() | int() | Decimal() | str():
            return value
        case dict():  # before what has to be asked of a class by its registry
            return {str(key): to_exact(item) for key, item in value.items()}
        case list() | tuple():
            return [to_exact(item) for item in value]
        case float():
            return Decimal(repr(value))
        case Mapping():
            return {str(key): to_exact(item) for key, item in value.items()}
        case Sequence():
            return [to_exact(item) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} is not JSON")


def to_builtins(value: Json) -> object:
    """Converts exact JSON to values that ``json.dumps`` accepts: a ``Decimal`` becomes an int or the nearest float."""
    match value:
        case Decimal():
            return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
        case dict():
            return {key: to_builtins(item) for key, item in value.items()}
        case list():
            return [to_builtins(item) for item in value]
        case _:
            return value


def to_i_json(value: Json) -> object:
    """Like ``to_builtins``, but a number that a double cannot represent exactly becomes a text (I-JSON, RFC 7493)."""
    match value:
        case dict():
            return {key: to_i_json(item) for key, item in value.items()}
        case list():
            return [to_i_json(item) for item in value]
        case bool():
            return value
        case int() | Decimal():
            number = to_builtins(value)
            return number if _is_exact_as_double(number, value) else dumps(value)
        case _:
            return value


def _is_exact_as_double(number: object, value: int | Decimal) -> bool:
    if isinstance(number, int):
        return abs(number) <= _LARGEST_SAFE_INTEGER
    return Decimal(repr(number)) == value


EXACT_DECODER = json.JSONDecoder(
    parse_float=_parse_decimal, parse_constant=_refuse_nan_or_infinity
)  # made once: it is costly
_scan = EXACT_DECODER.scan_once  # type: ignore[attr-defined]  # reads one value, and says where it ends; the stub knows it not
_LARGEST_SAFE_INTEGER = 2**53 - 1  # every whole number up to it is a double


def as_text(value: Json) -> str:
    """A text unchanged; any other value as canonical JSON."""
    return value if isinstance(value, str) else dumps(value)


def as_object(value: object) -> JsonObject:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[JsonObject]:
    """The objects in a list; empty for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
