"""What several named things say differently of one field: a read for each of its values."""

from services.planner.core.binding import BoundWay
from services.planner.core.records import own_id
from services.planner.core.references import is_reference
from services.planner.core.situation import LIKELY, ArgumentCandidate, Situation, names

_MANY = 8


def of_each_named(way: BoundWay, situation: Situation) -> list[BoundWay]:
    """The call for each value that its one open text has in the records that the task names by their identifiers.

    The call as it is where they agree, where nothing of the kind is open, or where it would be too many.
    """
    names_open = [name for name in way.tool.required if _is_open(way, name)]
    values = _values(names_open[0], situation) if len(names_open) == 1 else []
    if not 1 < len(values) <= _MANY:
        return [way]
    left = tuple(name for name in way.missing if name not in names_open)
    return [BoundWay(way.tool, tuple({**dict(way.chosen), names_open[0]: one}.items()), left) for one in values]


def _is_open(way: BoundWay, name: str) -> bool:
    """Whether a text is missing, or was taken from a record although it identifies nothing."""
    found = way.candidate(name)
    return not is_reference(way.tool, name) and (found is None or found.source == "result")


def _values(name: str, situation: Situation) -> list[ArgumentCandidate]:
    found: dict[str, ArgumentCandidate] = {}
    for record in situation.records:
        known, value = own_id(record), record.fields.get(name)
        if known and isinstance(value, str) and value and names(situation.text, str(known[1])):
            found.setdefault(value, ArgumentCandidate(value, "result", record.ref(name), LIKELY))
    return [*found.values()]
