"""The read that will show whether a write took hold, and what it should then show."""

from collections.abc import Sequence
from decimal import Decimal

from services.planner.core.binding import Bound
from services.planner.core.intents import Intent
from services.planner.core.made import id_field, made_by
from services.planner.core.records import Record
from services.planner.core.references import is_reference, wanted
from services.planner.core.request import ToolSpec
from services.planner.core.situation import Situation, about
from services.planner.core.words import FAMILIES, field_stems, nouns, stem, stems
from shared.domain.exact_json import Json, JsonObject, dumps


def read_back(
    intent: Intent, bound: Bound, situation: Situation, readers: Sequence[ToolSpec], call_id: str
) -> JsonObject | None:
    """The best read over the same things; None if no read takes an identifier that the write or its result has."""
    best = max(((_fit(bound, reader), -len(reader.properties), reader.name) for reader in readers), default=None)
    reader = next((one for one in readers if best and best[0] > 0 and one.name == best[2]), None)
    if reader is None or nouns(reader.name) != nouns(bound.tool.name):
        looked_up = _of_result(bound, situation, readers, call_id)
        if reader is None or looked_up:
            return looked_up
    arguments = _arguments(bound, reader)
    expected = _expected(intent, bound, reader, situation, readers)
    return {"tool": reader.name, "arguments_json": dumps(arguments), "expect_json": dumps(expected)}


def _of_result(bound: Bound, situation: Situation, readers: Sequence[ToolSpec], call_id: str) -> JsonObject | None:
    """The look-up of a new thing by the identifier that the write itself answers with."""
    noun = made_by(bound.tool)
    for reader in readers if noun else ():
        if len(reader.required) == 1 and nouns(reader.name) == noun and wanted(reader, reader.required[0]) == noun:
            place: JsonObject = {"$ref": f"{call_id}.{id_field(noun, situation)}"}
            return {"tool": reader.name, "arguments_json": dumps({reader.required[0]: place}), "expect_json": "{}"}
    return None


def _written(bound: Bound) -> frozenset[str]:
    """What the write is about: its tool's nouns, its verb included where the verb is the thing that it makes."""
    return nouns(bound.tool.name) | stems(bound.tool.name.replace("-", "_").split("_"))


def _fit(bound: Bound, reader: ToolSpec) -> int:
    arguments = _arguments(bound, reader)
    if any(name not in arguments for name in reader.required) or not arguments:
        return 0
    own = nouns(reader.name)
    akin = frozenset(word for word in own if _akin(word, _written(bound)))
    one = 1 if any(wanted(reader, name) == own for name in reader.required) else 0
    return 10 + 3 * len(akin) - len(own - akin) + one if akin or own & _identified(bound) else 0


def _akin(word: str, written: frozenset[str]) -> bool:
    """The same word, or the thing that a verb makes: ``register`` a ``registration``."""
    return any(word == other or (len(other) >= 5 and word.startswith(other)) for other in written)


def _identified(bound: Bound) -> frozenset[str]:
    return frozenset().union(*(wanted(bound.tool, name) for name, _ in bound.chosen if is_reference(bound.tool, name)))


def _arguments(bound: Bound, reader: ToolSpec) -> JsonObject:
    """The write's arguments that identify the same things for the reader."""
    given: JsonObject = {}
    for name in reader.properties:
        noun = wanted(reader, name)
        for own, found in bound.chosen:
            same = field_stems(own) == field_stems(name) and own in bound.tool.required
            if same or (
                is_reference(reader, name) and is_reference(bound.tool, own) and wanted(bound.tool, own) == noun
            ):
                given[name] = found.value
    return given


def _expected(
    intent: Intent, bound: Bound, reader: ToolSpec, situation: Situation, readers: Sequence[ToolSpec]
) -> JsonObject:
    """The record's own fields that the write sets, and the state that its verb names if the state is a known one."""
    record = _before(bound, reader, situation)
    if record is None or record.in_list:
        return {}
    expected: JsonObject = {}
    for name, found in bound.chosen:
        if not is_reference(bound.tool, name) and (field := _same_field(name, record)):
            expected[field] = _as_shown(found.value, record.fields[field])
    return expected | _state(intent, record, situation, bound, readers)


def _before(bound: Bound, reader: ToolSpec, situation: Situation) -> Record | None:
    """The record that the read-back showed before the write."""
    ids = {str(found.value) for name, found in bound.chosen if is_reference(bound.tool, name)}
    seen = [record for record in about(situation, nouns(reader.name)) if record.fact.tool == reader.name]
    return next((record for record in seen if ids & {str(value) for value in record.fields.values()}), None)


def _same_field(name: str, record: Record) -> str | None:
    own = field_stems(name) - {"new"}
    return next((field for field in record.fields if field_stems(field) == own), None)


def _as_shown(value: Json, before: Json) -> Json:
    """A figure in the type and with the decimals that the record shows."""
    if isinstance(before, str) and isinstance(value, int | Decimal) and not isinstance(value, bool):
        places = len(before.partition(".")[2])
        return format(Decimal(value), f".{places}f")
    return value


def _choices(field: str, now: str, readers: Sequence[ToolSpec]) -> set[str]:
    """The states that a reader's filter offers, if the present one is among them."""
    listed = [reader.properties[field].get("enum") for reader in readers if field in reader.properties]
    return {str(word) for words in listed if isinstance(words, list) and now in words for word in words}


def _state(
    intent: Intent, record: Record, situation: Situation, bound: Bound, readers: Sequence[ToolSpec]
) -> JsonObject:
    """``approve`` leads to ``approved`` where some other record, or a choice of a tool, shows such a state."""
    if intent.family not in ("approve", "reject", "cancel", "close", "block", "archive"):
        return {}
    verbs = {stem(bound.tool.name.replace("-", "_").split("_")[0]), stem(intent.verb)}
    verbs |= {stem(word) for word in FAMILIES.get(intent.family, ()) if stem(word) in verbs}
    for field in record.fields:
        shown = {str(other.fields.get(field)) for other in situation.records}
        shown |= _choices(field, str(record.fields[field]), readers)
        state = next((value for value in sorted(shown) if value.endswith("ed") and stem(value) in verbs), None)
        if state:
            return {field: state}
    return {}
