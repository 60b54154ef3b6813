"""The figures that a task depends on: totals and counts, shares, changed amounts, and what is left of a limit."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from services.planner.core.back_references import antecedent_of, with_antecedent
from services.planner.core.figures import (
    SUMS,
    FigureOperand,
    PlannedFigure,
    amount_field,
    count_operands,
    numeric_fields,
    operand,
)
from services.planner.core.mentions import MentionKind, find_amounts, find_of_kind, identifiers_in
from services.planner.core.portions import figure_of_difference, figure_of_whole, figures_of_part, figures_of_percentage
from services.planner.core.records import FactRecord, is_unsearched_list
from services.planner.core.selection import before_comparison, proper_names, select_records
from services.planner.core.situation import ChosenRecords, Situation, best, group_by_noun, places_of, rank, says
from services.planner.core.words import (
    STOP,
    field_stems,
    is_identifier,
    nouns,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)

LEFT = stems(("remaining", "available", "left", "unspent", "unused", "balance", "free"))
_LIMIT_WORDS = stems("limit budget total allocated allocation cap quota allowance allotted capacity".split())
_USED_WORDS = stems(("spent", "used", "consumed", "committed", "reserved", "taken"))
_OPERATIONS = (
    ("count", r"\bhow many\b|\b(?:the|total|what) number of\b|\bcount(?:s|ed)?\b"),
    ("average", r"\baverage\b|\bmean\b"),
    ("maximum", r"\b(?:highest|maximum|largest|biggest|greatest)\b(?!.*\bfirst\b)"),
    ("minimum", r"\b(?:lowest|minimum|smallest|(?<!at )least)\b(?!.*\bfirst\b)"),
    ("sum", r"\bsum\b|\btotals?\b|\badd(?:ed|ing)? up\b|\baltogether\b|\bcombined\b|\bin all\b|\bhow much\b"),
)


_HOW_MANY = re.compile(
    r"\bhow many\s+(?P<what>(?:[\w-]+\s+){1,3}?)(?=(?:do|does|did|are|is|were|was|have|has|of|in|on)\b)", re.I
)
_HOW_MUCH = re.compile(r"^(?!.*\b(?:total|sum|altogether|in all)\b).*\bhow much\b", re.I)
_BY_PATTERN = re.compile(r"\b(?P<verb>increas|rais|add|reduc|lower|decreas|cut)\w*\b.*?\bby\s+(?P<step>.{1,20})", re.I)
_ONTO_PATTERN = re.compile(
    r"\b(?P<verb>add|subtract|deduct)\s+(?P<step>[$€£]?\d[\d.,]*(?:\s[A-Z]{3})?)\s+(?:to|from)\b", re.I
)


def list_figures(situation: Situation) -> list[PlannedFigure]:
    """Every figure that a question, a condition or an action of the task depends on; no name twice."""
    reading = situation.reading
    figures: list[PlannedFigure] = []
    clauses = [i.clause for i in reading.actions]
    conditions = [i.condition for i in reading.actions]
    for text in (*reading.questions, *map(before_comparison, conditions), *clauses):
        figures += requested_figures(text, situation)
    for text in (*reading.questions, *conditions, *clauses):
        remainder_stems = text_stems(text) & (LEFT | _LIMIT_WORDS if text in conditions else LEFT)
        figure = figure_left(text, situation) if remainder_stems else None
        figures += [figure] if figure else []
    unique: dict[str, PlannedFigure] = {}
    for figure in figures:
        unique.setdefault(figure.name, figure)
    return sorted(unique.values(), key=lambda figure: any(operand.source == "value" for operand, _ in figure.operands))


def requested_figures(text: str, situation: Situation) -> list[PlannedFigure]:
    """The figures that a text itself asks to compute: a total, a share, a changed amount, a difference."""
    computed = [rule(text, situation) for rule in (_find_aggregate, _find_share, _change_figure)]
    computed.append(figure_of_difference(text, subject_of(text, situation), situation))
    return [figure for figure in computed if figure] or _find_portion(text, situation)


def find_operation(text: str) -> str:
    """The operation that a text asks to apply to several figures, such as a sum; empty if it asks for none."""
    return next((name for name, pattern in _OPERATIONS if re.search(pattern, text, re.I)), "")


def _find_portion(text: str, situation: Situation) -> list[PlannedFigure]:
    """The figures that a text asks for without a number (``in full``, ``half``): the figure itself first, then those
    that it rests on.
    """
    subject = subject_of(text, situation)
    linked = [record for record in situation.records if subject and _refers_to(subject, record)]
    apart = [record for record in linked if not record.in_list] or linked
    return (
        figure_of_whole(text, subject) or figures_of_part(text, subject) or figures_of_percentage(text, subject, apart)
    )


def _find_aggregate(text: str, situation: Situation) -> PlannedFigure | None:
    if find_of_kind(text, MentionKind.PERCENT):
        return None
    operation = find_operation(text)
    before = antecedent_of(text, situation) if operation else ""
    resolved_text = with_antecedent(text, situation) if before else text
    selection = select_records(resolved_text, situation) if operation else ChosenRecords((), text)
    if selection.uninterpreted or not find_operation(f"{before} {selection.rest}" if before else selection.rest):
        return None  # "exceeds the maximum": what compares is no operation
    records = selection.records
    operation = "sum" if operation == "count" and _counts_a_column(text, records) else operation
    if operation == "count" and not _was_whole_list_read(resolved_text, records, situation):
        return None
    if operation == "count":
        return PlannedFigure(_build_figure_name(before or text, "count"), "count", count_operands(records))
    if _HOW_MUCH.search(text) and _is_stated_by_record(text, situation):
        return None
    if not records or not any(record.noun & text_stems(resolved_text) for record in records):
        return None
    if any(record.noun != records[0].noun for record in records):
        return None  # prices of products and budgets: the text does not say of which of them
    chosen = [(record, amount_field(record, text)) for record in records]
    operands = tuple(operand(record, field) for record, field in chosen if field)
    return PlannedFigure(_build_figure_name(before or text, operation), operation, operands) if operands else None


def _was_whole_list_read(text: str, records: Sequence[FactRecord], situation: Situation) -> bool:
    """Whether some list of what a text counts was read: what a search by words has found is not all that there is."""
    match = _HOW_MANY.search(text)
    word_stems = text_stems(match["what"] if match else text)
    lists = {fact.ref for fact in situation.facts if is_unsearched_list(fact) and nouns(fact.tool) & word_stems}
    return bool(lists) and all(record.fact.ref in lists for record in records)


def _counts_a_column(text: str, records: Sequence[FactRecord]) -> bool:
    """Whether ``how many`` asks for a figure of records, not for their count: ``how many lamps do the rooms have``."""
    match = _HOW_MANY.search(text)
    word_stems = stems(match["what"].split()) if match else frozenset()
    columns = {name for record in records for name in numeric_fields(record)}
    return any(field_stems(name) <= word_stems for name in columns) and not any(
        record.noun & word_stems for record in records
    )


def _is_stated_by_record(text: str, situation: Situation) -> bool:
    """Whether the very record that a text names says under that name how much it is."""
    named_records = [record for record in subjects(situation) if says(text, record.own_id)]
    word_stems = frozenset(word for word in text_stems(text) if word not in SUMS)
    return any(field_stems(name) & word_stems for record in named_records for name in numeric_fields(record))


def _build_figure_name(text: str, operation: str) -> str:
    for identifier in identifiers_in(text) if operation != "count" else ():
        text = text.replace(identifier, " ")
    words = [word for word in re.findall(r"[a-z]+", text.lower()) if word not in STOP or word == "not"]
    own = stems((operation, "many", "much", "number"))
    return "_".join([operation, *[word for word in words if stem(word) not in own][:4]])


def _find_share(text: str, situation: Situation) -> PlannedFigure | None:
    """The figure for a stated percentage of a record's amount (``10% of the ...``); None if the text has none."""
    for percent in find_of_kind(text, MentionKind.PERCENT)[:1]:
        of = text[percent.end :]
        subject = _find_holder(of, situation) or subject_of(text, situation)
        field = amount_field(subject, of) if subject else None
        # the only figure that there is may be of anything: it has to be a sum, or the text says a word of its name
        if subject and field and field_stems(field) & (text_stems(of) | SUMS):
            share = (FigureOperand("task", literal=percent.value), percent.number)
            return PlannedFigure(f"share_of_{'_'.join(parts(field))}", "percentage", (operand(subject, field), share))
    return None


def _find_holder(text: str, situation: Situation) -> FactRecord | None:
    """The one record of the task with a numeric field whose words are all in the text; None if there is none or
    several.
    """
    said = text_stems(text)
    having = [one for one in subjects(situation) if any(field_stems(name) <= said for name in numeric_fields(one))]
    return having[0] if len(having) == 1 else None


def _change_figure(text: str, situation: Situation) -> PlannedFigure | None:
    """The new value of a field that the text raises or lowers by a figure; None if it does not.

    ``increase the ... by 5``, ``should be lowered by 2.50``, ``add 5 to the ...``.
    """
    match = _BY_PATTERN.search(text) or _ONTO_PATTERN.search(text)
    for step in find_amounts(match["step"])[:1] if match else ():
        subject = subject_of(text, situation)
        field = amount_field(subject, text) if subject else None
        if match and subject and field:
            literal = (FigureOperand("task", literal=step.value), step.number)
            operation = "sum" if match["verb"].lower().startswith(("increas", "rais", "add")) else "difference"
            return PlannedFigure(f"new_{'_'.join(parts(field))}", operation, (operand(subject, field), literal))
    return None


def figure_left_of_named(text: str, situation: Situation) -> PlannedFigure | None:
    """What is left of the limit that a text names; None if no record that was read has that name."""
    names = [name.lower() for name in proper_names(text)]
    pairs = [(stem(word), stem(noun)) for word, noun in pairwise(text_words(text)) if word not in STOP]

    def is_meant(record: FactRecord) -> bool:
        """Whether a record has all names, and each word before its noun: a ``torn kite`` is one that is torn."""
        words = _words_of(record, situation)
        before = {word for word, noun in pairs if noun in record.noun and word not in LEFT}
        return all(name in words for name in names) and before <= text_stems(words)

    return figure_left(text, situation, is_meant)


def _words_of(record: FactRecord, situation: Situation) -> str:
    """The fields and values of a record and of the records to which it refers, as one text."""
    linked = [other for other in situation.records if _refers_to(record, other)]
    fields = [pair for one in (record, *linked) for pair in one.fields.items()]
    return " ".join(f"{' '.join(parts(name))} {value}" for name, value in fields).lower()


def figure_left(
    text: str, situation: Situation, is_meant: Callable[[FactRecord], bool] = lambda _: True
) -> PlannedFigure | None:
    """What is left of a limit: as a record states it, else the limit less everything used of it.

    None if no record tells. ``is_meant``: which records count.
    """
    for record in _find_budgets(text, situation, is_meant):
        fields = numeric_fields(record)
        direct = [name for name in fields if field_stems(name) & LEFT]
        limits = [name for name in fields if field_stems(name) & _LIMIT_WORDS and not field_stems(name) & _USED_WORDS]
        used_fields = [name for name in fields if field_stems(name) & _USED_WORDS]
        name = _left_name(record, text)
        if limits and used_fields:
            return PlannedFigure(
                name,
                "difference",
                (operand(record, limits[0]), *(operand(record, field) for field in used_fields)),
            )
        if direct:
            return PlannedFigure(name, "sum", (operand(record, direct[0]),))
    return None


def _left_name(record: FactRecord, text: str) -> str:
    words = [word for word in re.findall(r"[a-z]+", text.lower()) if stem(word) in record.noun]
    holder = next((v for v in record.fields.values() if isinstance(v, str) and v.isalpha() and v[0].isupper()), "")
    return "_of_".join(filter(None, ["_".join(["remaining", *words[:1]]), holder.lower()]))


def _find_budgets(text: str, situation: Situation, is_meant: Callable[[FactRecord], bool]) -> list[FactRecord]:
    """Records with something left, those the text or the task names first."""
    columns = LEFT | _USED_WORDS
    holders = [one for one in situation.records if any(field_stems(name) & columns for name in numeric_fields(one))]
    holders = [record for record in holders if is_meant(record)]
    fitting = [record for record in holders if record.noun & text_stems(text)] or holders
    named = best(fitting, situation)
    if len(named) == 1:
        return named
    spoken_records = subjects(situation)
    linked = [record for record in fitting if any(_refers_to(other, record) for other in spoken_records)]
    return linked or (fitting if len(fitting) == 1 else [])


def _refers_to(record: FactRecord, target: FactRecord) -> bool:
    """Whether one record refers to another: they share a value that names or identifies the latter."""
    fields = [name for name in target.fields if is_identifier(name) or field_stems(name) & target.noun]
    return record is not target and not {str(target.fields[name]) for name in fields}.isdisjoint(record.texts)


def subjects(situation: Situation) -> list[FactRecord]:
    """The records the task is about: the best known of each noun it speaks of."""
    groups = sorted(group_by_noun(situation.records).items(), key=lambda group: sorted(group[0]))
    chosen = [best(of_kind, situation) for _, of_kind in groups]
    return sorted((few[0] for few in chosen if len(few) == 1), key=lambda record: -rank(record, situation))


def subject_of(text: str, situation: Situation) -> FactRecord | None:
    """The record that a clause is about: one that it names, else a subject of the task with a noun of the clause, else
    the task's first subject; None if the task has none.
    """
    named_here = identifiers_in(text)
    of_these = [record for value in named_here for record, _ in places_of(value, situation) if not record.in_list]
    exact = [record for record in of_these if record.own_id in named_here]
    if exact:
        return exact[0]
    records = subjects(situation)
    own = [record for record in records if says(text, record.own_id)]
    named = own or [record for record in records if any(says(text, value) for value in record.texts)]
    nouned = [record for record in records if record.noun & text_stems(text)]
    return next(iter([*named, *nouned, *records]), None)
