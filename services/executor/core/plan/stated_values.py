"""Compares what a part states with the change that carries it out: its amounts and counts, and the answer to a question
of the task on which the part depends ("Ask Ann whether it suits; if so, book it").

Only a condition without words of its own is read: "if so", "if it is not", "only with a yes".
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind, may_hold_amount
from services.executor.core.figures.identifiers import find_code_like_tokens, normalize_identifier
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import Number, NumberMention, read_amount, read_figure
from services.executor.core.figures.vocabulary import ALTERNATIVE_WORD_PATTERN, CLAUSE_END_PATTERN
from services.executor.core.plan.faults import (
    ArgumentToCheck,
    CallFault,
    CallToCheck,
    ReadFields,
    Severity,
    say_what_part_states,
    shorten_value,
)
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import singular_words
from services.executor.core.session.values import Fact, Operand, trace_operands
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from shared.domain.exact_json import as_text, loads_object, walk_json
from shared.domain.keywords import extract_keywords, stem

_COMPARISON_WORD_PATTERN = re.compile(
    r"(?i)(?:\b(?:over|above|below|under|than|least|most|fewest|highest|lowest|exceed\w*|up\s+to|minimum|maximum|between|before|after|if|unless|"
    r"when|while|until|über|unter|mehr\s+als|wenn|falls|plus\s+de|moins\s+de|si)\b|[<>≤≥])(?:[^.;,]|,(?=\d)){0,40}$"
)
_AT_MOST_PATTERN = re.compile(
    r"(?i)\b(?:at\s+most|no\s+more\s+than|not\s+more\s+than|up\s+to|höchstens|maximal|bis\s+zu|au\s+plus|como\s+máximo)\s+$"
)
_WORD_FOR_ENTIRELY_PATTERN = re.compile(
    r"(?i)\b(?:in\s+full|entire\w*|whole|fully|completely|complete|full|all\s+of|ganz\w*|vollständig\w*|gesamt\w*|entièrement|"
    r"en\s+entier|totalité|completo|completa)\b"
)
_WORD_BEFORE_PATTERN = re.compile(r"([^\W\d_]+)[\s-]*$")
_WORD_BEFORE_CHANGED_NUMBER_PATTERN = re.compile(
    r"(?i)(?:\b(?:by|to|of|at|for|with|another|further|um|auf|von|mit|für|de|à|pour|por|a)|^\w+)\s+$"
)
_WORD_FOR_OF_PATTERN = re.compile(r"(?i)\s+(?:of|off|from|von|de)\b")
_PAST_STATE_WORD_PATTERN = re.compile(
    r"(?i)\b(?:was|were|has\s+been|have\s+been|wurden?|bereits|schon|already|déjà|ya)\b"
)
_PLURAL_NOUN_PATTERN = re.compile(r"\s+(?!(?:as|plus|less|minus|its|this|thus)\b)[^\W\d_A-Z]{2,}s\b")
_COUNTED_NOUN_PATTERN = re.compile(
    r"(?i)\s+(?:(?:of|the|these|those|its|their|his|her|our|my|more|further|extra|additional|other)\s+)*([^\W\d_]+)"
)
_VALUE_OF_FIELD_PATTERN = re.compile(r"(?i)\b(?:the|die|das|den|la|le)\s+[^\W\d]+\s+(?:of|for|from|von|de)\s+$")
_LOOKBACK_FROM_NUMBER = 60  # characters before a number in which the words for it stand
_LONGEST_CLAUSE = 300
_SENTENCE_ENDS = ".!?:;\n"
_WORD_FOR_SHARES_PATTERN = re.compile(
    r"(?i)\b(?:shares?|sharing|split\w*|divid\w*|each|per|every|instal+ments?|rates?|portions?|proportion\w*|pro|prorat\w*|"
    r"evenly|equal\w*|between|among|partial\w*|in\s+part|months?|weeks?|quarters?|years?|anteil\w*|aufgeteilt|teil\w*|je|"
    r"jeweils|gleich\w*|zwischen|monat\w*|woche\w*|jahr\w*|répart\w*|partag\w*|chaque|chacun\w*|entre|mois|ans)\b"
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


def find_other_counts(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each quantity that a read shows by chance, while its part counts the same things otherwise: 4
    ``pallets`` for "two of these pallets". It may be right: a part may count things by other words, too.

    A quantity is not by chance if it is what the record has, more or less the count. A part with a share has no count.
    """
    mentions, text = change.part_mentions.numbers, change.part_mentions.text
    if any(read_share(mention, value) for mention in mentions for value in mention.values):
        return
    for argument in change.scalars:
        if argument.kind is not ArgumentKind.QUANTITY or argument.origin != "fact" or argument.number is None:
            continue
        counts = [mention for mention in mentions if _counts_things_of(argument, mention, text)]
        changes = {0, *(step for count in counts for value in count.values for step in (value, -value))}
        is_kept_or_changed = any(argument.number - own in changes for own in argument.recorded_numbers)
        is_used = any(_may_equal(count, other) for count in counts for other in change.scalars)
        if counts and not (is_kept_or_changed or is_used or _sums_to_stated(argument, counts, change)):
            stated = say_what_part_states(count.text for count in counts)
            sentence = f"{stated}; if it is right all the same, propose the call again as it is"
            yield argument.build_fault(sentence, Severity.DOUBTFUL)


def _counts_things_of(argument: ArgumentToCheck, mention: NumberMention, text: str) -> bool:
    """Whether a number of a part counts what an argument is called by: "two of these pallets" for ``pallets``."""
    following_word = _COUNTED_NOUN_PATTERN.match(text, mention.end)
    words = {*words_of(mention.text), *(words_of(following_word[1]) if following_word else ())}
    own_words = singular_words(argument.field_name)[-1:]
    return any(singular_words(word) == own_words for word in words) and not _is_condition_or_past(mention, text)


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
    total = replace(argument, value=sum(amounts, Decimal()))
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
    return any(word_forms & fields.field_words_by_number.get(number, set()) for number in mention.values)


_CONDITION_ON_ANSWER_PATTERN = re.compile(
    r"""(?:^|[.,;:?!"”]\s+)(?:(?:and|but|then|only|und|aber|dann|nur|et|mais|puis|seulement|uniquement)\s+)*(?:
    (?:if|wenn|falls|si)\s+(?:so|yes|ja|oui)\b|
    in\s+(?:that|this|which)\s+case\b|in\s+diesem\s+fall\b|dans\s+ce\s+cas\b|
    (?:with|mit|bei|avec)\s+(?:an?|einem|un)\s+(?:yes|ja|oui)\b|
    (?P<no>(?:with|mit|bei|avec)\s+(?:an?|einem|un)\s+(?:no|nein|non)\b(?!-))|
    (?:(?P<not>(?:if|wenn|falls|si)\s+(?:not|no|nicht|nein|non))|
    (?:wenn|falls)\s+(?:es|das|dem|er|sie)\s+(?P<nicht>nicht\s+)?(?:so\s+|der\s+fall\s+)?ist|
    si\s+(?:(?P<pas>ce\s+n['’]est\s+pas)|c['’]est)\s+le\s+cas|
    if\s+(?:it|that|there|s?he|they)(?:['’]s|['’]re|\s+(?:is|are|was|were|does|do|did|has|have|can|will))
    (?P<n_t>\s+not|n['’]t)?(?:\s+the\s+case)?)(?=\s*[,;:]|\s+then\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTION_PHRASE_PATTERN = re.compile(  # what a text begins with
    r"(?i)\W*(?:(?:please|kindly|first|then|also|i|we|d|want|need|like|could|can|would|you|to|bitte|zuerst)\W+)*"
    r"(?:ask|check|verify|inquire|enquire|find\s+out|frag\w*|prüf\w*|demande\w*|vérifie\w*|est-ce|"
    r"(?:is|are|was|were|has|have|does|do|did|ist|sind|hat|haben|can|will|may|kann)(?!\s+you))\b"
)
_NEGATION_PATTERN = re.compile(r"(?i)\b(?:not|no|none|never|without|nicht|kein\w*|nie|ohne|pas|jamais|sans)\b|n['’]t\b")
_YES_OR_NO_PATTERN = re.compile(  # "no, no, that is fine" is none
    r"\s*(?:(?P<yes>yes|ja|oui)\b(?!\s+and)|(?:no|nein|non)\s*"
    r"(?:[,.;!:–—-](?!\W*(?:no|nein|non)\b|.*\b(?:fine|ok|okay|sure|problem|gut|gern|bien)\b)|$))",
    re.IGNORECASE | re.DOTALL,
)
_RESERVATION_PATTERN = re.compile(  # in the sentence of a yes, or at the beginning of a later one
    r"(?:(?:[^.!?]|[.!?](?!\s))*|.*[.!?]\s+)\b(?:but|only|unless|except|provided|though|although|however|"
    r"aber|nur|außer|sofern|solange|allerdings|jedoch|mais|seulement|sauf)\b|"
    r"(?:[^.!?]|[.!?](?!\s))*\b(?:if|until|as\s+long\s+as|not(?!\s+a\s+problem)|wenn|falls|erst|nicht|si|pas(?!\s+de\s+problème))\b",
    re.IGNORECASE | re.DOTALL,
)
_LOWER_CASE_WORD_PATTERN = re.compile(r"(?<!\w)[^\W\d_A-ZÄÖÜ]+(?!\w)")
_WORD_FOR_ANSWERING_PATTERN = re.compile(  # in a field's name
    r"(?:agree|accept|consent|approve|confirm)(?:s|e?d)?|answer|reply|response|text|message|yes"
)


def find_contrary_answers(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if the part depends on the answer to the question before it, and what was read is the contrary.

    A yes with a reservation ("Yes, but not on Tuesday") is the contrary of both a yes and a no.
    The part begins with the condition, or with the question. Of several answers those count that were asked of a record
    of the call; if they differ, none does.
    """
    quote = change.part.quote
    conditions = [*_CONDITION_ON_ANSWER_PATTERN.finditer(quote)]
    if len(conditions) != 1 or ALTERNATIVE_WORD_PATTERN.search(quote):
        return
    condition = conditions[0]
    question = quote[: condition.start()] or _find_part_before(change)
    if not _QUESTION_PHRASE_PATTERN.match(question) or _NEGATION_PATTERN.search(question):
        return
    is_yes_needed = condition.lastgroup is None
    named = {normalize_identifier(code.text) for code in change.user_mentions[0].identifiers if code.text in question}
    facts = [fact for fact in change.facts if fact.ok and not fact.by_machine]
    facts = [fact for fact in facts if not named or named <= _list_shown_names(fact, change.fields)]
    answers = [(fact, answer) for fact in facts if (answer := _read_answer(fact, question)) is not None]
    own_answers = [answer for fact, answer in answers if not change.texts.isdisjoint(_list_argument_texts(fact))]
    answers_that_count = own_answers or [answer for _, answer in answers]
    if answers_that_count and all(answer.is_yes is not is_yes_needed for answer in answers_that_count):
        words = condition[0].strip(' .,;:?!"”')
        yield CallFault(
            "", f"{change.tool.name}: this part says {words}, and the answer is {answers_that_count[-1].text}"
        )


class _Answer(NamedTuple):
    text: str  # the field with its value
    is_yes: bool | None  # None for a yes with a reservation


def _find_part_before(change: CallToCheck) -> str:
    """The words of the part that comes before the call's own one in the task; empty if there is none."""
    task = change.user_mentions[0].text
    places = {task.find(quote): quote for quote in change.part.other_quotes}
    earlier_places = [place for place in places if 0 <= place < task.find(change.part.quote)]
    return places[max(earlier_places)] if earlier_places else ""


def _list_shown_names(fact: Fact, fields: ReadFields) -> set[tuple[str, ...]]:
    """The ids and numbers that a read shows or was asked with, and those in the records whose ids it was asked with."""
    codes = [code.text for code in find_code_like_tokens(fact.arguments_json + fact.result_json)]
    asked = fields.list_fields_of_records(set(_list_argument_texts(fact)))
    names = (as_text(field.value) for field in asked if is_identifying_name(field.field_name))
    return {normalize_identifier(name) for name in (*codes, *names)}


def _read_answer(fact: Fact, question: str) -> _Answer | None:
    """What a read answers to the question: the only truth value whose field's name has no words but the question's; or,
    if the read put the question to somebody, also the only yes or no in a field for an answer, if its result has no
    other text. None without a single answer.
    """
    arguments, answers = _list_argument_texts(fact), list[_Answer]()
    is_put = any(_asks_the_same(text, question) for text in arguments)
    asked_words = {"is", *map(stem, words_of(_QUESTION_PHRASE_PATTERN.sub("", question, count=1)))}
    known_words = asked_words.union(*(map(stem, words_of(name)) for name in loads_object(fact.arguments_json)))
    for name, value in walk_json(fact.result):
        words = words_of(name)
        other_words = [stem(word) for word in words if not _WORD_FOR_ANSWERING_PATTERN.fullmatch(word)]
        is_answer = is_put and len(other_words) < len(words) and known_words.issuperset(other_words)
        if isinstance(value, bool) and words and (is_answer or asked_words.issuperset(map(stem, words))):
            answers.append(_Answer(f"{name}: {as_text(value)}", value))
        elif is_put and isinstance(value, str) and value not in arguments:
            word = _YES_OR_NO_PATTERN.match(value)
            if is_answer and word:
                is_reserved = word["yes"] and _RESERVATION_PATTERN.match(value, word.end())
                answers.append(
                    _Answer(f"{name}: {shorten_value(value)}", None if is_reserved else word["yes"] is not None)
                )
            elif is_answer or len(_LOWER_CASE_WORD_PATTERN.findall(value)) > 1:
                return None
    answers = [answer for answer in answers if answer.is_yes is None] or answers
    return answers[0] if len(answers) == 1 else None


def _asks_the_same(text: str, question: str) -> bool:
    """Whether ``text`` is a question without "not" whose keywords are all in ``question``, or the reverse."""
    own_words, words = (
        set(extract_keywords(" ".join(_LOWER_CASE_WORD_PATTERN.findall(words)))) for words in (text, question)
    )
    is_same = bool(own_words & words) and (own_words <= words or words <= own_words)
    return text.rstrip().endswith("?") and is_same and not _NEGATION_PATTERN.search(text)


def _list_argument_texts(fact: Fact) -> list[str]:
    return [as_text(value) for value in loads_object(fact.arguments_json).values()]
