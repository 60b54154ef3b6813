"""The figures of a process, computed by code: each is exact and has its operands, or is missing with a reason.

A figure is computed only where each operand has exactly one match among the records linked to what the task is about.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.calculator import CannotCalculate, format_decimal
from services.executor.core.figures.evaluate import evaluate_value
from services.executor.core.figures.numbers import find_tokens_with_digits, read_figure as plain_figure
from services.executor.core.figures.operands import OperandFinder, OperandSources, select_cells
from services.executor.core.process.rows import (
    ChosenRows,
    FigureInputs,
    NoClearOperand,
    RecordLinks,
    build_row_operands,
    choose_rows,
    field_path,
    find_pattern_operands,
    list_record_ids_of_figure,
    list_row_group_keys,
)
from services.executor.core.records.record_graph import build_record_graph
from services.executor.core.records.references import literal_scalars
from services.executor.core.records.seen_records import SeenRecord, is_name_in_text, is_named_in_task
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
    RouteByAge,
    is_figure_name,
    parse_pattern,
)
from services.executor.core.states.prompts import render_in_order
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NoSuchPath, RecordKeys, is_id_name
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, as_text
from shared.domain.keywords import extract_keywords, stem

_NON_WORD_CHARACTERS_PATTERN = re.compile(r"[^a-z0-9]+")


class _FigureSubject(NamedTuple):
    """The records of the one thing that a figure is computed for. ``id``: empty if the task has one subject only."""

    anchors: tuple[SeenRecord, ...]
    id: str = ""


def compute_figures(template: ProcessTemplate, facts: Sequence[Fact], task: str, keys: RecordKeys) -> FigureResults:
    """Computes the template's figures. Of several definitions of one name the first that can be computed counts."""
    return _compute_figures_cached(template.figures, tuple(facts), task, keys) if template.figures else FigureResults()


@lru_cache(maxsize=8)  # each state of a run asks for the same
def _compute_figures_cached(
    figures: tuple[Figure, ...], facts: tuple[Fact, ...], task: str, keys: RecordKeys
) -> FigureResults:
    links = RecordLinks(build_record_graph(facts, keys))
    finder = OperandFinder(OperandSources(facts, (), (task,)))
    computed: dict[str, NamedValue] = {}
    missing: dict[tuple[str, str], MissingFigure] = {}
    record_ids: dict[str, set[str]] = {}
    for figure in figures:
        for subject in _find_figure_subjects(figure, links, task):
            record_ids.setdefault(figure.name, set()).update(list_record_ids_of_figure(figure, subject.anchors))
            earlier = [value for value in computed.values() if value.about == subject.id]
            if any(figure.name in (value.figure, value.group) for value in earlier):
                continue
            inputs = FigureInputs(subject.anchors, task, links)
            try:
                values = _compute_values(figure, inputs, subject.id, finder, computed)
            except (NoClearOperand, NoSuchPath, CannotCalculate) as error:
                missing.setdefault((figure.name, subject.id), MissingFigure(figure.name, str(error), subject.id))
                continue
            computed |= {value.name: value for value in values}
            for value in values:
                finder.add_value(value)
            missing.pop((figure.name, subject.id), None)
    subjects = {name: frozenset(ids) for name, ids in record_ids.items()}
    shared = _find_shared_operands(computed.values(), links.records)
    return FigureResults(tuple(computed.values()), tuple(missing.values()), subjects, shared)


def _find_shared_operands(
    values: Iterable[NamedValue], records: Sequence[SeenRecord]
) -> dict[str, tuple[SharedOperand, ...]]:
    """By figure, the record fields that the figures of several subjects share: the budget from which ``budget_left`` of
    two orders is computed. Only differences are looked at. A field's amount is known if each difference starts from it,
    and all reads of it agree.
    """
    places = {
        (record.fact.ref, field_path(record.path, key)): (record.identity, key)
        for record in records
        for key in record.record
        if key != "currency"
    }
    # By figure and place: the subject's id, and the operand's position in the subject's difference.
    uses_by_place: dict[tuple[str, tuple[str, str]], list[tuple[str, int]]] = {}
    for value in values:
        if value.about and value.operation == "difference":
            for rank, operand in enumerate(value.operands):
                if position := places.get((operand.ref, operand.path)):
                    uses_by_place.setdefault((value.figure, position), []).append((value.about.casefold(), rank))
    shared: dict[str, tuple[SharedOperand, ...]] = {}
    for (figure, (identity, key)), uses in uses_by_place.items():
        ids = frozenset(subject_id for subject_id, _ in uses)
        reads = [record.record for record in records if record.identity == identity]
        amounts = {plain_figure(fields[key]) for fields in reads if key in fields}
        is_known = len(amounts) == 1 and all(rank == 0 for _, rank in uses)
        if len(ids) > 1:
            operand_shared = SharedOperand(ids, amounts.pop() if is_known else None)
            shared[figure] = (*shared.get(figure, ()), operand_shared)
    return shared


def _find_figure_subjects(figure: Figure, links: RecordLinks, task: str) -> list[_FigureSubject]:
    """What to compute the figure for: each record of its kind that the task names; else the only record of the kind, or
    the one whose amount the task states; else all records that the task names, as one subject.
    """
    kinds, records = figure.subject_kinds, links.records
    of_kind: dict[str, list[SeenRecord]] = {}
    for record in records:
        if any(record.has_name_ending_in(kind) for kind in kinds):
            of_kind.setdefault(record.identity, []).append(record)
    candidates = list(of_kind.values())
    named = [reads for reads in candidates if any(is_named_in_task(record, task) for record in reads)]
    if len(named) > 1:
        return [_FigureSubject(tuple(reads), str(reads[0].id)) for reads in named]
    if named or len(candidates) == 1:
        return [_FigureSubject(tuple((named or candidates)[0]))]
    others = tuple(record for record in records if is_named_in_task(record, task))
    candidates = [reads for reads in candidates if _is_amount_stated(figure, reads, others, links, task)]
    if len(candidates) == 1:
        return [_FigureSubject(tuple(candidates[0]), str(candidates[0][0].id))]
    return [_FigureSubject(others)]


def _is_amount_stated(
    figure: Figure, reads: Sequence[SeenRecord], other_records: Sequence[SeenRecord], links: RecordLinks, task: str
) -> bool:
    """Whether the task states a number that the record has in a field which is an operand of the figure.

    ``reads``: the record, each time that it was read. False if the record refers to another record of a kind of which
    the task names one (``other_records``).
    """
    amounts = {amount for token in find_tokens_with_digits(task) if (amount := plain_figure(token)) is not None}
    if any(links.belongs_to_another(record, other_records) for record in reads):
        return False
    for pattern in (parse_pattern(text) for text in figure.operands if not is_figure_name(text)):
        if any(record.has_name_ending_in(kind) for record in reads for kind in pattern.kinds):
            fields = [(record.record, record.find_field(pattern.fields)) for record in reads]
            if any(field is not None and plain_figure(record[field]) in amounts for record, field in fields):
                return True
    return False


def _compute_values(
    figure: Figure, inputs: FigureInputs, subject_id: str, finder: OperandFinder, computed: Mapping[str, NamedValue]
) -> list[NamedValue]:
    patterns = [_find_earlier_figure(text, computed, subject_id) or parse_pattern(text) for text in figure.operands]
    sources = [
        choose_rows(pattern, inputs) if isinstance(pattern, OperandPattern) and pattern.takes_rows else pattern
        for pattern in patterns
    ]
    values = []
    for group in list_row_group_keys([source for source in sources if isinstance(source, ChosenRows)], figure.by):
        operands: list[Operand] = []
        for source in sources:
            if isinstance(source, ChosenRows):
                operands += build_row_operands(source, figure.operation, group)
            elif isinstance(source, OperandPattern):
                operands += find_pattern_operands(source, inputs, figure.operation)
            else:
                operands.append(source)
        formula = NamedValue(name="", operation=figure.operation, operands=tuple(operands), value="")
        result = evaluate_value(finder, formula)
        values.append(_build_value(figure, subject_id, operands, Decimal(result.value), group.value if group else None))
    return values


def _build_value(figure: Figure, subject_id: str, operands: list[Operand], result: Decimal, group: Json) -> NamedValue:
    figure_name = figure.name if group is None else f"{figure.name}_{_to_snake_case(str(group))}"
    return NamedValue(
        name=f"{figure_name}_{_to_snake_case(subject_id)}" if subject_id else figure_name,
        operation=figure.operation,
        operands=tuple(operands),
        value=format_decimal(result),
        figure=figure_name,
        about=subject_id,
        group=figure.name if group is not None else "",
    )


def _find_earlier_figure(text: str, computed: Mapping[str, NamedValue], subject_id: str) -> Operand | None:
    """The earlier figure that the text names, of this subject or of none, as an operand; None if the text is no
    figure's name. Raises ``NoClearOperand`` if the figure could not be computed.
    """
    if not is_figure_name(text):
        return None
    for owner in (subject_id, ""):
        for value in computed.values():
            if value.figure == text and value.about == owner:
                return Operand(source="value", ref=value.name)
    raise NoClearOperand(f"{text} is not known")


def _to_snake_case(text: str) -> str:
    return _NON_WORD_CHARACTERS_PATTERN.sub("_", text.lower()).strip("_")


def with_process_figures(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with the process's figures from its present facts, in place of the model's values of their names."""
    results = compute_figures(progress.template, progress.dossier.facts, ctx.task, ctx.toolbox.keys)
    return progress.update_dossier(values=with_figures(progress.dossier.values, results))


def render_figures(ctx: TurnContext, progress: Progress) -> str:
    """The process's figures as text for the model, also those that could not be computed; empty if there are none."""
    results = compute_figures(progress.template, progress.dossier.facts, ctx.task, ctx.toolbox.keys)
    remainders = {figure.name: figure for figure in progress.template.figures if figure.remainder}
    values: list[Json] = [
        {"name": value.name, "value": value.value, **_describe_remainder(value, remainders, results)}
        for value in results.values
    ]
    missing: list[Json] = [{"missing": figure.text} for figure in results.missing] if progress.dossier.facts else []
    entries = [*values, *missing]
    return render_in_order({"values": entries}) if entries else ""


def _describe_remainder(value: NamedValue, remainders: Mapping[str, Figure], results: FigureResults) -> dict[str, Json]:
    """What the model is told of this remainder: the ids of the records after whose change it is left, those not counted
    that share the amount, and the verbs that do not draw on it. Empty for a figure that is no remainder.
    """
    if (figure := remainders.get(value.figure)) is None:
        return {}
    own_ids = {value.about.casefold()} if value.about else results.subjects.get(figure.name, frozenset())
    shared = [operand.ids for operand in results.shared.get(figure.name, ()) if operand.ids & own_ids]
    others = frozenset[str]().union(*shared) - own_ids
    without_others: dict[str, Json] = {"without": [*sorted(others)]} if others else {}
    return {"after_change_of": [*sorted(own_ids)], **without_others, "not_by": [*figure.not_required_for]}


def describe_process(template: ProcessTemplate) -> Json:
    """What a process file tells a model, without its empty entries."""
    instruction = " ".join(" ".join(template.instructions.get(state, "") for state in template.states).split())
    entries: dict[str, Json] = {
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
    return {"type": template.process_type, **{name: value for name, value in entries.items() if value}}


_MOST_ROWS_NAMED = 20  # how many rows a sentence names; the rest are counted


class RoutedRow(NamedTuple):
    """A row whose age in days falls under one of the template's routes."""

    id: str
    age: Decimal
    route: str


def append_rows_without_call_to_answer(progress: Progress, task: str, keys: RecordKeys) -> Progress:
    """The progress with a sentence, in its notes and below its answer (not below a JSON list, I9), on the rows that are
    due under a route and that neither a call nor the answer names. Unchanged if the list of rows is unclear.
    """
    plan, answer = progress.dossier.plan, progress.dossier.answer or ""
    if plan is None:
        return progress
    records = _find_routed_rows(progress, task, keys)
    named_ids = set[str]().union(*map(_scalars_of, plan.calls))
    common_ids = set.intersection(*map(_ids_of_row, records)) if len(records) > 1 else set()  # that tell no row apart
    unnamed = [record for record in records if not (_ids_of_row(record) - common_ids) & named_ids]
    rows = [row for record in unnamed for row in _match_row_to_route(progress.template, record)]
    texts = [f"{row.id} ({row.age:f} days: {row.route})" for row in rows if not is_name_in_text(row.id, answer)]
    if not texts:
        return progress
    others_note = f" and {len(texts) - _MOST_ROWS_NAMED} more" if len(texts) > _MOST_ROWS_NAMED else ""
    sentence = f"Nothing was done for {', '.join(texts[:_MOST_ROWS_NAMED])}{others_note}."
    progress = progress.add_notes(rows_left_out=sentence)
    return progress if is_json_list(answer) else progress.update_dossier(answer=f"{answer.rstrip()}\n\n{sentence}")


def find_calls_on_wrong_route(
    progress: Progress, user_texts: Sequence[str], plan: WritePlan, keys: RecordKeys
) -> dict[str, str]:
    """By call id, why a call is not made: its row's age belongs to another route, and no user text names the row or the
    call's route. ``user_texts``: the task first.
    """
    template, reasons = progress.template, dict[str, str]()
    rows = {
        row.id.casefold(): row
        for record in _find_routed_rows(progress, user_texts[0], keys)
        for row in _match_row_to_route(template, record)
    }
    user_words = frozenset(word for text in user_texts for word in extract_keywords(text, len(text)))
    for call in plan.calls if rows else ():
        tool_routes = _routes_of_tool(template.routes, call.tool)
        for row_id in _scalars_of(call) & rows.keys():
            row = rows[row_id]
            if not tool_routes or row.route in tool_routes or any(is_name_in_text(row.id, text) for text in user_texts):
                continue
            if user_words.isdisjoint(frozenset[str]().union(*tool_routes.values())):
                reasons[call.call_id] = (
                    f"{row.id} stands at {row.age:f} days: its way is {row.route}, and {call.tool} is that of "
                    f"{' or '.join(tool_routes)}"
                )
    return reasons


def _routes_of_tool(routes: Sequence[RouteByAge], tool: str) -> dict[str, frozenset[str]]:
    """The routes to which a tool belongs, as ``{route name: words of the tool's name that only this route has}``: those
    with the most such words, so ``send_reminder`` belongs to a route "remind". Empty if no route has any.
    """
    words = {route.name: frozenset(extract_keywords(f"{route.name} {route.way}")) for route in routes}
    routes_by_word = Counter(word for route_words in words.values() for word in route_words)
    tool_words = frozenset(map(stem, words_of(tool)))
    of_one_route = frozenset(word for word in tool_words if routes_by_word[word] == 1)
    matches = {name: route_words & of_one_route for name, route_words in words.items()}
    most_words = max(map(len, matches.values()), default=0)
    return {name: matching for name, matching in matches.items() if matching and len(matching) == most_words}


def _scalars_of(call: PlannedCall) -> set[str]:
    """The texts and numbers in a call's arguments, in lower case."""
    return {as_text(scalar).strip().casefold() for scalar in literal_scalars(call.arguments)}


def _find_routed_rows(progress: Progress, task: str, keys: RecordKeys) -> list[SeenRecord]:
    """The rows of the list that the template routes and the task is about; empty if that is unclear."""
    template = progress.template
    if not template.routes or not template.routed:
        return []
    links = RecordLinks(build_record_graph(progress.dossier.facts, keys))
    anchors = [record for record in links.records if is_named_in_task(record, task)]
    inputs = FigureInputs(anchors, task, links)
    try:
        rows = choose_rows(parse_pattern(template.routed), inputs)
    except NoClearOperand:
        return []
    steps = ("".join(f"[{condition}]" for condition in conditions) for conditions in rows.alternatives)
    paths = [f"{rows.first.rows}{step}" for step in steps]
    chosen = [cell.value for path in paths for cell in select_cells(rows.first.fact.result, path).cells]
    return [record for record in rows.records if record.record in chosen]


def _match_row_to_route(template: ProcessTemplate, record: SeenRecord) -> Iterator[RoutedRow]:
    field = record.find_field(parse_pattern(template.routed).fields)
    age = plain_figure(record.record[field]) if field else None
    if age is None or record.id is None:
        return
    routes = (route for route in template.routes if age > route.over and (route.up_to is None or age <= route.up_to))
    if (route := next(routes, None)) is not None:
        yield RoutedRow(as_text(record.id), age, route.name)


def _ids_of_row(record: SeenRecord) -> set[str]:
    """The ids (its own and references to other records) and mail addresses in a row, in lower case."""
    return {
        as_text(value).casefold()
        for key, value in record.record.items()
        if (key == record.id_field or is_id_name(key) or key.lower().endswith("email")) and value is not None
    }
