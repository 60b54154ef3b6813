"""The figures of a process, computed by code: each is exact and has its operands, or is missing with a reason.

A figure is computed only where each operand has exactly one match among the records linked to what the task is about.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.calculator import CannotCalculate, decimal_text
from services.executor.core.figures.evaluate import evaluate_value
from services.executor.core.figures.numbers import number_bearing_tokens, read_figure as plain_figure
from services.executor.core.figures.operands import OperandFinder, OperandSources, select_cells
from services.executor.core.process.rows import (
    AmbiguousOperand,
    ChosenRows,
    FigureInputs,
    OperandNotFound,
    RecordLinks,
    RowGroup,
    build_row_operands,
    choose_rows,
    field_path,
    find_pattern_operands,
    group_rows,
    ids_of_figure_kind,
)
from services.executor.core.records.record_graph import build_record_graph
from services.executor.core.records.references import literal_scalars
from services.executor.core.records.seen_records import SeenRecord, is_named_in_task, occurs_in
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.values import (
    Fact,
    FigureResults,
    MissingFigure,
    NamedValue,
    Operand,
    SharedOperand,
    with_figures,
)
from services.executor.core.states.machine import (
    Figure,
    OperandPattern,
    ProcessTemplate,
    Route,
    is_figure_name,
    parse_pattern,
)
from services.executor.core.states.prompts import render_in_order
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NoSuchPath, RecordKeys, is_id_name
from shared.contracts.plan import WritePlan
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, as_text
from shared.domain.keywords import keywords, stem

_NO_WORD = re.compile(r"[^a-z0-9]+")


class _FigureSubject(NamedTuple):
    """The records of the one thing that a figure is computed for. ``id``: empty if the task has one subject only."""

    anchors: tuple[SeenRecord, ...]
    id: str = ""


def compute_figures(template: ProcessTemplate, facts: Sequence[Fact], task: str, keys: RecordKeys) -> FigureResults:
    """Computes the template's figures. Of several definitions of one name the first that can be computed counts."""
    return _compute_figures(template.figures, tuple(facts), task, keys) if template.figures else FigureResults()


@lru_cache(maxsize=8)  # each state of a run asks for the same
def _compute_figures(
    figures: tuple[Figure, ...], given: tuple[Fact, ...], task: str, keys: RecordKeys
) -> FigureResults:
    links, sources = RecordLinks(build_record_graph(given, keys)), OperandFinder(OperandSources(given, (), (task,)))
    records = links.records
    known: dict[str, NamedValue] = {}
    missing: dict[tuple[str, str], MissingFigure] = {}
    about: dict[str, set[str]] = {}
    for figure in figures:
        for subject in _find_subjects(figure, links, task):
            about.setdefault(figure.name, set()).update(ids_of_figure_kind(figure, subject.anchors))
            names = {name for one in known.values() if one.about == subject.id for name in (one.figure, one.group)}
            if figure.name in names:
                continue
            try:
                found = _compute_values(figure, FigureInputs(subject.anchors, task, links), subject.id, sources, known)
            except (AmbiguousOperand, OperandNotFound, NoSuchPath, CannotCalculate) as why:
                missing.setdefault((figure.name, subject.id), MissingFigure(figure.name, str(why), subject.id))
                continue
            known |= {value.name: value for value in found}
            for value in found:
                sources = sources.with_value(value)
            missing.pop((figure.name, subject.id), None)
    subjects = {name: frozenset(ids) for name, ids in about.items()}
    return FigureResults(
        tuple(known.values()), tuple(missing.values()), subjects, _find_shared_operands(known.values(), records)
    )


def _find_shared_operands(
    values: Iterable[NamedValue], records: Sequence[SeenRecord]
) -> dict[str, tuple[SharedOperand, ...]]:
    """For each figure, the record fields from which the differences of several subjects are computed."""
    places = {
        (record.fact.ref, field_path(record.path, key)): (record.identity, key)
        for record in records
        for key in record.record
        if key != "currency"
    }
    drawn: dict[str, dict[tuple[str, str], list[tuple[str, int]]]] = {}
    for value in values:
        if value.about and value.operation == "difference":
            for rank, operand in enumerate(value.operands):
                if place := places.get((operand.ref, operand.path)):
                    drawn.setdefault(value.figure, {}).setdefault(place, []).append((value.about.casefold(), rank))
    found = {
        name: [_build_shared_operand(uses, place, records) for place, uses in by.items()] for name, by in drawn.items()
    }
    return {name: tuple(one for one in some if len(one.ids) > 1) for name, some in found.items()}


def _build_shared_operand(
    uses: Sequence[tuple[str, int]], place: tuple[str, str], records: Sequence[SeenRecord]
) -> SharedOperand:
    """The subjects that share an operand. ``whole``: its value, if all differences start from it and reads agree."""
    identity, key = place
    same = [record.record for record in records if record.identity == identity]
    read = {plain_figure(record[key]) for record in same if key in record}
    whole = read.pop() if len(read) == 1 and all(rank == 0 for _, rank in uses) else None
    return SharedOperand(frozenset(about for about, _ in uses), whole)


def _find_subjects(figure: Figure, links: RecordLinks, task: str) -> list[_FigureSubject]:
    """What to compute the figure for: each record of its kind that the task names; else the only record of the kind, or
    the one whose amount the task states; else all records that the task names, as one subject.
    """
    wanted, records = figure.kinds, links.records
    of_kind: dict[str, list[SeenRecord]] = {}
    for record in (one for one in records if any(one.name_ends_in(kind) for kind in wanted)):
        of_kind.setdefault(record.identity, []).append(record)
    named = {identity: same for identity, same in of_kind.items() if any(is_named_in_task(one, task) for one in same)}
    if not named and len(of_kind) == 1:
        named = of_kind
    if len(named) > 1:
        return [_FigureSubject(tuple(same), str(same[0].id)) for same in named.values()]
    if named:
        return [_FigureSubject(tuple(next(iter(named.values()))))]
    others = tuple(record for record in records if is_named_in_task(record, task))
    stated = [same for same in of_kind.values() if _is_amount_stated(figure, same, others, links, task)]
    return [_FigureSubject(tuple(stated[0]), str(stated[0][0].id)) if len(stated) == 1 else _FigureSubject(others)]


def _is_amount_stated(
    figure: Figure, same: Sequence[SeenRecord], others: Sequence[SeenRecord], links: RecordLinks, task: str
) -> bool:
    """Whether the task states an amount of these records, and they belong to no other record than those named."""
    amounts = {amount for token in number_bearing_tokens(task) if (amount := plain_figure(token)) is not None}
    wanted = [parse_pattern(text) for text in figure.operands if not is_figure_name(text)]
    own = [one for one in wanted if any(record.name_ends_in(kind) for record in same for kind in one.kinds)]
    given = [
        record.record[field] for record in same for one in own if (field := record.find_field(one.fields)) is not None
    ]
    return any(plain_figure(value) in amounts for value in given) and not any(
        links.belongs_to_another(record, other) for record in same for other in others
    )


def _compute_values(
    figure: Figure, inputs: FigureInputs, subject_id: str, given: OperandFinder, known: Mapping[str, NamedValue]
) -> list[NamedValue]:
    wanted = [_find_earlier_figure(text, known, subject_id) or parse_pattern(text) for text in figure.operands]
    sources = [choose_rows(one, inputs) if isinstance(one, OperandPattern) and one.rows else one for one in wanted]
    made = []
    for group in group_rows([one for one in sources if isinstance(one, ChosenRows)], figure.by):
        found = [operand for one in sources for operand in _find_operands(one, inputs, figure.operation, group)]
        asked = NamedValue(name="", operation=figure.operation, operands=tuple(found), value="")
        result = evaluate_value(given, asked)
        made.append(_build_value(figure, subject_id, found, Decimal(result.value), group.value if group else None))
    return made


def _find_operands(
    source: Operand | OperandPattern | ChosenRows, inputs: FigureInputs, operation: str, group: RowGroup | None
) -> list[Operand]:
    if isinstance(source, Operand):
        return [source]
    if isinstance(source, ChosenRows):
        return build_row_operands(source, operation, group)
    return find_pattern_operands(source, inputs, operation)


def _build_value(figure: Figure, subject_id: str, found: list[Operand], result: Decimal, group: Json) -> NamedValue:
    own = figure.name if group is None else f"{figure.name}_{_to_snake_case(str(group))}"
    return NamedValue(
        name=f"{own}_{_to_snake_case(subject_id)}" if subject_id else own,
        operation=figure.operation,
        operands=tuple(found),
        value=decimal_text(result),
        figure=own,
        about=subject_id,
        group=figure.name if group is not None else "",
    )


def _find_earlier_figure(text: str, known: Mapping[str, NamedValue], subject_id: str) -> Operand | None:
    """The earlier figure that the text names, of this subject or of none, as an operand; None if the text is no
    figure's name. Raises ``OperandNotFound`` if the figure could not be computed.
    """
    if not is_figure_name(text):
        return None
    for owner in (subject_id, ""):
        for value in known.values():
            if value.figure == text and value.about == owner:
                return Operand(source="value", ref=value.name)
    raise OperandNotFound(f"{text} is not known")


def _to_snake_case(text: str) -> str:
    return _NO_WORD.sub("_", text.lower()).strip("_")


def with_process_figures(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with the process's figures, computed from its present facts; they take precedence over the model's
    own values of the same names.
    """
    own = compute_figures(progress.template, progress.dossier.facts, ctx.task, ctx.toolbox.keys)
    return progress.update_dossier(values=with_figures(progress.dossier.values, own))


def render_figures(ctx: TurnContext, progress: Progress) -> str:
    """The process's figures as text for the model, also those that could not be computed; empty if there are none."""
    own = compute_figures(progress.template, progress.dossier.facts, ctx.task, ctx.toolbox.keys)
    values: list[Json] = [{"name": value.name, "value": value.value} for value in own.values]
    missing: list[Json] = [{"missing": one.text} for one in own.missing] if progress.dossier.facts else []
    told = [*values, *missing]
    return render_in_order({"values": told}) if told else ""


def describe_process(template: ProcessTemplate) -> Json:
    """What a process file tells a model, without its empty entries."""
    instruction = " ".join(" ".join(template.instructions.get(state, "") for state in template.states).split())
    said: dict[str, Json] = {
        "suggested" if template.synthesized else "instruction": instruction,
        "outputs": list(template.outputs),
        "notice_to": template.notice_to,
        "routes": [
            {
                "name": route.name,
                "over": route.over,
                **({} if route.up_to is None else {"up_to": route.up_to}),
                "way": route.way,
            }
            for route in template.routes
        ],
    }
    return {"type": template.process_type, **{name: value for name, value in said.items() if value}}


_MOST_NAMED = 20  # how many rows a sentence names; the rest are counted


class DueRow(NamedTuple):
    """A row whose age in days falls under one of the template's routes."""

    id: str
    age: Decimal
    route: str

    @property
    def text(self) -> str:
        return f"{self.id} ({self.age:f} days: {self.route})"


def append_rows_without_call(progress: Progress, task: str, keys: RecordKeys) -> Progress:
    """The answered progress; its answer, or its notes if the answer is exact (I9), lists rows without a call."""
    plan, answer = progress.dossier.plan, progress.dossier.answer or ""
    left = (
        []
        if plan is None
        else [row for row in rows_without_call(progress, task, plan, keys) if not occurs_in(row.id, answer)]
    )
    if not left or plan is None:
        return progress
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    said = f"Nothing was done for {', '.join(row.text for row in left[:_MOST_NAMED])}{more}."
    noted = progress.add_notes(rows_left_out=said)
    return noted if is_json_list(answer) else noted.update_dossier(answer=f"{answer.rstrip()}\n\n{said}")


def rows_without_call(progress: Progress, task: str, plan: WritePlan, keys: RecordKeys) -> list[DueRow]:
    """The rows that are due under a route and that no call names; empty if it is unclear which list is meant."""
    rows = _find_routed_rows(progress, task, keys)
    spoken_of = {as_text(one).strip().casefold() for call in plan.calls for one in literal_scalars(call.arguments)}
    common = set.intersection(*map(_ids_of_row, rows)) if len(rows) > 1 else set()  # that tells none from the others
    left = [record for record in rows if not (_ids_of_row(record) - common) & spoken_of]
    return [row for record in left for row in _find_due_row(progress.template, record)]


def calls_on_wrong_route(
    progress: Progress, user_texts: Sequence[str], plan: WritePlan, keys: RecordKeys
) -> dict[str, str]:
    """By call id, why a call is not made: its row's age belongs to another route, and no user text names the row or the
    call's route.
    """
    template, found = progress.template, dict[str, str]()
    rows = {
        row.id.casefold(): row
        for record in _find_routed_rows(progress, user_texts[0], keys)
        for row in _find_due_row(template, record)
    }
    asked = frozenset(word for text in user_texts for word in keywords(text, len(text)))
    for call in plan.calls if rows else ():
        ways = _routes_of_tool(template.routes, call.tool)
        for one in {as_text(part).strip().casefold() for part in literal_scalars(call.arguments)} & rows.keys():
            row = rows[one]
            if not ways or row.route in ways or any(occurs_in(row.id, text) for text in user_texts):
                continue
            if asked.isdisjoint(frozenset[str]().union(*ways.values())):
                found[call.call_id] = (
                    f"{row.id} stands at {row.age:f} days: its way is {row.route}, and {call.tool} is that of "
                    f"{' or '.join(ways)}"
                )
    return found


def _routes_of_tool(routes: Sequence[Route], tool: str) -> dict[str, frozenset[str]]:
    """The routes to which a tool belongs, with the words that say so: those with the most words of the tool's name that
    no other route has.
    """
    words = {route.name: frozenset(keywords(f"{route.name} {route.way}")) for route in routes}
    shared = Counter(word for own in words.values() for word in own)
    named = frozenset(map(stem, words_of(tool)))
    hits = {name: frozenset(word for word in own & named if shared[word] == 1) for name, own in words.items()}
    most = max(map(len, hits.values()), default=0)
    return {name: own for name, own in hits.items() if own and len(own) == most}


def _find_routed_rows(progress: Progress, task: str, keys: RecordKeys) -> list[SeenRecord]:
    """The rows of the list that the template routes and the task is about; empty if that is unclear."""
    template = progress.template
    if not template.routes or not template.routed:
        return []
    links = RecordLinks(build_record_graph(progress.dossier.facts, keys))
    named = [record for record in links.records if is_named_in_task(record, task)]
    around = FigureInputs(named, task, links)
    try:
        rows = choose_rows(parse_pattern(template.routed), around)
    except (AmbiguousOperand, OperandNotFound):
        return []
    paths = (f"{rows.first.rows}{''.join(f'[{one}]' for one in each)}" for each in rows.alternatives)
    meant = [cell.value for path in paths for cell in select_cells(rows.first.fact.result, path).cells]
    return [record for record in rows.records if record.record in meant]


def _find_due_row(template: ProcessTemplate, record: SeenRecord) -> Iterator[DueRow]:
    field = record.find_field(parse_pattern(template.routed).fields)
    age = plain_figure(record.record[field]) if field else None
    if age is None or record.id is None:
        return
    ways = (one for one in template.routes if age > one.over and (one.up_to is None or age <= one.up_to))
    if (route := next(ways, None)) is not None:
        yield DueRow(as_text(record.id), age, route.name)


def _ids_of_row(record: SeenRecord) -> set[str]:
    """The ids and mail addresses in a row, its own and those of others, in lower case."""
    return {
        as_text(value).casefold()
        for key, value in record.record.items()
        if (key == record.id_field or is_id_name(key) or key.lower().endswith("email")) and value is not None
    }
