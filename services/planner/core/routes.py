"""The ways of a process by age: each listed thing goes the way of the range that its age falls into."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.binding import BoundWay
from services.planner.core.intents import Intent
from services.planner.core.records import FactRecord, number, own_id
from services.planner.core.references import is_reference, wanted_noun
from services.planner.core.request import ToolSpec
from services.planner.core.selection import matching
from services.planner.core.situation import CERTAIN, ArgumentCandidate, Situation
from services.planner.core.words import field_stems, is_identifier, nouns, stem, stems, text_stems

_AGES = stems(("age", "aging", "overdue", "past"))


class Routed(NamedTuple):
    """What each thing's way comes to, and why a thing goes none."""

    calls: tuple[BoundWay, ...] = ()
    left_out: tuple[str, ...] = ()


def route_listed(intent: Intent, situation: Situation, writers: Sequence[ToolSpec]) -> Routed:
    """A call for each listed thing that the clause means and whose age is known; nothing where there are no ways."""
    calls: list[BoundWay] = []
    left_out: list[str] = []
    for record in matching(intent.clause, situation) if situation.routes else ():
        known, age = own_id(record), _age(record)
        if known is None or age is None:
            continue
        way = _way(age, situation)
        tool = _tool(way, record, writers)
        if tool is None or (done := _stands(record, tool)):
            left_out.append(f"{known[1]}: {f'it stands at {done} already' if tool else 'no tool takes its way'}")
            continue
        calls.append(_bind_record(tool, record, known[0]))
    return Routed(tuple(calls), tuple(left_out))


def _age(record: FactRecord) -> Decimal | None:
    """The one figure of a record that counts how old or how overdue it is."""
    fields = [name for name in record.fields if field_stems(name) & _AGES and not is_identifier(name)]
    ages = [age for name in fields if (age := number(record.fields[name])) is not None]
    return ages[0] if len(ages) == 1 else None


def _way(age: Decimal, situation: Situation) -> str:
    """The name and the words of the range that an age falls into; empty if there is none."""
    for route in situation.routes:
        over, up_to = number(route.get("over")), number(route.get("up_to"))
        if (over is None or age > over) and (up_to is None or age <= up_to):
            return f"{route.get('name')}: {route.get('way')}"
    return ""


def _tool(way: str, record: FactRecord, writers: Sequence[ToolSpec]) -> ToolSpec | None:
    """The tool that takes the thing and of which all words but the verb stand in the way; the one with most of them."""
    said = text_stems(way)
    fitting = [tool for tool in writers if nouns(tool.name) and nouns(tool.name) <= said and _slot(tool, record)]
    return max(fitting, key=lambda tool: (len(nouns(tool.name)), tool.name), default=None)


def _slot(tool: ToolSpec, record: FactRecord) -> str:
    """The tool's one required field, if it identifies the thing."""
    slots = [name for name in tool.required if is_reference(tool, name) and wanted_noun(tool, name) & record.noun]
    return slots[0] if len(slots) == 1 == len(tool.required) else ""


def _stands(record: FactRecord, tool: ToolSpec) -> str:
    """The state of a record that the tool would lead to."""
    own = nouns(tool.name)
    return next((value for value in record.fields.values() if isinstance(value, str) and stem(value) in own), "")


def _bind_record(tool: ToolSpec, record: FactRecord, field: str) -> BoundWay:
    return BoundWay(
        tool, ((_slot(tool, record), ArgumentCandidate(record.fields[field], "result", record.ref(field), CERTAIN)),)
    )
