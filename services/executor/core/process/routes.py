"""The list whose rows each go their own way: does the plan heed every row of it, and give each the way of its age?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from services.executor.core.figures.columns import condition
from services.executor.core.figures.numbers import figure
from services.executor.core.process.rows import Ambiguous, ChosenRows, FigureInputs, Links, NotThere, rows_of
from services.executor.core.records.called_records import Seen, find_records, is_named, stands_in
from services.executor.core.records.references import literal_parts
from services.executor.core.session.dossier import Progress
from services.executor.core.states.template import Route, Template, pattern
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import names_a_record
from shared.contracts.plan import WritePlan
from shared.domain.answer import is_exact_match
from shared.domain.exact_json import as_text
from shared.domain.keywords import keywords, stem

_NAMED = 20  # how many rows a sentence names; the rest are counted


class Unheeded(NamedTuple):
    """A row for which the plan has no call."""

    id: str
    age: Decimal
    route: str

    @property
    def text(self) -> str:
        return f"{self.id} ({self.age:f} days: {self.route})"


def with_rows_left(progress: Progress, task: str) -> Progress:
    """The answered progress, which names the rows for which nothing was done; a list stays one (I9)."""
    plan, answer = progress.dossier.plan, progress.dossier.answer or ""
    left = [] if plan is None else [row for row in unheeded_rows(progress, task, plan) if not stands_in(row.id, answer)]
    if not left or plan is None:
        return progress
    why = f" {plan.why_none}" if plan.why_none else ""
    said = f"Nothing was done for {_list_rows(left)}.{why}"
    noted = progress.model_copy(update={"notes": {**progress.notes, "rows_left_out": said}})
    return noted if is_exact_match(answer) else noted.update_dossier(answer=f"{answer.rstrip()}\n\n{said}")


def unheeded_rows(progress: Progress, task: str, plan: WritePlan) -> list[Unheeded]:
    """The rows whose age gives them a way, and that no call names; none where no one list is plainly meant."""
    rows = _find_rows(progress, task)
    spoken_of = {as_text(one).strip().casefold() for call in plan.calls for one in literal_parts(call.arguments)}
    common = set.intersection(*map(_names, rows)) if len(rows) > 1 else set()  # that tells none from the others
    left = [record for record in rows if not (_names(record) - common) & spoken_of]
    return [row for record in left for row in _due(progress.template, record)]


def calls_off_route(progress: Progress, said: Sequence[str], plan: WritePlan) -> dict[str, str]:
    """By the id of the call, why it is not made: it takes a row the way of another age.

    ``said``: the user's own words, the task first. Where they name the row, or that other way, they decide. A tool
    takes the way whose words its name has, if no other way has these.
    """
    template, found = progress.template, dict[str, str]()
    rows = {row.id.casefold(): row for record in _find_rows(progress, said[0]) for row in _due(template, record)}
    asked = frozenset(word for text in said for word in keywords(text, len(text)))
    for call in plan.calls if rows else ():
        ways = _ways_of_tool(template.routes, call.tool)
        for one in {as_text(part).strip().casefold() for part in literal_parts(call.arguments)} & rows.keys():
            row = rows[one]
            if not ways or row.route in ways or any(stands_in(row.id, text) for text in said):
                continue
            if asked.isdisjoint(frozenset[str]().union(*ways.values())):
                found[call.call_id] = (
                    f"{row.id} stands at {row.age:f} days: its way is {row.route}, and {call.tool} is that of "
                    f"{' or '.join(ways)}"
                )
    return found


def _ways_of_tool(routes: Sequence[Route], tool: str) -> dict[str, frozenset[str]]:
    """The routes whose own words a tool's name has most of, each with these words."""
    words = {route.name: frozenset(keywords(f"{route.name} {route.way}")) for route in routes}
    shared = Counter(word for own in words.values() for word in own)
    named = frozenset(map(stem, words_of(tool)))
    hits = {name: frozenset(word for word in own & named if shared[word] == 1) for name, own in words.items()}
    most = max(map(len, hits.values()), default=0)
    return {name: own for name, own in hits.items() if own and len(own) == most}


def _find_rows(progress: Progress, task: str) -> list[Seen]:
    """The rows that the task is about; none where the process gives rows no way, or no one list is plainly meant."""
    template = progress.template
    if not template.routes or not template.routed:
        return []
    records = find_records(progress.dossier.facts)
    named = [record for record in records if is_named(record, task)]
    around = FigureInputs(named, records, task, Links(records))
    try:
        return _rows_meant(rows_of(pattern(template.routed), around))
    except (Ambiguous, NotThere):
        return []


def _rows_meant(rows: ChosenRows) -> list[Seen]:
    tests = [[condition(text) for text in alternative] for alternative in rows.alternatives]
    return [record for record in rows.records if any(all(holds(record.record) for holds in each) for each in tests)]


def _due(template: Template, record: Seen) -> Iterator[Unheeded]:
    field = record.field(pattern(template.routed).fields)
    age = figure(record.record[field]) if field else None
    route = _route(template.routes, age) if age is not None else None
    if age is not None and route is not None and record.id is not None:
        yield Unheeded(as_text(record.id), age, route.name)


def _route(routes: Sequence[Route], age: Decimal) -> Route | None:
    return next((one for one in routes if age > one.over and (one.up_to is None or age <= one.up_to)), None)


def _names(record: Seen) -> set[str]:
    """The ids that stand in a row, its own and those of whom it is about."""
    return {
        as_text(value).casefold()
        for key, value in record.record.items()
        if (key == record.id_field or names_a_record(key) or key.lower().endswith("email")) and value is not None
    }


def _list_rows(rows: Sequence[Unheeded]) -> str:
    more = len(rows) - _NAMED
    return ", ".join(row.text for row in rows[:_NAMED]) + (f" and {more} more" if more > 0 else "")
