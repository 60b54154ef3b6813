"""Whether a proposed change agrees with the words of the task's part that it carries out, as far as code can see.

A disagreement is sent back to the model once. If the model proposes the same call again, a person is asked: words prove
nothing, so a disagreement alone refuses no call.
"""

import re
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise, product

from services.executor.core.figures.arguments import ArgumentKind, fields_of_facts
from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import looks_like_id_text, read_figure
from services.executor.core.figures.vocabulary import (
    CLAUSE_END,
    CURRENCIES,
    WORDS_OF_EXCHANGE,
    has_condition,
    leaves_choice_open,
    without_legal_form,
)
from services.executor.core.plan.called_tools import find_act_of_text, find_conflicting_tool
from services.executor.core.plan.exceptions import is_named_as_exception
from services.executor.core.plan.faults import (
    ArgumentToCheck,
    CallFault,
    ChangeToCheck,
    argument_name_of,
    field_name_of,
)
from services.executor.core.plan.stated_amounts import find_wrong_amounts, may_equal
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.classes import (
    EDITING,
    is_identifying_name,
    words_of_tool,
)
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import is_id_name
from services.executor.core.tools.toolbox import RESERVED_ARGUMENT
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object
from shared.domain.keywords import stem

_SUPERLATIVE = re.compile(r"(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_EXCEPTS_ONE = re.compile(  # "except the one to": a record that is told by what it has
    r"\b(?:except(?:ing)?|excluding|all\s+but|every\w*\s+but|but\s+not|other\s+than|apart\s+from|exception\s+of|bis\s+auf|"
    r"Ausnahme\s+von|außer|ausser|sauf|excepté|salvo|excepto|"
    r"(?:(?:all|every|each)\s+(?:[^\W\d]+\s+){1,4}but|not|leav(?:e|ing)|skip|spare|nicht)\s+(?:the\s+ones?|that|those|die|den|das)"
    r"\s+(?:of|to|for|from|with|von|an|für|mit))"
    r"\s+(?:(?!(?:and|then|und|dann|et|y)\b)[^\W\d]+\s+){0,5}$",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|out\s+of|von|vom|aus|de|du|desde)\s+(?:(?:the|dem|der|la|le|el)\s+)?$", re.IGNORECASE)
_INTO = re.compile(
    r"\b(?:to|into|onto|auf|zu|zum|zur|nach|an|à|au|vers|a|al)\s+(?:(?:the|das|die|den|la|le|el)\s+)?$", re.IGNORECASE
)
_CLAUSE_BOUNDARY = re.compile(r"[;,.!?](?=\s)|\s(?:and|then|while|und|dann|et|puis|y|luego)(?=\s)", re.IGNORECASE)
_TELLS_WHAT_IS = re.compile(  # or speaks of a record without its name
    r"\b(?:it|them|ha[sd]|have|is|are|was|were|costs?|hat|ist|sind|war(?:en)?)\b", re.IGNORECASE
)
_LIKE_THAT = re.compile(  # before a record whose value another one gets: "to that of"
    r"\b(?:(?:to|as|auf)\s+(?:that|those|the\s+same|die|das|den)\s+(?:of|for|in|as|von)|same\s+as|equal\s+to)\s+(?:[^\W\d]+\s+)?$",
    re.IGNORECASE,
)
_SOURCE_NAMES = frozenset("from source origin debit".split())
_TARGET_NAMES = frozenset("to target destination credit".split())
_A_NAME = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAMES_WITHIN = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")  # at no sentence's beginning
_ASKED_OF = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_MOST_SHOWN = 80


_SEVERAL = re.compile(
    r"\b(?:twice|two|three|both|again|another|second|more|each|every|several|separate\w*|zwei\w*|drei\w*|beide\w*|noch|je|"
    r"deux|trois|encore|chaque|dos|tres|otra|cada)\b",
    re.IGNORECASE,
)
_MESSAGE_VERBS = (
    r"(?:tell|told|inform|notif|writ|wrote|send|sent|messag|e-?mail|mail|letter|text|sms|call|phon|announc|remind|ask|repl|"
    r"answer|respon|post|say|let|contact|alert|ping|report|invit|warn|confirm|thank|apolog|explain|shar|forward|brief|"
    r"publish|broadcast|escalat|page|schreib|sag|informier|benachrichtig|schick|send|antwort|erinner|meld|teil|bescheid|"
    r"écri|ecri|envo|dis|dit|inform|prév|prev|avert|répon|repon|rappel|escrib|envía|envia|enví|avis|dile|di|notifi|responde|"
    r"recuerd)\w*"
)
_ASKS_NOT_TO = re.compile(
    rf"\b(?:do\s+not|don't|without|never|nicht|ohne|sans|sin)\s+(?!forget|fail|hesitate)(?:\w+\s+)?{_MESSAGE_VERBS}",
    re.IGNORECASE,
)


_REPEATS = re.compile(
    r"\b(?:twice|thrice|(?:two|three|four|[2-9])\s+times|as\s+(?:two|three|four|[2-9])\s|zweimal|dreimal|"
    r"(?:deux|trois)\s+fois|(?:dos|tres)\s+veces|"
    r"(?:another|an?\s+(?:further|additional|extra)|weitere|noch(?:mals?|\s+einmal)|encore|otr[ao]s)\s+\W?\d)",
    re.IGNORECASE,
)


def asks_to_repeat(quote: str) -> bool:
    """Whether the words ask for exactly the same thing more than once: "twice", "as two bookings", "another 150"."""
    return _REPEATS.search(quote) is not None


def asks_for_several(quote: str) -> bool:
    """Whether the words ask for more than one thing of a kind."""
    return _SEVERAL.search(quote) is not None


def sets_no_field(tool: Tool, arguments: JsonObject) -> bool:
    """Whether a call of an editing tool only names the record, although the tool has arguments for new values."""
    if words_of_tool(tool.name).verb not in EDITING:
        return False
    settable = [name for name in tool.parameters if not is_id_name(name)]
    return (
        bool(settable)
        and len(settable) < len(tool.parameters)
        and not any(arguments.get(name, {}) != {} for name in settable)
    )


def find_disagreements(change: ChangeToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a change does not agree with the words of its part."""
    yield from _find_unread_condition(change)
    yield from _find_excluded_records(change)
    yield from _find_records_excepted_by_value(change)
    yield from find_wrong_amounts(change)
    yield from _find_conflicting_words(change)
    if not _chooses(change.part_mentions.text):
        yield from _find_unasked_fields(change)
    yield from _find_days_inside_stated_range(change)
    yield from _find_values_of_other_records(change)
    yield from _find_reversed_direction(change)
    yield from _find_source_as_target(change)
    yield from find_conflicting_tool(change)
    yield from find_act_of_text(change)
    yield from _find_repeated_change(change)


def find_disagreements_of_notice(notice: ChangeToCheck) -> Iterator[CallFault]:
    """Yields a fault for each way in which a notice does not agree with the words of its part: it forbids to tell
    anybody, or says another value than an argument has.
    """
    if _ASKS_NOT_TO.search(notice.part.quote):
        yield CallFault("", f"{notice.tool.name}: this part says that nobody is to be told")
    yield from _find_conflicting_words(notice)


def _find_unread_condition(change: ChangeToCheck) -> Iterator[CallFault]:
    """A change whose part has a condition, while nothing was read or calculated yet."""
    knows_anything = change.values or any(not fact.by_machine for fact in change.facts)
    if has_condition(change.part_mentions.text) and not knows_anything:
        why = "this part depends on a condition, and nothing was read of what it is about"
        yield CallFault("", f"{change.tool.name}: {why}")


def _find_excluded_records(change: ChangeToCheck) -> Iterator[CallFault]:
    """Arguments with the identifier of a record that the user names as an exception: "all but not EXP-7"."""
    for path, value in ((one.path, one.value) for one in change.given):
        text = as_text(value)
        if not any(mark.isdigit() for mark in text) or not (is_id_name(field_name_of(path)) or isinstance(value, str)):
            continue
        said = " ".join((field_name_of(path), *words_of(change.tool.name)))
        if any(is_named_as_exception(text, said, mentions) for mentions in change.user_mentions):
            yield CallFault(path, f"{path} {text[:_MOST_SHOWN]}: the task names it as an exception")


def _find_records_excepted_by_value(change: ChangeToCheck) -> Iterator[CallFault]:
    """Records with a value that the part excepts: "all but the one to Ann Lee", and this one is to her."""
    quote, own = change.part_mentions.text, {as_text(one.value) for one in change.given}
    for name, value in sorted(_values_of_named_records(change)):
        is_other = value not in own and (is_id_name("_".join(name)) or looks_like_id_text(value))
        titles = change.titles.get(value.casefold(), ()) if is_other else ()
        for said in dict.fromkeys((value, *titles, *map(without_legal_form, titles))):
            is_name = said[:1].isupper() and 2 < len(said) <= _LONGEST_NAME
            if is_name and any(_EXCEPTS_ONE.search(quote[:at]) for at in _find_word_positions(said, quote)):
                yield CallFault("", f"this part makes an exception of {said}, which is this record's {' '.join(name)}")
                break


def _find_conflicting_words(change: ChangeToCheck) -> Iterator[CallFault]:
    """Yields the text arguments that the part does not say, while it says another value that the argument can have; and
    the names without a source, while the part has a name that the call does not use.
    """
    quoted, texts = change.part_mentions, [one.value for one in change.given if isinstance(one.value, str)]
    is_open, stems = _chooses(quoted.text), {stem(word) for word in words_of(quoted.text)}
    for path, kind, origin, value, *_ in change.given:
        if not isinstance(value, str) or origin not in _ASKED_OF or kind is ArgumentKind.FREE_TEXT or not value.strip():
            continue
        if is_id_name(field_name_of(path)) or read_figure(value) is not None:
            continue
        if (
            any(_has_words(text, value) for text in (quoted, *change.user_mentions))
            or {*map(stem, words_of(value))} <= stems
        ):
            continue
        meant = [one for one in _possible_argument_values(path, change) if _has_words(quoted, one) and one not in texts]
        if is_open:  # its other words say which things are meant
            meant = [one for one in meant if _is_set_by_part(one, change)]
        elif origin == "none" and not meant and _A_NAME.fullmatch(value):
            meant = [name for name in _NAMES_WITHIN.findall(quoted.text) if not any(name in one for one in texts)]
        if meant:
            told = ", ".join(dict.fromkeys(meant))
            yield CallFault(path, f"{path} {value[:_MOST_SHOWN]}: this part says {told[:_MOST_SHOWN]}")


def _chooses(text: str) -> bool:
    return leaves_choice_open(text) or _SUPERLATIVE.search(text) is not None


def _is_set_by_part(value: str, change: ChangeToCheck) -> bool:
    """Whether a part that chooses says the value as a new one: after "to" or the like, or, if the record does not have
    it yet, in a clause without a word of choice: "make A-1 a P1, all agree".
    """
    text = change.part_mentions.text
    for at in _find_word_positions(value, text):
        before, rest = CLAUSE_END.split(text[:at])[-1], CLAUSE_END.split(text[at:])[0]
        if _TARGET.search(before):
            return True
        if not (leaves_choice_open(before + rest) or _SUPERLATIVE.search(before)):
            return all(one != value for _, one in _values_of_named_records(change))
    return False


def _find_days_inside_stated_range(change: ChangeToCheck) -> Iterator[CallFault]:
    """A day within a range of days that the part states, beside another one that is an end of it: "from 1 January to
    30 June", and the call begins on 1 February.
    """
    periods = [period for one in change.part_mentions.dates for period in one.periods]
    single = {period.first for period in periods if period.first == period.last}
    given = [(one, days[0]) for one in change.given if len(days := read_possible_dates(one.value)) == 1]
    for period in periods:
        ends = {period.first, period.last}
        if len(ends) == 1 or not ends <= single or ends.isdisjoint(day for _, day in given):
            continue
        for one, day in given:
            if period.first < day < period.last and day not in single:
                why = f"this part says {period.first} to {period.last}"
                yield CallFault(one.path, f"{one.path} {as_text(one.value)}: {why}")


def _find_unasked_fields(change: ChangeToCheck) -> Iterator[CallFault]:
    """Fields that an edit sets although the user mentions neither their names nor their values.

    They count only beside a field that the user does mention, or with a text of several words. A field that keeps its
    recorded value does not count, nor does one of the schema's choices unless the record is known to have the field.
    """
    tool = change.tool
    if words_of_tool(tool.name).verb not in EDITING:
        return
    said_words = {word for text in change.user_mentions for one in words_of(text.text) for word in singular_words(one)}
    fields = [one for one in change.given if not is_id_name(field_name_of(one.path))]
    told = [
        one
        for one in fields
        if one.origin == "task" or said_words.intersection(singular_words(field_name_of(one.path)))
    ]
    is_beside = any(one.path not in tool.required for one in told)
    sets = [
        one
        for one in fields
        if (is_beside and one.path not in tool.required)
        or (not told and one.origin == "none" and " " in as_text(one.value))
    ]
    present = _values_of_named_records(change) if sets else frozenset[tuple[tuple[str, ...], str]]()
    recorded = {name for name, _ in present}
    for one in sets:
        name = singular_words(field_name_of(one.path))
        is_choice = name in recorded and _is_optional_choice(tool, one.path)
        is_word = isinstance(one.value, bool) or (
            isinstance(one.value, str) and (one.kind is ArgumentKind.OTHER or is_choice)
        )
        is_there = (name, as_text(one.value)) in present
        if one in told or not is_word or one.value == "" or is_there or one.origin not in _ASKED_OF:
            continue
        if not (isinstance(one.value, str) and any(_has_words(text, one.value) for text in change.user_mentions)):
            yield CallFault(one.path, f"{one.path} {as_text(one.value)[:_MOST_SHOWN]}: this part says nothing of it")


def _is_optional_choice(tool: Tool, path: str) -> bool:
    """Whether the schema lists several words for the argument, other than currencies, and does not require it."""
    schema, is_required = tool.input_schema, False
    for step in path.replace("[", ".[").split("."):
        required, inner = schema.get("required"), schema.get("properties")
        is_required = isinstance(required, list) and step in required
        found = schema.get("items") if step.startswith("[") else inner.get(step) if isinstance(inner, dict) else None
        schema = found if isinstance(found, dict) else {}
    listed = schema.get("enum")
    return isinstance(listed, list) and len({*map(as_text, listed)} - CURRENCIES) > 1 and not is_required


def _values_of_named_records(change: ChangeToCheck) -> frozenset[tuple[tuple[str, ...], str]]:
    """The values of the records that the call names, as read: the words of each field's name, and its value as text.

    A record is named by its identifier, or by one in a field of the argument's own name: ``ticket`` of a list.
    """
    given = {(field_name_of(one.path), as_text(one.value)) for one in change.given}
    named = {value for name, value in given if is_identifying_name(name)}
    codes = {(name, value) for name, value in given if looks_like_id_text(value)}
    fields = [*fields_of_facts(change.facts)]
    places = {(one.fact_id, one.parent) for one in fields if (one.field_name, as_text(one.value)) in codes}
    own = (
        one
        for one in fields
        if (one.record is not None and one.record.identifier in named) or (one.fact_id, one.parent) in places
    )
    return frozenset((singular_words(one.name), as_text(one.value)) for one in own)


@lru_cache(maxsize=4096)
def _find_word_positions(phrase: str, text: str) -> tuple[int, ...]:
    """The positions at which the text has these words; ``on_hold`` is found as "on hold", too."""
    if phrase.strip()[:1].casefold() not in text.casefold():
        return ()
    written = re.escape(phrase.strip()).replace("_", "[ _-]").replace("\\ ", "[ _-]")
    return tuple(match.start() for match in re.finditer(rf"(?<!\w){written}(?!\w)", text, re.IGNORECASE))


def _find_value_position(value: Json, change: ChangeToCheck) -> int | None:
    """The position of the value, or of the name of the record whose id it is, in the part; None if not just one."""
    text, number, quoted = as_text(value), read_figure(value), change.part_mentions
    names = (said for said in (text, *change.titles.get(text.casefold(), ())) if said.strip())
    found = {at for said in names for at in _find_word_positions(said, quoted.text)}
    if number is not None:
        found |= {one.start for one in quoted.numbers if number in one.values}
    return found.pop() if len(found) == 1 else None


def _find_values_of_other_records(change: ChangeToCheck) -> Iterator[CallFault]:
    """A value that a clause of the part, or of the task, gives for another record, while the clause about the call's
    record has one that the call does not use: "set A-1 to 5 and B-2 to 7", and the call sets A-1 to 7. A value may be
    a record, too: "give A-1 to Ann and B-2 to Bob".
    """
    part, texts = change.part, [change.part_mentions]
    if part.other_quotes:
        texts.append(find_mentions(". ".join((part.quote, *part.other_quotes)), texts[0].now))
    named_in = [_find_record_places(text, change) for text in texts]
    for (text, named), record in product(zip(texts, named_in, strict=True), filter(_names_record, change.given)):
        name = as_text(record.value).casefold()
        rows = ("", record.path.rpartition(".")[0])
        beside = [one for one in change.given if one.path.rpartition(".")[0] in rows] if name in named.values() else []
        called = {as_text(one.value).casefold() for one in beside if _names_record(one)}
        values = {one.path: _find_places_of_values(one, text, named, change) for one in beside if one != record}
        used = {at for found in values.values() for at, is_it in found.items() if is_it}
        for one in (one for one in beside if one.path in values and one.origin != "calculated"):
            losing = {at for at in named if _FROM.search(text.text[:at])}
            taken = {*values[one.path], *losing} if _names_record(one) else ()
            records = {at: other for at, other in named.items() if at not in taken}
            pairs = _pair_records_with_values(text.text, records, values[one.path])
            own, others = pairs.get(name), {at for other, at in pairs.items() if other not in called}
            places = {at for at, is_it in values[one.path].items() if is_it}
            if own is not None and own not in used and places and places <= others:
                told = f"{one.path} {as_text(one.value)[:_MOST_SHOWN]}: this part says it of another record"
                yield CallFault(one.path, told)
                return


def _find_places_of_values(
    argument: ArgumentToCheck, text: Mentions, named: Mapping[int, str], change: ChangeToCheck
) -> dict[int, bool]:
    """The positions in a text of all records, numbers, days or words ("to Ann") that the argument could have, and
    whether it has them. ``named``: the records in the text.
    """
    calls = (change.arguments, *change.list_same_tool_arguments())
    given = {as_text(argument_at(call, argument.path)) for call in calls}
    if _names_record(argument):
        wanted = singular_words(field_name_of(argument.path))
        given |= {as_text(one.value) for one in fields_of_facts(change.facts) if singular_words(one.name) == wanted}
        ids = {one.casefold() for one in given}
        told = {at: name for at, name in named.items() if name in ids and not _FROM.search(text.text[:at])}
        return {at: name == as_text(argument.value).casefold() for at, name in told.items()}
    days = read_possible_dates(argument.value)
    if days:
        return {one.start: any(period.first in days for period in one.periods) for one in text.dates}
    if read_figure(argument.value) is not None:
        return {one.start: may_equal(one, argument) for one in text.numbers}
    if not isinstance(argument.value, str) or argument.kind is ArgumentKind.FREE_TEXT:
        return {}
    words = {*_possible_argument_values(argument.path, change), *given}
    found = ((at, word) for word in words if word for at in _find_word_positions(word, text.text))
    return {at: word == argument.value for at, word in found if _TARGET.search(text.text[:at])}


def _find_record_places(text: Mentions, change: ChangeToCheck) -> dict[int, str]:
    """The identifiers of the records that a text names, by their positions or those of their names."""
    called, folded = (as_text(one.value).casefold() for one in change.given if _names_record(one)), text.text.casefold()
    names = {name: (name, *change.titles.get(name, ())) for name in {*change.titles, *called}}
    names |= {one.text.casefold(): (one.text,) for one in text.identifiers if looks_like_id_text(one.text)}
    said = ((name, one) for name, given in names.items() for one in given if one.casefold() in folded)
    return {at: name for name, one in said for at in _find_word_positions(one, text.text)}


def _pair_records_with_values(text: str, records: Mapping[int, str], values: Mapping[int, bool]) -> dict[str, int]:
    """By identifier, the position of the only value in the only clause about a record, in which no other one stands."""
    found: dict[str, list[int | None]] = {}
    if WORDS_OF_EXCHANGE.search(text):
        return {}
    for start, end in pairwise((0, *(match.end() for match in _CLAUSE_BOUNDARY.finditer(text)), len(text))):
        told = [at for at in values if start <= at < end and at not in records]
        about = {name for at, name in records.items() if start <= at < end}
        is_pair = len(about) == len(told) == 1 and not _TELLS_WHAT_IS.search(text[start:end])
        for name in about:
            found.setdefault(name, []).append(told[0] if is_pair else None)
    return {name: at for name, (at, *more) in found.items() if at is not None and not more}


def _names_record(argument: ArgumentToCheck) -> bool:
    is_code = isinstance(argument.value, str) and looks_like_id_text(argument.value)
    return is_code or is_identifying_name(field_name_of(argument.path))


def _find_reversed_direction(change: ChangeToCheck) -> Iterator[CallFault]:
    """Arguments for a source whose value the part gives as the target ("to A-1"), and the reverse."""
    for one in change.given:
        name = {*singular_words(field_name_of(one.path))}
        wrong = _INTO if name & _SOURCE_NAMES else _FROM if name & _TARGET_NAMES else None
        right = _FROM if wrong is _INTO else _INTO
        place = _find_value_position(one.value, change) if wrong is not None else None
        before = change.part_mentions.text[:place] if place is not None else ""
        if wrong is not None and wrong.search(before) and not right.search(before):
            yield CallFault(
                one.path, f"{one.path} {as_text(one.value)[:_MOST_SHOWN]}: this part says it the other way round"
            )


def _find_source_as_target(change: ChangeToCheck) -> Iterator[CallFault]:
    """An edit of the record of which the part takes a value ("to that of A-1") for another one, which no call names."""
    quoted, calls = change.part_mentions, (change.arguments, *change.list_same_tool_arguments())
    used = {as_text(value).casefold() for call in calls for value in call.values()}
    for one in change.given if words_of_tool(change.tool.name).verb in EDITING else ():
        place = _find_value_position(one.value, change) if _names_record(one) else None
        if place is None or not _LIKE_THAT.search(quoted.text[:place]):
            continue
        if any(len(name) > 2 and name not in used for name in _find_record_places(quoted, change).values()):
            yield CallFault(one.path, f"{one.path} {as_text(one.value)}: this part takes its value for another record")


def _possible_argument_values(path: str, change: ChangeToCheck) -> Iterator[str]:
    """The words that the argument can have: those in its schema, and those of read fields of the same name."""
    listed = change.tool.parameters.get(path, {}).get("enum")
    yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
    wanted = singular_words(field_name_of(path))
    for field in fields_of_facts(change.facts) if wanted else ():
        is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
        if is_word and singular_words(field.name) == wanted:
            yield str(field.value)


def _has_words(text: Mentions, value: str) -> bool:
    """Whether the text has the words; ``on_hold`` counts as "on hold"."""
    return text.has_words(value.replace("_", " "))


def _find_repeated_change(change: ChangeToCheck) -> Iterator[CallFault]:
    """A change with an amount that differs from another one only in free texts or notation, unless the part asks for
    several.
    """
    if asks_for_several(change.part.quote) or not any(one.kind is ArgumentKind.AMOUNT for one in change.given):
        return
    texts = {argument_name_of(one.path) for one in change.given if one.kind is ArgumentKind.FREE_TEXT}
    made = [loads_object(fact.arguments_json) for fact in change.facts if fact.tool == change.tool.name]
    own = _normalize_arguments(change.arguments, texts)
    for other in [*made, *change.list_same_tool_arguments()]:
        given = {name: value for name, value in other.items() if name != RESERVED_ARGUMENT}
        if given != change.arguments and _normalize_arguments(given, texts) == own:
            yield CallFault("", f"{change.tool.name}: it is proposed twice, and this part asks for one")
            return


def _normalize_arguments(arguments: JsonObject, texts: Container[str]) -> JsonObject:
    """A call's arguments without its free texts, with numbers and days in one notation."""
    return {name: _normalize_value(value) for name, value in arguments.items() if name not in texts}


def _normalize_value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    days = read_possible_dates(value)
    return days[0].isoformat() if len(days) == 1 else value.strip().casefold()
