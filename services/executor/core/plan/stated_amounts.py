"""Compares the amounts of a proposed change with those that its part states."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product

from services.executor.core.figures.arguments import FIGURE_KINDS, ArgumentKind, kind_of_argument, may_hold_amount
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import Number, NumberMention, is_rounding_of, read_amount, read_figure
from services.executor.core.figures.vocabulary import CLAUSE_END_PATTERN, PERCENT_UNIT
from services.executor.core.plan.faults import ArgumentToCheck, CallFault, CallToCheck, ReadFields, say_what_part_states
from services.executor.core.records.references import argument_at, literal_scalars
from services.executor.core.records.seen_records import singular_words
from services.executor.core.session.values import NamedValue, Operand, trace_operands
from services.executor.core.tools.classes import EDIT_VERBS, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from shared.domain.exact_json import Json, as_text, loads_object

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
_WORD_BEFORE_DIFFERENCE_PATTERN = re.compile(r"\b(?:by|um|de|por)\s+(?:another\s+|a\s+|weitere\s+)?$", re.IGNORECASE)
_WORD_BEFORE_NEW_VALUE_PATTERN = re.compile(r"\b(?:to|auf|à|a)\s+$", re.IGNORECASE)
_INCREASE_VERB_PATTERN = re.compile(
    r"\b(?:rais\w*|increas\w*|lift\w*|add\w*|higher|up|erhöh\w*|augment\w*|aument\w*|sub[ea]\w*)\b", re.IGNORECASE
)
_DECREASE_VERB_PATTERN = re.compile(
    r"\b(?:lower\w*|reduc\w*|decreas\w*|cut\w*|drop\w*|less|down|senk\w*|verringer\w*|rédui\w*|baiss\w*|diminu\w*|baj[ea]\w*|"
    r"remov\w*|withdr\w*|deduct\w*|writ\w*\s+off|out\s+of|entn\w*|abschreib\w*)\b",
    re.IGNORECASE,
)
_REVERSAL_WORD_PATTERN = re.compile(  # or says no direction
    r"\b(?:undo\w*|revers\w*|restor\w*|back|mistaken?(?:ly)?|twice|less\s+than|(?:drop|cut)\w*\s+(?:off|open))\b",
    re.IGNORECASE,
)
_ROUNDING_WORD_PATTERN = re.compile(r"\b(?:round\w*|whole|gerundet|arrondi\w*|redonde\w*)\b", re.IGNORECASE)
_WORD_BEFORE_PATTERN = re.compile(r"([^\W\d_]+)[\s-]*$")
_WORD_BEFORE_CHANGED_NUMBER_PATTERN = re.compile(
    r"(?:\b(?:by|to|of|at|for|with|another|further|um|auf|von|mit|für|de|à|pour|por|a)|^\w+)\s+$", re.IGNORECASE
)
_WORD_FOR_OF_PATTERN = re.compile(r"\s+(?:of|off|from|von|de)\b", re.IGNORECASE)
_PAST_STATE_WORD_PATTERN = re.compile(
    r"\b(?:was|were|has\s+been|have\s+been|wurden?|bereits|schon|already|déjà|ya)\b", re.IGNORECASE
)
_PLURAL_NOUN_PATTERN = re.compile(r"\s+(?!(?:as|plus|less|minus|its|this|thus)\b)[^\W\d_A-Z]{2,}s\b")
_COUNTED_THINGS_PATTERN = re.compile(
    r"\s+(?:[^\W\d_A-Z]+\s+){0,2}?(?:[^\W\d_A-Z]{2,}s|[A-Z][^\W\d_A-Z]{3,})\b"
)  # "flow sensors"
_DEFINITE_ARTICLE_PATTERN = re.compile(
    r"\b(?:the|these|those|its|our|his|her|their|die|der|den|diese|les|ces|los|las)\s+$", re.IGNORECASE
)
_THERE_ARE_PATTERN = re.compile(
    r"\b(?:there(?:\s+(?:is|are)|['’]s)|es\s+gibt|il\s+y\s+a)\s+(?:only\s+|nur\s+)?$", re.IGNORECASE
)
_VALUE_OF_FIELD_PATTERN = re.compile(
    r"\b(?:the|die|das|den|la|le)\s+[^\W\d]+\s+(?:of|for|from|von|de)\s+$", re.IGNORECASE
)
_WORD_FOR_RECORDED_NUMBER_PATTERN = re.compile(
    r"\b(?:rest|remain\w*|everything|as\s+m(?:any|uch)|übrig\w*|restlich\w*|so\s+viele?|reste|autant|resto|tant[ao]s)\b|"
    r"\b(?:all|alle[ns]?|tou[ts]e?s?|tod[ao]s)\b(?!\s+\d)",
    re.IGNORECASE,
)
_MINOR_UNITS_A_UNIT = 100
_LOOKBACK_FROM_NUMBER = 60  # characters before a number in which the words for it stand
_LONGEST_CLAUSE = 300
_HIGHEST_PRIORITY_SCALE = 10  # a number up to a schema's maximum of 5 is a priority, and counts nothing
_SENTENCE_ENDS = ".!?:;\n"
_ARITHMETIC_OPERATIONS = frozenset({"sum", "difference", "product", "quotient"})
_PERCENTAGE_OPERATIONS = frozenset({"percentage", "increase_by_percent", "decrease_by_percent"})
_SCALING_OPERATIONS = {
    *_ARITHMETIC_OPERATIONS,
    *_PERCENTAGE_OPERATIONS,
    *"round_up round_down round_money units_to_cents cents_to_units".split(),
}
_WORD_FOR_SHARES_PATTERN = re.compile(
    r"\b(?:shares?|sharing|split\w*|divid\w*|each|per|every|instal+ments?|rates?|portions?|proportion\w*|pro|prorat\w*|"
    r"evenly|equal\w*|between|among|partial\w*|in\s+part|months?|weeks?|quarters?|years?|anteil\w*|aufgeteilt|teil\w*|je|"
    r"jeweils|gleich\w*|zwischen|monat\w*|woche\w*|jahr\w*|répart\w*|partag\w*|chaque|chacun\w*|entre|mois|ans)\b",
    re.IGNORECASE,
)


def find_wrong_amounts(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each amount or quantity of a call that differs from what its part states: another figure, more
    than its limit, a difference of another size or sign, another share, or a share that it does not mention.
    """
    mentions, text = change.part_mentions.numbers, change.part_mentions.text
    figures = [mention for mention in mentions if _is_stated_figure(mention, text, change.fields)]
    money = [mention for mention in figures if mention.money is not None]  # "50 euros for 88101"
    is_used = any(may_equal(mention, argument) for mention in money or figures for argument in change.scalars)
    for argument in change.scalars:
        if argument.number is None or argument.kind not in FIGURE_KINDS:
            continue
        if argument.kind is ArgumentKind.QUANTITY and argument.number in argument.recorded_numbers:
            continue  # the key of a row, ``position``, or a field that is kept
        may_be_amount = may_hold_amount(argument.path, argument.kind)
        faults = [*_find_amount_over_limit(argument, change.part_mentions)] if may_be_amount else []
        faults += [*_find_wrong_sign(argument, change), *_find_wrong_difference(argument, change)]
        if may_be_amount and figures and not (faults or is_used or _sums_to_stated(argument, figures, change)):
            faults += _find_other_amount(argument, figures, change)
        elif may_be_amount and not (faults or figures):
            faults += _find_other_share(argument, change)
        faults = faults or [*_find_other_quantity(argument, change)] or [*_find_unused_share(argument, change)]
        yield from faults or _find_unconverted_amount(argument, change)


def _find_other_amount(
    argument: ArgumentToCheck, figures: Sequence[NumberMention], change: CallToCheck
) -> Iterator[CallFault]:
    """Yields a fault, with the part's ``figures``, for an amount that is none of them: read from a record (unless the
    part says "in full"), stated elsewhere in the task, or calculated from no number of the part or as an unstated
    share.
    """
    numbers, value = change.part_mentions.numbers, change.find_value(argument)
    is_other = argument.origin == "fact" and not _WORD_FOR_ENTIRELY_PATTERN.search(change.part_mentions.text)
    is_other |= argument.origin == "task" and not any(may_equal(mention, argument) for mention in numbers)
    if value is not None:
        operands = [operand for _, operand in trace_operands(value, change.values)]
        is_from_part = any(_is_mentioned_number(operand, mention) for operand in operands for mention in numbers)
        is_share = any(_is_unstated_share_of(value, mention, change) for mention in figures)
        is_other |= is_share or not is_from_part
    if is_other:
        yield from _report_contradicting_figures(argument, figures)


def _find_other_quantity(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if the argument is a count or measure that was read or has no source, while the part states a
    number in its unit that no call uses: 30 for "40 boxes".

    No fault are 0 and 1 without a unit, a rank, the sum of the unused numbers, and a recorded number plus or minus one
    of them; nor a value that was read, where the part says "the rest".
    """
    number, unit, mentions = Fraction(argument.number or 0), argument.hints.unit, change.part_mentions
    is_recorded = argument.origin == "fact" and _WORD_FOR_RECORDED_NUMBER_PATTERN.search(mentions.text)
    is_chosen = argument.origin in ("fact", "none") and not is_recorded and (unit is not None or number not in (0, 1))
    highest = read_figure(change.tool.parameters.get(argument.path, {}).get("maximum"))
    is_rank = highest is not None and highest <= _HIGHEST_PRIORITY_SCALE
    if argument.kind is not ArgumentKind.QUANTITY or not is_chosen or is_rank:
        return
    used_numbers = _list_used_numbers(change)
    of_unit = (mention for mention in mentions.numbers if mention.unit == unit)
    unused_mentions = [mention for mention in of_unit if used_numbers.isdisjoint(mention.values)]
    total = sum(Fraction(mention.values[0]) for mention in unused_mentions)
    no_targets = (mention for mention in unused_mentions if not _is_new_value(mention, mentions.text))
    steps = {Fraction(mention.values[0]) for mention in no_targets}
    is_moved = any(abs(number - Fraction(recorded)) in steps for recorded in argument.recorded_numbers)
    if not is_moved and number != total:
        quantities = [mention for mention in unused_mentions if _is_stated_quantity(mention, change)]
        yield from _report_contradicting_figures(argument, quantities)


def _find_unused_share(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a figure that was read or has no source, if a share that the part states was calculated, and
    no call has that: "move two thirds" came to 40, and the call moves 42.
    """
    shares = [mention for mention in change.part_mentions.numbers if _is_fraction(mention)]
    if argument.origin not in ("fact", "none") or not shares:
        return
    values, used_numbers = _list_final_values(change), _list_used_numbers(change)
    for value in values:
        steps = trace_operands(value, change.values)
        stated = [mention for _, operand in steps for mention in shares if _is_mentioned_number(operand, mention)]
        if stated and value.number is not None and abs(Fraction(value.number)) not in used_numbers:
            yield argument.build_fault(f"this part says {stated[0].text}, and {value.name} is {value.value}")
            return


def _find_unconverted_amount(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a calculated amount of which a later calculation made units of cents, or cents of units, if no
    call has what that came to: 106666 for 1066.66.
    """
    value = change.find_value(argument)
    if value is None or value.number is None or argument.hints.is_in_minor_units:
        return
    used_numbers = _list_used_numbers(change)
    for later in _list_final_values(change):
        is_of_value = any(operand.source == "value" and operand.ref == value.name for operand in later.operands)
        is_converted = later.number is not None and later.number * _MINOR_UNITS_A_UNIT == value.number
        if is_of_value and is_converted and abs(Fraction(later.number or 0)) not in used_numbers:
            yield argument.build_fault(f"{later.name} is {later.value}, which was calculated from it")


def _list_final_values(change: CallToCheck) -> list[NamedValue]:
    """The calculated values from which no other was calculated."""
    operands = (operand for value in change.values.values() for operand in value.operands)
    used_names = {operand.ref for operand in operands if operand.source == "value"}
    return [value for name, value in change.values.items() if name not in used_names]


def _report_contradicting_figures(argument: ArgumentToCheck, mentions: Sequence[NumberMention]) -> Iterator[CallFault]:
    if mentions:
        yield argument.build_fault(say_what_part_states(mention.text for mention in mentions))


def _list_used_numbers(change: CallToCheck) -> set[Fraction]:
    """The numbers in the task's calls (reads, too), unsigned, and those from which they were calculated."""
    read_arguments = (loads_object(fact.arguments_json) for fact in change.facts)
    proposed_arguments = (arguments for _, arguments in change.part.proposed_calls)
    calls: list[Json] = [change.arguments, *proposed_arguments, *read_arguments]
    numbers: set[Number] = {number for scalar in literal_scalars(calls) if (number := read_figure(scalar)) is not None}
    for value in [value for value in change.values.values() if value.number in numbers]:
        amounts = (read_amount(operand.literal) for _, operand in trace_operands(value, change.values))
        numbers.update(amount.number for amount in amounts if amount is not None)
    return {abs(Fraction(number)) for number in numbers}


def _is_stated_quantity(mention: NumberMention, change: CallToCheck) -> bool:
    """Whether a number of the part says how much to act with ("40 boxes", "3 hours"), and not how many calls."""
    text, is_of_calls = change.part_mentions.text, len(change.list_same_tool_arguments()) in mention.values
    if mention.money is not None or is_of_calls or _is_condition_or_past(mention, text):
        return False
    text_before = _text_before(mention, text)
    is_of = _WORD_FOR_OF_PATTERN.match(text, mention.end)
    if _THERE_ARE_PATTERN.search(text_before) and not is_of:
        return False
    is_acted_on = _WORD_BEFORE_CHANGED_NUMBER_PATTERN.search(text_before) or is_of
    is_counting = is_acted_on or (
        _COUNTED_THINGS_PATTERN.match(text, mention.end) and not _DEFINITE_ARTICLE_PATTERN.search(text_before)
    )
    is_name = mention.is_small_number_word or _is_part_of_name(mention, text, change.fields)
    return mention.unit is not None or (bool(is_counting) and not is_name)


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


def _find_wrong_sign(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a difference above 0 where the part lowers something, or below 0 where it raises something."""
    number, text = argument.number or 0, change.part_mentions.text
    tool_has_direction = any(_read_directions(" ".join(words_of(change.tool.name))))
    is_signed = argument.origin == "task" and argument.hints.is_signed
    if not is_signed or tool_has_direction or _REVERSAL_WORD_PATTERN.search(text):
        return
    is_up, is_down = _read_directions(text)
    if is_up != is_down and (number < 0) != is_down:
        yield CallFault(argument.path, f"{argument.path} {as_text(number)}: this part says it the other way round")


def _find_wrong_difference(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a new value that is not the recorded one moved as stated: 90 "raised by 5" is 95."""
    number, mentions = argument.number, change.part_mentions
    is_up, is_down = _read_directions(mentions.text)
    is_edit = words_of_tool(change.tool.name).verb in EDIT_VERBS
    if number is None or not (argument.recorded_numbers and is_edit and (is_up or is_down)):
        return
    if _ROUNDING_WORD_PATTERN.search(mentions.text):
        return
    if any(number in mention.values and _is_new_value(mention, mentions.text) for mention in mentions.numbers):
        return
    signs = ([1] if is_up else []) + ([-1] if is_down else [])
    for mention in mentions.numbers:
        if not _WORD_BEFORE_DIFFERENCE_PATTERN.search(mentions.text[max(0, mention.start - 20) : mention.start]):
            continue
        factor = 100 if argument.hints.is_in_minor_units and mention.money and not mention.money.is_minor else 1
        new_values: list[Fraction] = []
        for recorded, stated in product(map(Fraction, argument.recorded_numbers), mention.values):
            step = read_share(mention, stated) * recorded or Fraction(stated) * factor
            new_values += [recorded + sign * step for sign in signs]
        if mention.unit in (None, PERCENT_UNIT) and not any(
            is_rounding_of(number, new_value) for new_value in new_values
        ):
            recorded_texts = ", ".join(map(str, argument.recorded_numbers))
            yield argument.build_fault(f"this part says by {mention.text}, and the record has {recorded_texts}")


def _read_directions(text: str) -> tuple[bool, bool]:
    """Whether the text raises something, and whether it lowers something."""
    return _INCREASE_VERB_PATTERN.search(text) is not None, _DECREASE_VERB_PATTERN.search(text) is not None


def _is_new_value(mention: NumberMention, text: str) -> bool:
    """Whether a number is what something is set to: "to 5"."""
    return _WORD_BEFORE_NEW_VALUE_PATTERN.search(_text_before(mention, text)) is not None


def _find_other_share(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for another share than the part states: "refund a third" of 90 passes with 30, 60, 90 and 120.

    The amount was calculated from one recorded amount and one number, which the part does not state besides the share.
    A part that states several shares, or one as a limit, or tells of splitting or rounding, makes no fault.
    """
    mentions, value, number = change.part_mentions, change.find_value(argument), argument.number
    fractions = [mention for mention in mentions.numbers if _is_fraction(mention)]
    shares = [mention for mention in fractions if not mention.text.casefold().startswith("the ")]
    if value is None or number is None or len(shares) != 1:
        return
    share = shares[0]
    is_limit = _COMPARISON_WORD_PATTERN.search(_text_before(share, mentions.text))
    if is_limit or _WORD_FOR_SHARES_PATTERN.search(mentions.text) or _ROUNDING_WORD_PATTERN.search(mentions.text):
        return
    recorded_amount, scale = _split_operands(value, change)
    others = [mention for mention in mentions.numbers if mention != share]
    if scale is None or any(_is_mentioned_number(scale, mention) for mention in others):
        return
    if not any(_is_share_of(number, recorded_amount, share, share_value) for share_value in share.values):
        yield argument.build_fault(f"this part says {share.text}, and this is another share of what the record has")


def _split_operands(value: NamedValue, change: CallToCheck) -> tuple[Fraction, Operand | None]:
    """``(amount, operand)``: the only recorded amount from which a value was calculated, in the value's unit (cents or
    not), and the only other operand, by which it was multiplied or divided, or a percentage of it. The operand is None
    if anything else was done.
    """
    fields = {(field.fact_id, field.path): field for field in change.fields.all}
    steps = [*trace_operands(value, change.values)]
    recorded_amounts, scales = set[Fraction](), list[Operand]()
    for operation, operand in steps:
        field = fields.get((operand.ref, operand.path)) if operand.source == "result" else None
        figure = read_figure(field.value) if field else None
        may_be_whole = field and may_hold_amount(field.path, kind_of_argument(field.name, {}, field.value))
        is_percent = operation in _PERCENTAGE_OPERATIONS and bool(recorded_amounts)
        if figure and may_be_whole and not is_percent:
            recorded_amounts.add(Fraction(figure))
        elif operand.source != "value":
            is_number = operand.source in ("constant", "task") and operation in ("product", "quotient")
            scales += [operand] if is_number or is_percent else [operand] * 2
    operations = {operation for operation, _ in steps}
    if len(recorded_amounts) != 1 or len(scales) != 1 or not operations <= _SCALING_OPERATIONS:
        return Fraction(), None
    size = 100 if "units_to_cents" in operations else Fraction(1, 100) if "cents_to_units" in operations else 1
    return recorded_amounts.pop() * size, scales[0]


def _is_share_of(number: Decimal, whole: Fraction, mention: NumberMention, value: Number) -> bool:
    """Whether ``number`` is ``whole``, its share, or ``whole`` less or plus the share, rounded either way. For a
    percentage also ``whole`` before a tax or a discount of that rate, and the tax in it.
    """
    share = read_share(mention, value)
    shares = [whole, whole * share, whole * (1 - share), whole * (1 + share)]
    if mention.unit == PERCENT_UNIT and share < 1:
        shares += [whole / (1 + share), whole * share / (1 + share), whole / (1 - share)]
    step = Fraction(10) ** int(number.as_tuple().exponent)
    return any(abs(Fraction(number) - exact) < step for exact in shares)


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


def may_equal(mention: NumberMention, argument: ArgumentToCheck) -> bool:
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
    return any(may_equal(mention, total) for mention in figures)


def _is_unstated_share_of(value: NamedValue, mention: NumberMention, change: CallToCheck) -> bool:
    """Whether a value is a share of the number ``mention`` although the part mentions no share: 90 / 3 for "pay 90".

    The value is smaller, and came by arithmetic from that number and others, which the part does not state. Either the
    others are all constants, or the value is the number divided by a whole one.
    """
    mentions = change.part_mentions
    if _WORD_FOR_SHARES_PATTERN.search(mentions.text) or any(map(_is_fraction, mentions.numbers)):
        return False
    figures = [number for number in mentions.numbers if not _is_part_of_name(number, mentions.text, change.fields)]
    steps = [*trace_operands(value, change.values)]
    leaves = [operand for _, operand in steps if operand.source != "value"]
    others = [operand for operand in leaves if not _is_mentioned_number(operand, mention)]
    number, operations = value.number, {operation for operation, _ in steps}
    if number is None or not others or len(others) == len(leaves) or not operations <= _ARITHMETIC_OPERATIONS:
        return False
    if any(_is_mentioned_number(operand, figure) for operand in others for figure in figures):
        return False
    wholes = [Fraction(stated) for stated in mention.values if 0 < number < stated]
    is_by_constants = all(operand.source == "constant" for operand in others)
    equal_shares = (whole / round(whole / Fraction(number)) for whole in wholes)
    is_divided = "quotient" in operations and any(is_rounding_of(number, share) for share in equal_shares)
    return bool(wholes) and (is_by_constants or is_divided)


def _is_mentioned_number(operand: Operand, mention: NumberMention) -> bool:
    """Whether an operand was taken from the task and is the number ``mention``."""
    amount = read_amount(operand.literal) if operand.source == "task" else None
    return amount is not None and amount.number in mention.values


def _is_fraction(mention: NumberMention) -> bool:
    return isinstance(mention.values[0], Fraction) or mention.unit == PERCENT_UNIT


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
