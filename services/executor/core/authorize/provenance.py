"""Which arguments of a call rest on the request's word alone."""

from collections.abc import Sequence

from services.executor.core.dossier.dossier import NamedValue
from services.executor.core.figures.numbers import normal
from services.executor.core.records.binding import BoundFields, CallView
from services.executor.core.records.calculated import speaks_about
from shared.domain.exact_json import Json, JsonObject, dumps


def unproven(
    arguments: JsonObject, view: CallView, bound: BoundFields, values: Sequence[NamedValue] = ()
) -> tuple[str, ...]:
    """The arguments that neither the records around the call nor a computation about it give: the request's word.

    An argument that names a record which was read is given; a value that only somebody else's record shows is not.
    """
    shown = {name: _plain(value) for name, value in bound.recorded.items()}
    computed = {_plain(value.value) for value in values if speaks_about(value, values, view)}
    return tuple(
        name
        for name, value in arguments.items()
        if shown.get(name) != _plain(value) and _plain(value) not in computed and not view.has_read(name, value)
    )


def _plain(value: Json) -> str:
    """A figure by its value, whichever way it is written; anything else as it stands."""
    return normal(value if isinstance(value, str) else dumps(value))
