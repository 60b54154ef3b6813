"""Whether a proposed change agrees with the words of the task's part that it carries out, as far as code can see.

A disagreement is sent back to the model once. If the model proposes the same call again, a person is asked: words prove
nothing, so a disagreement alone refuses no call.
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise

from services.executor.core.figures.arguments import ArgumentKind
from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.identifiers import has_digit
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import looks_like_id_text
from services.executor.core.figures.vocabulary import (
    CLAUSE_END_PATTERN,
    CURRENCY_CODES,
    SWAP_WORD_PATTERN,
    has_condition,
    leaves_choice_open,
    without_legal_form,
)
from services.executor.core.plan import exclusions
from services.executor.core.plan.called_tools import (
    find_call_ordered_by_text,
    find_conflicting_tool,
    find_day_for_other_tool,
    is_day_for_record,
)
from services.executor.core.plan.faults import (
    ArgumentToCheck,
    CallFault,
    CallToCheck,
    argument_name_of,
    say_what_part_states,
)
from services.executor.core.plan.stated_amounts import find_wrong_amounts, may_equal
from services.executor.core.plan.stated_answers import find_contrary_answers
from services.executor.core.plan.stated_limits import find_unmet_limits, find_unmet_stock_conditions
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.classes import EDIT_VERBS, is_identifying_name, words_of_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from services.executor.core.tools.toolbox import RESERVED_ARGUMENT
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_object, as_text, loads_object, walk_json
from shared.domain.keywords import stem

_SUPERLATIVE_WORD_PATTERN = re.compile(r"(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_EXCEPTION_PHRASE_PATTERN = re.compile(  # "except the one to": a record that is told by what it has
    f"{exclusions.NO_OTHERS_REGEX}"
    r"\b(?:except(?:ing)?|excluding|all\s+but|every\w*\s+but|but\s+not|other\s+than|apart\s+from|exception\s+of|bis\s+auf|"
    r"Ausnahme\s+von|außer|ausser|sauf|excepté|salvo|excepto|"
    r"(?:(?:all|every|each)\s+(?:[^\W\d]+\s+){1,4}but|not|leav(?:e|ing)|skip|spare|nicht)\s+(?:the\s+ones?|that|those|die|den|das)"
    r"\s+(?:of|to|for|from|with|von|an|für|mit))"
    r"\s+(?:(?!(?:and|then|und|dann|et|y)\b)[^\W\d]+\s+){0,5}$",
    re.IGNORECASE,
)
_WORD_BEFORE_NEW_VALUE_PATTERN = re.compile(r"\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$", re.IGNORECASE)
_WORD_BEFORE_SOURCE_PATTERN = re.compile(
    r"\b(?:from|out\s+of|von|vom|aus|de|du|desde)\s+(?:(?:the|dem|der|la|le|el)\s+)?$", re.IGNORECASE
)
_WORD_BEFORE_DESTINATION_PATTERN = re.compile(
    r"\b(?:to|into|onto|auf|zu|zum|zur|nach|an|à|au|vers|a|al)\s+(?:(?:the|das|die|den|la|le|el)\s+)?$", re.IGNORECASE
)
_CLAUSE_BOUNDARY_PATTERN = re.compile(
    r"[;,.!?](?=\s)|\s(?:and|then|while|und|dann|et|puis|y|luego)(?=\s)", re.IGNORECASE
)
_WORD_OF_PRESENT_STATE_PATTERN = re.compile(  # or speaks of a record without its name
    r"\b(?:it|them|ha[sd]|have|is|are|was|were|costs?|hat|ist|sind|war(?:en)?)\b", re.IGNORECASE
)
_SAME_AS_OTHER_PATTERN = re.compile(  # before a record whose value another one gets: "to that of"
    r"\b(?:(?:to|as|auf)\s+(?:that|those|the\s+same|die|das|den)\s+(?:of|for|in|as|von)|same\s+as|equal\s+to)\s+(?:[^\W\d]+\s+)?$",
    re.IGNORECASE,
)
_WORDS_FOR_DAYS = frozenset("at by date day from on time to".split())  # in the name of any field with a day
_LOOKBACK = 200  # characters before a value or a record in which the words for it stand
_LONGEST_CLAUSE = 500  # characters of a clause on one side of a value
_SOURCE_NAMES = frozenset("from source origin debit".split())
_TARGET_NAMES = frozenset("to target destination credit".split())
_CAPITALIZED_NAME_PATTERN = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAME_INSIDE_SENTENCE_PATTERN = re.compile(
    r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*"
)  # at no sentence's beginning
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
        _find_unread_condition,
        _find_excluded_records,
        _find_records_excepted_by_value,
        find_wrong_amounts,
        find_unmet_limits,
        find_unmet_stock_conditions,
        find_contrary_answers,
        _find_conflicting_words,
        _find_unasked_fields,
        _find_days_inside_stated_range,
        _find_recorded_day_instead,
        _find_values_of_other_records,
        _find_reversed_direction,
        _find_source_as_target,
        find_conflicting_tool,
        find_day_for_other_tool,
        find_call_ordered_by_text,
        _find_repeated_change,
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


def _find_unread_condition(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if the part has a condition, and the model has neither read nor calculated anything yet."""
    knows_anything = change.values or any(not fact.by_machine for fact in change.facts)
    if has_condition(change.part_mentions.text) and not knows_anything:
        reason = "this part depends on a condition, and nothing was read of what it is about"
        yield CallFault("", f"{change.tool.name}: {reason}")


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
        titles = change.titles.get(argument.text.casefold(), ()) if _is_record_name(argument) else ()
        names = filter(_is_name, titles)
        if is_excepted or any(exclusions.is_title_excepted(title, all_titles, quote) for title in names):
            yield argument.build_fault("the task names it as an exception")


def _is_name(text: str) -> bool:
    return text[:1].isupper() and 2 < len(text) <= _LONGEST_NAME


def _find_records_excepted_by_value(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if a record of the call has a value that the part excepts: "all but the one to Ann Lee"."""
    quote, call_texts, all_titles = change.part_mentions.text, {one.text for one in change.scalars}, change.all_titles
    for name, value in sorted(_values_of_named_records(change)):
        is_other = value not in call_texts and (is_id_name("_".join(name)) or looks_like_id_text(value))
        titles = change.titles.get(value.casefold(), ()) if is_other else ()
        for title in dict.fromkeys((value, *titles, *map(without_legal_form, titles))):
            positions = _find_word_positions(title, quote) if _is_name(title) else ()
            found = ((position, _search_before(_EXCEPTION_PHRASE_PATTERN, quote, position)) for position in positions)
            excepted = (position for position, exception in found if exception and not exception["no_others"])
            if any(not exclusions.is_within_longer_title(title, all_titles, quote, place) for place in excepted):
                yield CallFault("", f"this part makes an exception of {title}, which is this record's {' '.join(name)}")
                break


def _find_conflicting_words(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a text argument that the user does not say, while the part says another value that the
    argument can have and the call has nowhere: priority "low" where the part says "high".

    It can have the schema's choices, and what read fields of its name have. If the part asks to choose, only values
    count that it sets ("to high"). A name without a source also conflicts with a capitalized name of the part. Free
    texts, ids, numbers, and values from the task or a calculation are not compared.
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


def _search_before(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str] | None:
    """The match of a pattern that ends here, in the text's last characters before the position."""
    return pattern.search(text, max(0, position - _LOOKBACK), position)


def _does_part_set_value(value: str, change: CallToCheck) -> bool:
    """Whether a part that asks to choose says the value as a new one: after "to" or the like; or in a clause without a
    word of choice, if no record that the call names has it yet: "make A-1 a P1, all agree".
    """
    text = change.part_mentions.text
    for position in _find_word_positions(value, text):
        clause_before, clause_after = (
            CLAUSE_END_PATTERN.split(text[max(0, position - _LONGEST_CLAUSE) : position])[-1],
            CLAUSE_END_PATTERN.split(text[position : position + _LONGEST_CLAUSE])[0],
        )
        if _WORD_BEFORE_NEW_VALUE_PATTERN.search(clause_before):
            return True
        if not (leaves_choice_open(clause_before + clause_after) or _SUPERLATIVE_WORD_PATTERN.search(clause_before)):
            return all(recorded_value != value for _, recorded_value in _values_of_named_records(change))
    return False


def _find_days_inside_stated_range(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a day within a range that the part states, if another day of the call is an end of it: "from 1
    January to 30 June", and the call is from 1 February to 30 June.
    """
    periods = [period for mention in change.part_mentions.dates for period in mention.periods]
    single_days = {period.first for period in periods if period.first == period.last}
    possible_days = ((argument, read_possible_dates(argument.value)) for argument in change.scalars)
    arguments_with_day = [(argument, days[0]) for argument, days in possible_days if len(days) == 1]
    for period in periods:
        ends = {period.first, period.last}
        if len(ends) == 1 or not ends <= single_days or ends.isdisjoint(day for _, day in arguments_with_day):
            continue
        for argument, day in arguments_with_day:
            if period.first < day < period.last and day not in single_days:
                yield argument.build_fault(f"this part says {period.first} to {period.last}")


def _find_recorded_day_instead(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a day that was read, if the part states one day, which no call has, nor a record that the call
    names: "pay 7 on 30 March", and the call pays it on the 31st. Not if the part has a word of the day's field ("due").
    """
    mentions, fields = change.part_mentions, change.fields.list_fields_of_records(change.texts)
    days = {period.first for date in mentions.dates for period in date.periods if period.first == period.last}
    if not days or len(mentions.dates) > 1 or has_condition(mentions.text) or _asks_to_choose(mentions.text):
        return
    stated = mentions.dates[0]
    proposed_values = (value for _, arguments in change.part.proposed_calls for _, value in walk_json(arguments))
    known_values = (*proposed_values, *(argument.value for argument in change.scalars), *(one.value for one in fields))
    text_before = mentions.text[max(0, stated.start - _LOOKBACK) : stated.start]
    if not is_day_for_record(text_before, change) or any(
        not days.isdisjoint(read_possible_dates(value)) for value in known_values
    ):
        return
    stems = {stem(word) for word in words_of(mentions.text)}
    for argument in change.scalars:
        source_words = {word for field in argument.source_fields for word in words_of(field.field_name)}
        is_told = not stems.isdisjoint(map(stem, source_words - _WORDS_FOR_DAYS))
        if argument.kind is ArgumentKind.DATE and argument.origin == "fact" and not is_told:
            yield argument.build_fault(say_what_part_states([mentions.text[stated.start : stated.end]]))


def _find_unasked_fields(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for each field that an edit sets although the user mentions neither its name nor its value.

    Beside an optional field that the user does mention, all other optional ones count; if the user mentions none, only
    texts of several words without a source. A field that keeps its recorded value does not count, nor does one of the
    schema's choices unless the record is known to have the field; none does if the part asks to choose.
    """
    tool = change.tool
    if words_of_tool(tool.name).verb not in EDIT_VERBS or _asks_to_choose(change.part_mentions.text):
        return
    words = {word for mentions in change.user_mentions for word in words_of(mentions.text)}
    user_words = {singular for word in words for singular in singular_words(word)}
    fields = [argument for argument in change.scalars if not is_id_name(argument.field_name)]
    named_paths = {field.path for field in fields if user_words.intersection(singular_words(field.field_name))}
    stated_fields = [field for field in fields if field.origin == "task" or field.path in named_paths]
    if any(field.path not in tool.required for field in stated_fields):
        fields_to_check = [field for field in fields if field not in stated_fields and field.path not in tool.required]
    elif not stated_fields:
        fields_to_check = [field for field in fields if field.origin == "none" and " " in field.text]
    else:
        return
    recorded_values = _values_of_named_records(change) if fields_to_check else set()
    recorded_names = {name for name, _ in recorded_values}
    for field in fields_to_check:
        name, value = singular_words(field.field_name), field.value
        is_kept = (name, field.text) in recorded_values
        if value == "" or is_kept or field.origin not in _ORIGINS_TO_CHECK or not isinstance(value, bool | str):
            continue
        is_choice = name in recorded_names and _is_optional_choice(tool, field.path)
        if isinstance(value, str) and field.kind is not ArgumentKind.OTHER and not is_choice:
            continue
        if isinstance(value, bool) or not any(_has_words(text, value) for text in change.user_mentions):
            yield field.build_fault("this part says nothing of it")


def _is_optional_choice(tool: Tool, path: str) -> bool:
    """Whether the schema lists several words for the argument, other than currencies, and does not require it."""
    schema, is_required = tool.input_schema, False
    for step in path.replace("[", ".[").split("."):
        required, fields = schema.get("required"), as_object(schema.get("properties"))
        is_required = isinstance(required, list) and step in required
        schema = as_object(schema.get("items") if step.startswith("[") else fields.get(step))
    choices = schema.get("enum")
    return isinstance(choices, list) and len({*map(as_text, choices)} - CURRENCY_CODES) > 1 and not is_required


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


def _find_value_position(argument: ArgumentToCheck, change: CallToCheck) -> int | None:
    """The position in the part of an argument's value, or of the name of the record with that id; None unless there is
    just one.
    """
    number, mentions = argument.number, change.part_mentions
    names = (name for name in (argument.text, *change.titles.get(argument.text.casefold(), ())) if name.strip())
    positions = {position for name in names for position in _find_word_positions(name, mentions.text)}
    if number is not None:
        positions |= {mention.start for mention in mentions.numbers if number in mention.values}
    return positions.pop() if len(positions) == 1 else None


def _find_values_of_other_records(change: CallToCheck) -> Iterator[CallFault]:
    """A value that a clause of the part, or of the task, gives for another record, while the clause about the call's
    record has one that the call does not use: "set A-1 to 5 and B-2 to 7", and the call sets A-1 to 7. A value may be
    a record, too: "give A-1 to Ann and B-2 to Bob".
    """
    part, mentions_of_texts = change.part, [change.part_mentions]
    if part.other_quotes:
        mentions_of_texts.append(find_mentions(". ".join((part.quote, *part.other_quotes)), mentions_of_texts[0].now))
    for mentions in mentions_of_texts:
        ids_by_position = _find_ids_by_position(mentions, change)
        for name in filter(_is_record_name, change.scalars):
            if name.text.casefold() in ids_by_position.values():
                argument = _find_value_of_other_record(name, mentions, ids_by_position, change)
                if argument is not None:
                    yield argument.build_fault("this part says it of another record")
                    return


def _find_value_of_other_record(
    name: ArgumentToCheck, mentions: Mentions, ids_by_position: Mapping[int, str], change: CallToCheck
) -> ArgumentToCheck | None:
    """The first argument whose value the text gives only for records that the call does not name, while no argument has
    the value that it gives for the record ``name``; else None. ``ids_by_position``: of the text's records.
    """
    record_id, rows = name.text.casefold(), ("", name.path.rpartition(".")[0])
    row_arguments = [argument for argument in change.scalars if argument.path.rpartition(".")[0] in rows]
    called_ids = {argument.text.casefold() for argument in row_arguments if _is_record_name(argument)}
    values = [argument for argument in row_arguments if argument != name]
    positions_of_values = [_find_positions_of_value(value, mentions, ids_by_position, change) for value in values]
    used_positions = {position for found in positions_of_values for position, is_own in found.items() if is_own}
    source_positions = {
        position for position in ids_by_position if _search_before(_WORD_BEFORE_SOURCE_PATTERN, mentions.text, position)
    }
    for value, is_own_by_position in zip(values, positions_of_values, strict=True):
        if value.origin == "calculated":
            continue
        value_positions = {*is_own_by_position, *source_positions} if _is_record_name(value) else set[int]()
        ids_of_others = {
            position: other for position, other in ids_by_position.items() if position not in value_positions
        }
        pairs = _find_value_position_by_record(mentions.text, ids_of_others, is_own_by_position)
        positions_of_others = {position for other_id, position in pairs.items() if other_id not in called_ids}
        own_positions = {position for position, is_own in is_own_by_position.items() if is_own}
        if record_id not in pairs or pairs[record_id] in used_positions:
            continue
        if own_positions and own_positions <= positions_of_others:
            return value
    return None


def _find_positions_of_value(
    argument: ArgumentToCheck, mentions: Mentions, ids_by_position: Mapping[int, str], change: CallToCheck
) -> dict[int, bool]:
    """``{position: whether it is the argument's}`` for each value in the text that the argument could have."""
    text, calls = mentions.text, (change.arguments, *change.list_same_tool_arguments())
    argument_texts = {as_text(argument_at(call, argument.path)) for call in calls}
    if _is_record_name(argument):
        field_words = singular_words(argument.field_name)
        fields = (field for field in change.fields.all if singular_words(field.name) == field_words)
        ids = {known_id.casefold() for known_id in (*argument_texts, *(as_text(field.value) for field in fields))}
        known_ids = ((position, known_id) for position, known_id in ids_by_position.items() if known_id in ids)
        targets = (
            (position, known_id)
            for position, known_id in known_ids
            if not _search_before(_WORD_BEFORE_SOURCE_PATTERN, text, position)
        )
        return {position: known_id == argument.text.casefold() for position, known_id in targets}
    days = read_possible_dates(argument.value)
    if days:
        return {mention.start: any(period.first in days for period in mention.periods) for mention in mentions.dates}
    if argument.number is not None:
        return {mention.start: may_equal(mention, argument) for mention in mentions.numbers}
    if not isinstance(argument.value, str) or argument.kind is ArgumentKind.FREE_TEXT:
        return {}
    words = {*_possible_argument_values(argument, change), *argument_texts}
    places = ((position, word) for word in words if word for position in _find_word_positions(word, text))
    return {
        position: word == argument.value
        for position, word in places
        if _search_before(_WORD_BEFORE_NEW_VALUE_PATTERN, text, position)
    }


def _find_ids_by_position(mentions: Mentions, change: CallToCheck) -> dict[int, str]:
    """``{position: id in lower case}`` of the records that a text names, by the id or by a name."""
    called_ids = {argument.text.casefold() for argument in change.scalars if _is_record_name(argument)}
    ids = (mention.text for mention in mentions.identifiers if looks_like_id_text(mention.text))
    named_ids = {*change.titles, *called_ids}
    names_by_id = {record_id: (record_id, *change.titles.get(record_id, ())) for record_id in named_ids}
    names_by_id |= {record_id.casefold(): (record_id,) for record_id in ids}
    ids_by_position, folded_text = dict[int, str](), mentions.text.casefold()
    for record_id, names in names_by_id.items():
        for name in names:
            if name.casefold() in folded_text:
                ids_by_position |= dict.fromkeys(_find_word_positions(name, mentions.text), record_id)
    return ids_by_position


def _find_value_position_by_record(
    text: str, ids_by_position: Mapping[int, str], value_positions: Iterable[int]
) -> dict[str, int]:
    """``{record id: position of its value}`` of each record in only one clause of the text, where no other record and
    just one value stands. Empty if things are exchanged.
    """
    positions_by_id: dict[str, list[int | None]] = {}
    if SWAP_WORD_PATTERN.search(text):
        return {}
    id_places, value_places = sorted(ids_by_position), sorted({*value_positions}.difference(ids_by_position))
    for start, end in pairwise((0, *(match.end() for match in _CLAUSE_BOUNDARY_PATTERN.finditer(text)), len(text))):
        ids, values = (
            places[bisect_left(places, start) : bisect_left(places, end)] for places in (id_places, value_places)
        )
        record_ids = {ids_by_position[place] for place in ids}
        is_pair = len(record_ids) == len(values) == 1 and not _WORD_OF_PRESENT_STATE_PATTERN.search(text[start:end])
        for record_id in record_ids:
            positions_by_id.setdefault(record_id, []).append(values[0] if is_pair else None)
    only_positions = (
        (record_id, positions[0]) for record_id, positions in positions_by_id.items() if len(positions) == 1
    )
    return {record_id: position for record_id, position in only_positions if position is not None}


def _is_record_name(argument: ArgumentToCheck) -> bool:
    is_code = isinstance(argument.value, str) and looks_like_id_text(argument.value)
    return is_code or is_identifying_name(argument.field_name)


def _find_reversed_direction(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for a source whose value the part gives as the target ("to A-1"), and the reverse."""
    for argument in change.scalars:
        field_words = {*singular_words(argument.field_name)}
        if field_words & _SOURCE_NAMES:
            wrong_word, right_word = _WORD_BEFORE_DESTINATION_PATTERN, _WORD_BEFORE_SOURCE_PATTERN
        elif field_words & _TARGET_NAMES:
            wrong_word, right_word = _WORD_BEFORE_SOURCE_PATTERN, _WORD_BEFORE_DESTINATION_PATTERN
        else:
            continue
        position, text = _find_value_position(argument, change) or 0, change.part_mentions.text
        if _search_before(wrong_word, text, position) and not _search_before(right_word, text, position):
            yield argument.build_fault("this part says it the other way round")


def _find_source_as_target(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault for an edit of A-1 where the part sets another record, which no call names, "to that of A-1"."""
    mentions, calls = change.part_mentions, (change.arguments, *change.list_same_tool_arguments())
    used_texts = {as_text(value).casefold() for call in calls for value in call.values()}
    for argument in change.scalars if words_of_tool(change.tool.name).verb in EDIT_VERBS else ():
        position = _find_value_position(argument, change) if _is_record_name(argument) else None
        if position is None or not _search_before(_SAME_AS_OTHER_PATTERN, mentions.text, position):
            continue
        record_ids = _find_ids_by_position(mentions, change).values()
        if any(len(record_id) > 2 and record_id not in used_texts for record_id in record_ids):
            yield argument.build_fault("this part takes its value for another record")


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


def _find_repeated_change(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if a second call differs only in free texts or notation, unless the part asks for several."""
    kinds_by_path = {argument.path: argument.kind for argument in change.scalars}
    if asks_for_several(change.part.quote) or ArgumentKind.AMOUNT not in kinds_by_path.values():
        return
    free_texts = {argument_name_of(path) for path, kind in kinds_by_path.items() if kind is ArgumentKind.FREE_TEXT}
    made_arguments = [loads_object(fact.arguments_json) for fact in change.facts if fact.tool == change.tool.name]
    own_arguments = _normalize_arguments(change.arguments, free_texts)
    for other_arguments in [*made_arguments, *change.list_same_tool_arguments()]:
        arguments = {name: value for name, value in other_arguments.items() if name != RESERVED_ARGUMENT}
        if arguments != change.arguments and _normalize_arguments(arguments, free_texts) == own_arguments:
            yield CallFault("", f"{change.tool.name}: it is proposed twice, and this part asks for one")
            return


def _normalize_arguments(arguments: JsonObject, texts: Container[str]) -> JsonObject:
    """A call's arguments without its free ``texts``, with words and days in one notation."""
    return {name: _normalize_value(value) for name, value in arguments.items() if name not in texts}


def _normalize_value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    days = read_possible_dates(value)
    return days[0].isoformat() if len(days) == 1 else value.strip().casefold()
