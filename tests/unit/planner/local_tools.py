"""A minimal stand-in of a guarded loop's own tools: understand, calculate, look, and proposals that wait."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from services.planner.core.figures import calculate
from shared.domain.exact_json import Json, JsonObject, dumps

Result = tuple[Json, bool]
_SHOWN = 20
_STEP = re.compile(r"\[(\d+|\*)\]|([A-Za-z_]\w*)")
_TEXT: JsonObject = {"type": "string"}


def _tool(name: str, /, **properties: Json) -> JsonObject:
    required: list[Json] = [*[*properties][:1]]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": "", "input_schema": schema}


LOCAL_TOOLS: tuple[JsonObject, ...] = (
    _tool("understand", parts={"type": "array"}, process=_TEXT, answer_form=_TEXT),
    _tool("calculate", name=_TEXT, operation=_TEXT, operands={"type": "array"}),
    _tool("look", ref=_TEXT, first={"type": "integer"}),
    _tool("what_would_policy_say", tool=_TEXT, arguments={"type": "object"}),
)


class LocalTools:
    """Answers the calls of each reply. ``call``: carries a server's tool out and says whether it failed."""

    def __init__(self, call: Callable[[str, JsonObject], Result], process: JsonObject | None = None) -> None:
        self._call = call
        self._process: JsonObject = process or {}
        self._results: dict[str, Json] = {}
        self._values: dict[str, str] = {}
        self.parts: list[JsonObject] = []

    def answers(self, calls: Sequence[tuple[str, JsonObject]]) -> list[Result]:
        writes = [given for _, given in calls if "_call" in given]
        reads = [name for name, given in calls if "_call" not in given]
        assert not (writes and reads), "a reply either reads or proposes"
        made: list[Json] = []
        return [self._written(*call, made) if writes else self._answer(*call) for call in calls]

    def _answer(self, name: str, given: JsonObject) -> Result:
        match name:
            case "understand":
                return self._understood(given), False
            case "calculate":
                return self._calculated(given)
            case "look":
                rows = next(value for value in _lists(self._results[str(given["ref"])]))
                return [*rows[: int(str(given.get("first", len(rows))))]], False
            case _:
                return self._read(name, given)

    def _understood(self, given: JsonObject) -> Json:
        parts = given["parts"]
        assert isinstance(parts, list)
        assert parts
        self.parts = [{"part": place, **part} for place, part in enumerate(parts, 1) if isinstance(part, dict)]
        return {"parts": [*self.parts], "process": {"type": given["process"], **self._process}}

    def _read(self, name: str, given: JsonObject) -> Result:
        result, failed = self._call(name, given)
        if failed:
            return result, True
        ref = f"r{len(self._results) + 1}"
        self._results[ref] = result
        return f"{dumps(_shortened(result))}\n[{ref}{_note(result)}]", False

    def _calculated(self, given: JsonObject) -> Result:
        operands = given["operands"]
        assert isinstance(operands, list)
        shown = [value for operand in operands for value in self._meant(str(operand))]
        counts = given["operation"] == "count"
        amounts = [Decimal(1) if counts else Decimal(str(value)) for value in shown]
        value = format(calculate(str(given["operation"]), amounts), "f")
        self._values[str(given["name"])] = value
        return {"name": given["name"], "value": value}, False

    def _meant(self, operand: str) -> list[Json]:
        if operand in self._values:
            return [self._values[operand]]
        if re.fullmatch(r"-?[\d.]+", operand):
            return [operand]
        ref = operand.partition(".")[0].partition("[")[0]
        found: list[Json] = [self._results[ref]]
        for index, name in _STEP.findall(operand[len(ref) :]):
            found = [one for value in found for one in _inside(value, index, name)]
        return found

    def _written(self, name: str, given: JsonObject, made: list[Json]) -> Result:
        note = given.pop("_call")
        assert isinstance(note, dict)
        assert any(part["part"] == note["part"] and part["kind"] == "do" for part in self.parts), note
        links = note.get("from", {})
        assert isinstance(links, dict)
        for argument, link in links.items():
            place, _, field = str(link).partition(".")
            answer = made[int(place) - 1]
            assert isinstance(answer, dict)
            given[argument] = answer[field]
        result, failed = self._call(name, given)
        made.append(result)
        status = "refused" if failed else "verified"
        return {"status": status, "answer": result, "note": str(result) if failed else ""}, False


def _inside(value: Json, index: str, name: str) -> list[Json]:
    if name:
        return [value[name]] if isinstance(value, dict) else []
    assert isinstance(value, list)
    return [*value] if index == "*" else [value[int(index)]]


def _lists(result: Json) -> list[list[Json]]:
    if isinstance(result, list):
        return [result]
    return [value for value in result.values() if isinstance(value, list)] if isinstance(result, dict) else []


def _shortened(result: Json) -> Json:
    if isinstance(result, list):
        return result[:_SHOWN]
    if isinstance(result, dict):
        return {name: value[:_SHOWN] if isinstance(value, list) else value for name, value in result.items()}
    return result


def _note(result: Json) -> str:
    long = next((rows for rows in _lists(result) if len(rows) > _SHOWN), None)
    return "" if long is None else f": {len(long)} rows, the first {_SHOWN} are shown; look shows the rest"
