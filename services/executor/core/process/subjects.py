"""Which changes of a plan rest on a figure, and which records of its kind they name."""

from collections.abc import Iterator, Sequence

from services.executor.core.records.called_records import Seen, words
from services.executor.core.records.refs import literal_parts
from services.executor.core.states.figures import Figure
from services.executor.core.states.patterns import kinds
from services.executor.core.tools.classes import verb_of
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass


def resting(figure: Figure, calls: Sequence[PlannedCall]) -> list[PlannedCall]:
    """The changes that are not made without the figure unless a person says so."""
    if not figure.required:
        return []
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    of_verbs = [call for call in changes if not figure.required_for or verb_of(call.tool) in figure.required_for]
    return [call for call in of_verbs if verb_of(call.tool) not in figure.not_required_for]


def ids_of(figure: Figure, records: Sequence[Seen]) -> frozenset[str]:
    """Of every record of the figure's kind."""
    wanted = kinds(figure.about)
    of_kind = (record for record in records if any(record.is_called(kind) for kind in wanted))
    return frozenset(str(record.id).casefold() for record in of_kind if record.id is not None)


def named_in(figure: Figure, arguments: JsonObject, ids: frozenset[str]) -> frozenset[str]:
    """The records of the figure's kind that a call names: by what was read, or by the name of the argument."""
    said = {str(part).casefold() for part in literal_parts(arguments)}
    keys = frozenset((*words(kind), "id") for kind in kinds(figure.about))
    return frozenset((said & ids) | {text.casefold() for text in _under(arguments, keys)})


def _under(value: Json, keys: frozenset[tuple[str, ...]], taken: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _under(inner, keys, words(key) in keys)
    elif isinstance(value, list):
        for item in value:
            yield from _under(item, keys, taken)
    elif taken and value is not None:
        yield str(value)
