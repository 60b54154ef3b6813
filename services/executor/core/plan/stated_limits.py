"""Whether the records that a change is made on keep to the limits that its part states: "all invoices under 1,000"."""

import re
from collections.abc import Iterator
from decimal import Decimal

from services.executor.core.figures import vocabulary
from services.executor.core.figures.arguments import (
    FIGURE_KINDS,
    ArgumentKind,
    ReadField,
    is_minor_unit_name,
    kind_of_argument,
)
from services.executor.core.figures.numbers import NumberMention, read_figure
from services.executor.core.plan.faults import CallFault, CallToCheck
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.name_similarity import words_of
from shared.domain.exact_json import Json, as_text
from shared.domain.keywords import extract_keywords, stem

_COMPARISON_PATTERN = re.compile(  # what stands before the limit; "to just over 500" is a target
    r"(?<!\bnot )(?<!\bno )(?<!\bto )(?<!\bby )(?<!\bjust )"
    r"\b(?:(?P<below>under|below|less\s+than|unter|weniger\s+als|moins\s+de|menos\s+de)|"
    r"over|above|more\s+than|exceed(?:s|ing)?|über|mehr\s+als|plus\s+de|más\s+de)\s+(?:[€$£]|[A-Z]{3})?\s*$",
    re.IGNORECASE,
)
_LOOKBACK_FROM_NUMBER = 60  # characters before a number in which the words for a limit stand
_EXCEPTION_PATTERN = re.compile(r"\b(?:unless|except|but\s+not|not|außer|nicht|sauf|salvo|excepto)\b", re.IGNORECASE)
_IF_ENOUGH_PATTERN = re.compile(
    r"\b(?:(?P<unless>unless|es\s+sei\s+denn|außer\s+wenn|sauf\s+si)|if|provided|wenn|falls|sofern|si)\b(?P<clause>[^.,;:!?]{0,200}"
    r"\b(?:(?:as|that)\s+(?:many|much)|enough|so\s+viele?|genug|genügend|autant|assez)\b[^.,;:!?]{0,200})",
    re.IGNORECASE,
)
_ASKING_VERB_PATTERN = re.compile(  # what stands before an indirect question
    r"\b(?:check|see|look|find\s+out|tell|know|ask|prüf\w*|sieh\w*|vérifie\w*)(?:\s+\w+){0,3}\W*$", re.IGNORECASE
)
_WORD_FOR_REMAINDER_PATTERN = re.compile(  # or gone, or negated
    r"\b(?:not|no|remain\w*|left|after\w*|sold|used|verkauft|vendu|nicht|kein\w*|übrig|danach|pas|reste\w*|après)\b|n['’]t\b",
    re.IGNORECASE,
)
_PRONOUN_PATTERN = re.compile(r"\b(?:it|they|them|those|er|sie|es|il|elle|ils|elles)\b", re.IGNORECASE)


def find_unmet_limits(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each record that the call names whose amount is beyond the one limit that the part sets.

    The clause of the limit has to speak of the record: by a choice ("all invoices"), or by a condition with its id or a
    pronoun. Of several amounts the one counts whose name the clause has, else the one that the call has as well.
    """
    text = change.part_mentions.text
    limits = [
        (number, match)
        for number in change.part_mentions.numbers
        if (match := _COMPARISON_PATTERN.search(text, max(0, number.start - _LOOKBACK_FROM_NUMBER), number.start))
    ]
    if len(limits) != 1 or vocabulary.ALTERNATIVE_WORD_PATTERN.search(text):
        return
    limit, comparison = limits[0]
    clause_before = vocabulary.CLAUSE_END_PATTERN.split(text[: comparison.start()])[-1]
    clause = f"{clause_before}{comparison[0]}"
    is_exception = _EXCEPTION_PATTERN.search(clause_before) is not None
    is_upper_limit = (comparison["below"] is not None) is not is_exception
    ids = (scalar.text for scalar in change.scalars if is_identifying_name(scalar.field_name))
    for record_id in dict.fromkeys(ids):
        is_named = record_id in clause or _PRONOUN_PATTERN.search(clause) is not None
        is_about_record = is_named if vocabulary.has_condition(clause) else vocabulary.leaves_choice_open(clause)
        fields = _list_amount_fields(record_id, clause, change) if is_about_record else []
        is_kept = any(_keeps_limit(field, limit, is_upper_limit=is_upper_limit) for field in fields)
        if len({field.field_name for field in fields}) == 1 and not is_kept:
            recorded = f"{fields[0].field_name} of {record_id} is {as_text(fields[0].value)}"
            yield CallFault("", f"{change.tool.name}: this part says {comparison[0]}{limit.text}, and {recorded}")


def find_unmet_stock_conditions(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if a record has as many as the call takes, or not, against the part: "unless we have as many in
    stock". The only number in the call is compared with the only one of its records that the condition names.
    """
    text, condition = change.part_mentions.text, _IF_ENOUGH_PATTERN.search(change.part_mentions.text)
    figures = [scalar for scalar in change.scalars if scalar.kind in FIGURE_KINDS]
    amounts = [
        _read_amount_in_whole_units(scalar.field_name, scalar.value) for scalar in figures if scalar.number is not None
    ]
    if condition is None or len(amounts) != 1 or vocabulary.ALTERNATIVE_WORD_PATTERN.search(text):
        return
    text_before = text[: condition.start()]
    if _ASKING_VERB_PATTERN.search(text_before) or vocabulary.has_condition(
        text_before + text[condition.start("clause") :]
    ):
        return
    numbers = (
        field for field in change.fields.list_fields_of_records(change.texts) if read_figure(field.value) is not None
    )
    fields = [
        field
        for field in numbers
        if not set(extract_keywords(condition["clause"])).isdisjoint(_stems_of_field_name(field))
    ]
    held = {_read_amount_in_whole_units(field.field_name, field.value) for field in fields}
    is_readable = len(held) == 1 and not _WORD_FOR_REMAINDER_PATTERN.search(condition["clause"])
    if is_readable and (held.pop() >= amounts[0]) is (condition["unless"] is not None):
        field = fields[0]
        reason = f"this part says {condition[0].strip()}, and {field.field_name} is {as_text(field.value)}"
        yield CallFault("", f"{change.tool.name}: {reason}")


def _list_amount_fields(record_id: str, clause: str, change: CallToCheck) -> list[ReadField]:
    """The amounts of the record as read: those whose names the clause has, else those in the call, else all."""
    numbers = (
        field for field in change.fields.list_fields_of_records([record_id]) if read_figure(field.value) is not None
    )
    fields = [field for field in numbers if kind_of_argument(field.field_name, {}, field.value) is ArgumentKind.AMOUNT]
    stems, call_figures = set(map(stem, words_of(clause))), {read_figure(scalar.value) for scalar in change.scalars}
    named_fields = [field for field in fields if not stems.isdisjoint(_stems_of_field_name(field))]
    return named_fields or [field for field in fields if read_figure(field.value) in call_figures] or fields


def _stems_of_field_name(field: ReadField) -> set[str]:
    return {*map(stem, words_of(field.field_name))}


def _keeps_limit(field: ReadField, limit: NumberMention, *, is_upper_limit: bool) -> bool:
    amount = _read_amount_in_whole_units(field.field_name, field.value)
    return any(amount < value if is_upper_limit else amount > value for value in limit.values)


def _read_amount_in_whole_units(name: str, value: Json) -> Decimal:
    """A number in a field of this name, in whole units where the name says cents or the like."""
    amount = read_figure(value) or Decimal(0)
    return amount / 100 if is_minor_unit_name(name) else amount
