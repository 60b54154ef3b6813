"""Where a plan's figures come from: a tool result, a named value, or the task's own text, and nothing else."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from services.executor.core.authorize.clock_tokens import is_of_clock
from services.executor.core.dossier.dossier import Dossier, NamedValue
from services.executor.core.figures.numbers import normal, number_bearing_tokens, numbers_in_words
from services.executor.core.records.binding import BoundFields, CallView
from services.executor.core.records.calculated import speaks_about
from services.executor.core.records.refs import literal_parts
from shared.contracts.plan import WritePlan
from shared.domain.exact_json import Json, JsonObject, dumps


def untraced_arguments(plan: WritePlan, dossier: Dossier, task: str, now: datetime | None = None) -> tuple[str, ...]:
    """The figures and identifiers in the plan's arguments that stand neither in the task nor in what was collected.

    A token counts if it contains a digit, and so does a number that is written out: other words are free. What a
    server said in refusing a call is no source, since it may only repeat the call. A minus may be dropped, never added.
    ``now``: the clock that the task goes by, if it has one: days and hours that are told from it need no other source.
    """
    known = set(_known_tokens(dossier, task))
    return tuple(
        f"{call.call_id} {token}"
        for call in plan.every_call
        for part in literal_parts(call.arguments)
        for token in _tokens(part)
        if normal(token) not in known and not (now and is_of_clock(token, part, now))
    )


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


def _known_tokens(dossier: Dossier, task: str) -> Iterator[str]:
    collected: Iterator[Json] = (part for fact in dossier.facts if fact.ok for part in literal_parts(fact.result))
    for part in (task, *collected, *(value.value for value in dossier.values)):
        for token in _tokens(part):
            yield from (normal(token), normal(token).removeprefix("-"))
        if isinstance(part, str):  # "this one" is no source of a 1
            yield from (str(number) for number in numbers_in_words(part, everyday=True) if number > 1)


def _tokens(part: Json) -> list[str]:
    if isinstance(part, bool) or part is None:
        return []
    if not isinstance(part, str):
        return number_bearing_tokens(dumps(part))
    return [*number_bearing_tokens(part), *map(str, numbers_in_words(part))]
