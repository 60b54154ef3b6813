"""Which records of a read-back a call is about: by the identifiers it names, never by looking alike."""

import re
from collections.abc import Mapping

from services.executor.core.execute.records import records_in
from services.executor.core.execute.sameness import names_a_record, same
from services.executor.core.finance.figures import figure
from shared.domain.exact_json import Json, JsonObject, dumps

_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def subjects(shown: Json, arguments: JsonObject, result: Json) -> list[JsonObject]:
    """The records that the call names and those that refer to them; all records where the call names none.

    A record alone in its answer counts too, unless its own ``id`` is neither in the call nor in the call's result.
    """
    records = list(records_in(shown))
    names = _names(arguments)
    if not names:
        return records
    named = [record for record in records if any(same(own_id(record), name) for name in names.values())]
    if named:
        return [record for record in records if record in named or _refers(record, names)]
    alone = len(records) == 1
    return [
        record
        for record in records
        if _refers(record, names) or _shows(record, names) or (alone and not _is_another(record, arguments, result))
    ]


def own_id(record: JsonObject) -> Json:
    return next((value for key, value in record.items() if key.lower() == "id"), None)


def _names(arguments: JsonObject) -> dict[str, Json]:
    """The call's identifiers: by the field's name, or else texts with a digit that are no figure and no date."""
    scalars: dict[str, Json] = {
        key: value for key, value in arguments.items() if value is not None and not isinstance(value, dict | list)
    }
    by_key = {key: value for key, value in scalars.items() if names_a_record(key)}
    return by_key or {key: value for key, value in scalars.items() if _looks_like_a_name(value)}


def _looks_like_a_name(value: Json) -> bool:
    if not isinstance(value, str) or " " in value.strip() or _DATE.match(value):
        return False
    return figure(value) is None and any(mark.isdigit() for mark in value)


def _refers(record: JsonObject, names: Mapping[str, Json]) -> bool:
    return any(key in record and same(record[key], name) for key, name in names.items())


def _shows(record: JsonObject, names: Mapping[str, Json]) -> bool:
    """Whether a name stands under another field. A number may stand anywhere, so it names nothing there."""
    return any(
        figure(name) is None and same(value, name) for value in record.values() for name in names.values() if name
    )


def _is_another(record: JsonObject, arguments: JsonObject, result: Json) -> bool:
    own = own_id(record)
    if own is None:
        return False
    return not any(same(own, value) for value in arguments.values()) and str(own) not in dumps(result)
