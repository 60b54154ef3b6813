"""Whether a proposed change agrees with the words of the task's part that it carries out, as far as code can see.

A disagreement is sent back to the model once. If the model proposes the same call again, a person is asked: words prove
nothing, so a disagreement alone refuses no call.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from services.executor.core.figures.arguments import ArgumentKind
from services.executor.core.figures.identifiers import has_digit
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import looks_like_id_text
from services.executor.core.figures.vocabulary import CLAUSE_END_PATTERN, leaves_choice_open
from services.executor.core.plan import exclusions
from services.executor.core.plan.called_tools import find_unasked_call, find_wrong_tool
from services.executor.core.plan.faults import ArgumentToCheck, CallFault, CallToCheck, say_what_part_states
from services.executor.core.plan.stated_values import find_contrary_answers, find_wrong_amounts
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.classes import EDIT_VERBS, is_identifying_name, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from services.executor.ports.tools import Tool
from shared.domain.exact_json import JsonObject, as_text
from shared.domain.keywords import stem

_SUPERLATIVE_WORD_PATTERN = re.compile(r"(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_WORD_BEFORE_NEW_VALUE_PATTERN = re.compile(r"\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$", re.IGNORECASE)
_LONGEST_CLAUSE = 500  # characters of a clause on one side of a value
_CAPITALIZED_NAME_PATTERN = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAME_INSIDE_SENTENCE_PATTERN = re.compile(  # at no sentence's beginning
    r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*"
)
_ORIGINS_TO_CHECK = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_LEAST_LIKENESS_OF_MISSPELLED_NAMES = 0.9  # of a name with a letter too few or too many
_WORD_FOR_SEVERAL_PATTERN = re.compile(
    r"\b(?:twice|two|three|both|again|another|second|more|each|every|several|separate\w*|zwei\w*|drei\w*|beide\w*|noch|je|"
    r"deux|trois|encore|chaque|dos|tres|otra|cada)\b",
    re.IGNORECASE,
)
_MESSAGE_VERBS_REGEX = (
    r"(?:tell|told|inform|notif|writ|wrote|send|sent|messag|e-?mail|mail|letter|text|sms|call|phon|announc|remind|ask|repl|"
    r"answer|respon|post|say|let|contact|alert|ping|report|invit|warn|confirm|thank|apolog|explain|shar|forward|brief|"
    r"publish|broadcast|escalat|page|schreib|sag|informier|benachrichtig|schick|send|antwort|erinner|meld|teil|bescheid|"
    r"écri|ecri|envo|dis|dit|inform|prév|prev|avert|répon|repon|rappel|escrib|envía|envia|enví|avis|dile|di|notifi|responde|"
    r"recuerd)\w*"
)
_PROHIBITED_MESSAGE_PATTERN = re.compile(
    rf"\b(?:do\s+not|don't|without|never|nicht|ohne|sans|sin)\s+(?!forget|fail|hesitate)(?:\w+\s+)?{_MESSAGE_VERBS_REGEX}",
    re.IGNORECASE,
)
_REPETITION_WORD_PATTERN = re.compile(
    r"\b(?:twice|thrice|(?:two|three|four|[2-9])\s+times|as\s+(?:two|three|four|[2-9])\s|zweimal|dreimal|"
    r"(?:deux|trois)\s+fois|(?:dos|tres)\s+veces|"
    r"(?:another|an?\s+(?:further|additional|extra)|weitere|noch(?:mals?|\s+einmal)|encore|otr[ao]s)\s+\W?\d)",
    re.IGNORECASE,
)


def asks_to_repeat(quote: str) -> bool:
    """Whether the part asks for exactly the same thing more than once: "twice", "as two bookings", "another 150"."""
    return _REPETITION_WORD_PATTERN.search(quote) is not None


def asks_for_several(quote: str) -> bool:
    """Whether the part asks for more than one thing of a kind."""
    return _WORD_FOR_SEVERAL_PATTERN.search(quote) is not None


def gives_no_new_value(tool: Tool, arguments: JsonObject) -> bool:
    """Whether a call of an editing tool only names the record, although the tool has arguments for new values."""
    if words_of_tool(tool.name).verb not in EDIT_VERBS:
        return False
    settable = [name for name in tool.parameters if not is_id_name(name)]
    is_given_value = any(arguments.get(name, {}) != {} for name in settable)
    return 0 < len(settable) < len(tool.parameters) and not is_given_value


def find_disagreements(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a change does not agree with the words of its part."""
    checks = (
        _find_excluded_records,
        find_wrong_amounts,
        find_contrary_answers,
        _find_conflicting_words,
        find_wrong_tool,
        find_unasked_call,
    )
    for check in checks:
        yield from check(change)


def find_disagreements_of_notice(notice: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a notice does not agree with its part: the part wants nobody told, or says
    another value than an argument has.
    """
    if _PROHIBITED_MESSAGE_PATTERN.search(notice.part.quote):
        yield CallFault("", f"{notice.tool.name}: this part says that nobody is to be told")
    yield from _find_conflicting_words(notice)


def _find_excluded_records(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each record that the user names as an exception, by an id or a title: "all but not EXP-7"."""
    quote, all_titles = change.part_mentions.text, change.all_titles
    for argument in change.scalars:
        name, is_excepted = argument.field_name, False
        if has_digit(argument.text) and (is_id_name(name) or isinstance(argument.value, str)):
            words = " ".join((name, *words_of(change.tool.name)))
            is_excepted = any(
                exclusions.is_named_as_exception(argument.text, words, text) for text in change.user_mentions
            )
        titles = change.titles.get(argument.text.casefold(), ()) if _is_record_identifier(argument) else ()
        names = filter(_looks_like_name, titles)
        if is_excepted or any(exclusions.is_title_excepted(title, all_titles, quote) for title in names):
            yield argument.build_fault("the task names it as an exception")


def _looks_like_name(text: str) -> bool:
    return text[:1].isupper() and 2 < len(text) <= _LONGEST_NAME


def _find_conflicting_words(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a text argument that has another value than the part says: priority "low" where the part says
    "high". That is, no word of the user says "low"; "high" is a value that the argument can have (one of its schema, or
    of a read field of its name); and no argument of the call is "high".

    If the part asks to choose, only values count that it sets ("to high"). A name without a source also conflicts with
    a capitalized name of the part. Free texts, ids, numbers, and values from a calculation are not compared.
    """
    mentions, call_values = change.part_mentions, [argument.value for argument in change.scalars]
    call_texts = [value for value in call_values if isinstance(value, str)]
    is_open, stems = _asks_to_choose(mentions.text), {stem(word) for word in words_of(mentions.text)}
    for argument in change.scalars:
        value, origin = argument.value, argument.origin
        if not isinstance(value, str) or not value.strip() or origin not in _ORIGINS_TO_CHECK:
            continue
        if argument.kind is ArgumentKind.FREE_TEXT or is_id_name(argument.field_name):
            continue
        is_said = any(_has_words(text, value) for text in (mentions, *change.user_mentions))
        if is_said or argument.number is not None or {*map(stem, words_of(value))} <= stems:
            continue
        possible_values = _possible_argument_values(argument, change)
        part_values = [text for text in possible_values if text not in call_texts and _has_words(mentions, text)]
        if is_open:  # its other words say which things are meant
            part_values = [part_value for part_value in part_values if _does_part_set_value(part_value, change)]
        if origin == "none" and not part_values and _CAPITALIZED_NAME_PATTERN.fullmatch(value):
            names = _NAME_INSIDE_SENTENCE_PATTERN.findall(mentions.text)
            names = get_close_matches(value, names, cutoff=_LEAST_LIKENESS_OF_MISSPELLED_NAMES) if is_open else names
            part_values = [name for name in names if not any(name in text for text in call_texts)]
        if part_values:
            yield argument.build_fault(say_what_part_states(dict.fromkeys(part_values)))


def _asks_to_choose(text: str) -> bool:
    return leaves_choice_open(text) or _SUPERLATIVE_WORD_PATTERN.search(text) is not None


def _does_part_set_value(value: str, change: CallToCheck) -> bool:
    """Whether a part that asks to choose says the value as a new one: after "to" or the like; or in a clause without a
    word of choice, if no record that the call names has it yet: "make A-1 a P1, all agree".
    """
    text = change.part_mentions.text
    for position in _find_word_positions(value, text):
        clause_before = CLAUSE_END_PATTERN.split(text[max(0, position - _LONGEST_CLAUSE) : position])[-1]
        clause_after = CLAUSE_END_PATTERN.split(text[position : position + _LONGEST_CLAUSE])[0]
        if _WORD_BEFORE_NEW_VALUE_PATTERN.search(clause_before):
            return True
        if not (leaves_choice_open(clause_before + clause_after) or _SUPERLATIVE_WORD_PATTERN.search(clause_before)):
            return all(recorded_value != value for _, recorded_value in _values_of_named_records(change))
    return False


def _values_of_named_records(change: CallToCheck) -> set[tuple[tuple[str, ...], str]]:
    """``{(words of a field's name, its value as text)}`` of the records that the call names, as read.

    A record is named by its id, or by a code that it has in a field of the argument's own name, such as ``ticket``.
    """
    scalars = {(argument.field_name, argument.text) for argument in change.scalars}
    fields_of_records = change.fields.list_fields_of_records(
        {value for name, value in scalars if is_identifying_name(name)}
    )
    codes = {(name, value) for name, value in scalars if looks_like_id_text(value)}
    fields = change.fields.all if codes else ()
    parents = {(field.fact_id, field.parent) for field in fields if (field.field_name, as_text(field.value)) in codes}
    beside_codes = (field for field in fields if (field.fact_id, field.parent) in parents)
    return {(singular_words(field.name), as_text(field.value)) for field in (*fields_of_records, *beside_codes)}


@lru_cache(maxsize=4096)
def _find_word_positions(phrase: str, text: str) -> tuple[int, ...]:
    """The positions at which the text has these words; ``on_hold`` is found as "on hold", too."""
    if phrase.strip()[:1].casefold() not in text.casefold():
        return ()
    pattern = re.escape(phrase.strip()).replace("_", "[ _-]").replace("\\ ", "[ _-]")
    return tuple(match.start() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE))


def _is_record_identifier(argument: ArgumentToCheck) -> bool:
    is_code = isinstance(argument.value, str) and looks_like_id_text(argument.value)
    return is_code or is_identifying_name(argument.field_name)


def _possible_argument_values(argument: ArgumentToCheck, change: CallToCheck) -> Iterator[str]:
    """The words that the argument can have: those in its schema, and those of read fields of the same name."""
    choices = change.tool.parameters.get(argument.path, {}).get("enum")
    yield from (choice for choice in choices if isinstance(choice, str)) if isinstance(choices, list) else ()
    field_words = singular_words(argument.field_name)
    for field in change.fields.all if field_words else ():
        is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
        if is_word and singular_words(field.name) == field_words:
            yield str(field.value)


def _has_words(text: Mentions, value: str) -> bool:
    """Whether the text has the words; ``on_hold`` counts as "on hold"."""
    return text.has_words(value.replace("_", " "))
