"""Compares the amounts of a proposed change with those that its part states."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from services.executor.core.figures.arguments import ArgumentKind, may_hold_amount
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_amount, read_figure
from services.executor.core.figures.vocabulary import CLAUSE_END_PATTERN
from services.executor.core.plan.faults import ArgumentToCheck, CallFault, CallToCheck, ReadFields, say_what_part_states
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import singular_words
from services.executor.core.session.values import Operand, trace_operands
from services.executor.core.tools.record_tree import is_id_name

_COMPARISON_WORD_PATTERN = re.compile(
    r"(?:\b(?:over|above|below|under|than|least|most|fewest|highest|lowest|exceed\w*|up\s+to|minimum|maximum|between|before|after|if|unless|"
    r"when|while|until|über|unter|mehr\s+als|wenn|falls|plus\s+de|moins\s+de|si)\b|[<>≤≥])(?:[^.;,]|,(?=\d)){0,40}$",
    re.IGNORECASE,
)
_AT_MOST_PATTERN = re.compile(
    r"\b(?:at\s+most|no\s+more\s+than|not\s+more\s+than|up\s+to|höchstens|maximal|bis\s+zu|au\s+plus|como\s+máximo)\s+$",
    re.IGNORECASE,
)
_WORD_FOR_ENTIRELY_PATTERN = re.compile(
    r"\b(?:in\s+full|entire\w*|whole|fully|completely|complete|full|all\s+of|ganz\w*|vollständig\w*|gesamt\w*|entièrement|"
    r"en\s+entier|totalité|completo|completa)\b",
    re.IGNORECASE,
)
_WORD_BEFORE_PATTERN = re.compile(r"([^\W\d_]+)[\s-]*$")
_WORD_BEFORE_CHANGED_NUMBER_PATTERN = re.compile(
    r"(?:\b(?:by|to|of|at|for|with|another|further|um|auf|von|mit|für|de|à|pour|por|a)|^\w+)\s+$", re.IGNORECASE
)
_WORD_FOR_OF_PATTERN = re.compile(r"\s+(?:of|off|from|von|de)\b", re.IGNORECASE)
_PAST_STATE_WORD_PATTERN = re.compile(
    r"\b(?:was|were|has\s+been|have\s+been|wurden?|bereits|schon|already|déjà|ya)\b", re.IGNORECASE
)
_PLURAL_NOUN_PATTERN = re.compile(r"\s+(?!(?:as|plus|less|minus|its|this|thus)\b)[^\W\d_A-Z]{2,}s\b")
_VALUE_OF_FIELD_PATTERN = re.compile(
    r"\b(?:the|die|das|den|la|le)\s+[^\W\d]+\s+(?:of|for|from|von|de)\s+$", re.IGNORECASE
)
_LOOKBACK_FROM_NUMBER = 60  # characters before a number in which the words for it stand
_LONGEST_CLAUSE = 300
_SENTENCE_ENDS = ".!?:;\n"
_WORD_FOR_SHARES_PATTERN = re.compile(
    r"\b(?:shares?|sharing|split\w*|divid\w*|each|per|every|instal+ments?|rates?|portions?|proportion\w*|pro|prorat\w*|"
    r"evenly|equal\w*|between|among|partial\w*|in\s+part|months?|weeks?|quarters?|years?|anteil\w*|aufgeteilt|teil\w*|je|"
    r"jeweils|gleich\w*|zwischen|monat\w*|woche\w*|jahr\w*|répart\w*|partag\w*|chaque|chacun\w*|entre|mois|ans)\b",
    re.IGNORECASE,
)


def find_wrong_amounts(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each amount of a call that is above its part's limit, or another one than the part states."""
    mentions, text = change.part_mentions.numbers, change.part_mentions.text
    figures = [mention for mention in mentions if _is_stated_figure(mention, text, change.fields)]
    money = [mention for mention in figures if mention.money is not None]  # "50 euros for 88101"
    is_used = any(_may_equal(mention, argument) for mention in money or figures for argument in change.scalars)
    for argument in change.scalars:
        if argument.number is None or not may_hold_amount(argument.path, argument.kind):
            continue
        if argument.kind is ArgumentKind.QUANTITY and argument.number in argument.recorded_numbers:
            continue  # the key of a row, ``position``, or a field that is kept
        faults = [*_find_amount_over_limit(argument, change.part_mentions)]
        if figures and not (faults or is_used or _sums_to_stated(argument, figures, change)):
            faults += _find_other_amount(argument, figures, change)
        yield from faults


def _find_other_amount(
    argument: ArgumentToCheck, figures: Sequence[NumberMention], change: CallToCheck
) -> Iterator[CallFault]:
    """Yields a fault, with the part's ``figures``, for an amount that is none of them: read from a record (unless the
    part says "in full"), stated elsewhere in the task, or calculated from no number of the part.
    """
    numbers, value = change.part_mentions.numbers, change.find_value(argument)
    is_other = argument.origin == "fact" and not _WORD_FOR_ENTIRELY_PATTERN.search(change.part_mentions.text)
    is_other |= argument.origin == "task" and not any(_may_equal(mention, argument) for mention in numbers)
    if value is not None:
        operands = [operand for _, operand in trace_operands(value, change.values)]
        is_other = not any(_is_mentioned_number(operand, mention) for operand in operands for mention in numbers)
    if is_other:
        yield argument.build_fault(say_what_part_states(mention.text for mention in figures))


def _find_amount_over_limit(argument: ArgumentToCheck, part_mentions: Mentions) -> Iterator[CallFault]:
    """Yields a fault for an amount above the limit that the part states: "at most 50 euros"."""
    if _WORD_FOR_SHARES_PATTERN.search(part_mentions.text):
        return
    for mention in part_mentions.numbers:
        if mention.money is None or not _AT_MOST_PATTERN.search(_text_before(mention, part_mentions.text)):
            continue
        likeliest, *_ = _read_in_unit_of(mention, argument)
        if all(likeliest > limit for limit in mention.values):
            yield argument.build_fault(f"this part says at most {mention.text}")


def read_share(mention: NumberMention, value: Number) -> Fraction:
    """The share that a number states, 1/3 for "a third" or 3/100 for "3 percent"; 0 for any other number."""
    if mention.unit is not None and mention.unit.measure == "percent":
        return Fraction(value) * mention.unit.size / 100
    return value if isinstance(value, Fraction) else Fraction()


def _read_in_unit_of(mention: NumberMention, argument: ArgumentToCheck) -> tuple[Fraction, ...]:
    """The argument, unsigned, in a stated number's unit: for "5 euros", 500 may be 500 or 5. Empty if no number."""
    if argument.number is None:
        return ()
    amount = abs(Fraction(argument.number))
    if mention.money is not None and mention.money.is_minor:
        return (amount, amount * 100)
    if argument.hints.is_in_minor_units and mention.money is not None:
        return (amount / 100,)
    return (amount, amount / 100)


def _may_equal(mention: NumberMention, argument: ArgumentToCheck) -> bool:
    """Whether an argument is the stated number, in one of the units that it may have."""
    return any(abs(Fraction(number)) in _read_in_unit_of(mention, argument) for number in mention.values)


def _sums_to_stated(argument: ArgumentToCheck, figures: Sequence[NumberMention], change: CallToCheck) -> bool:
    """Whether the different amounts of this tool's calls for the same record sum to one of the part's ``figures``."""
    ids_by_path = {other.path: other.value for other in change.scalars if is_id_name(other.field_name)}
    amounts: set[Decimal] = set()
    for arguments in change.list_same_tool_arguments():
        number = read_figure(argument_at(arguments, argument.path))
        is_same_record = all(argument_at(arguments, path) == value for path, value in ids_by_path.items())
        if is_same_record and number is not None:
            amounts.add(number)
    total = argument._replace(value=sum(amounts, Decimal()))
    return any(_may_equal(mention, total) for mention in figures)


def _is_mentioned_number(operand: Operand, mention: NumberMention) -> bool:
    """Whether an operand was taken from the task and is the number ``mention``."""
    amount = read_amount(operand.literal) if operand.source == "task" else None
    return amount is not None and amount.number in mention.values


def _is_stated_figure(mention: NumberMention, text: str, fields: ReadFields) -> bool:
    """Whether a number of a part is a figure to act with: no limit, condition, small number in words, share, term,
    former value, count or part of a name.
    """
    is_plain = mention.unit is None or mention.money is not None
    if not is_plain or mention.is_small_number_word or _is_condition_or_past(mention, text):
        return False
    if mention.money is not None:
        return True
    text_before = _text_before(mention, text)
    is_acted_on = (
        _WORD_BEFORE_CHANGED_NUMBER_PATTERN.search(text_before)
        or _WORD_FOR_OF_PATTERN.match(text, mention.end)
        or not _WORD_BEFORE_PATTERN.search(text_before)
    )
    return bool(is_acted_on) and not (
        _PLURAL_NOUN_PATTERN.match(text, mention.end) or _is_part_of_name(mention, text, fields)
    )


def _text_before(mention: NumberMention, text: str) -> str:
    return text[max(0, mention.start - _LOOKBACK_FROM_NUMBER) : mention.start]


def _is_condition_or_past(mention: NumberMention, text: str) -> bool:
    clause_end = CLAUSE_END_PATTERN.search(text, mention.end, mention.end + _LONGEST_CLAUSE)
    clause = text[mention.end : clause_end.start() if clause_end else mention.end + _LONGEST_CLAUSE]
    return bool(_COMPARISON_WORD_PATTERN.search(_text_before(mention, text)) or _PAST_STATE_WORD_PATTERN.search(clause))


def _is_part_of_name(mention: NumberMention, text: str, fields: ReadFields) -> bool:
    """Whether a number belongs to the word before it: a house number, a record's value in a field of that name, or
    the record's own number: "the quantity of 4711".
    """
    text_before = _text_before(mention, text)
    if _VALUE_OF_FIELD_PATTERN.search(text_before) and not fields.record_numbers.isdisjoint(mention.values):
        return True
    word_before = _WORD_BEFORE_PATTERN.search(text_before)
    if word_before is None:
        return False
    mark_before = text[: mention.start - len(text_before) + word_before.start()].rstrip()[-1:]
    if word_before[1][0].isupper() and mark_before and mark_before not in _SENTENCE_ENDS:
        return True
    word_forms = set(singular_words(word_before[1]))
    return any(word_forms & fields.words_by_number.get(number, set()) for number in mention.values)
