"""Whether a proposed change agrees with the words of its part, as far as code can see.

What disagrees is sent back to the model once. If the model proposes the same call again, a person is asked: words are
no proof, so they refuse nothing by themselves.
"""

import re
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import pairwise

from services.executor.core.figures.arguments import ArgumentKind, FieldNature, fields_of_facts
from services.executor.core.figures.dates import read_possible_dates
from services.executor.core.figures.mentions import Mentions
from services.executor.core.figures.numbers import read_figure
from services.executor.core.figures.vocabulary import has_condition, leaves_choice_open
from services.executor.core.plan.faults import CallFault, PartOfCall, SaidChange, name_of, top_of
from services.executor.core.plan.stated_amounts import find_wrong_amounts
from services.executor.core.plan.told_records import is_excluded
from services.executor.core.records.called_records import words
from services.executor.core.records.references import value_at
from services.executor.core.tools.classes import EDITING, ToolWords, words_of_tool
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import names_a_record
from services.executor.core.tools.toolbox import CALL
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object
from shared.domain.keywords import stem

_SUPERLATIVE = re.compile(r"(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_EXCEPTS_ONE = re.compile(  # "except the one to": a record that is told by what it has
    r"\b(?:except(?:ing)?|excluding|all\s+but|every\w*\s+but|but\s+not|other\s+than|apart\s+from|exception\s+of|bis\s+auf|"
    r"Ausnahme\s+von|außer|ausser|sauf|excepté|salvo|excepto)\s+(?:(?!(?:and|then|und|dann|et|y)\b)[^\W\d]+\s+){0,5}$",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|out\s+of|von|vom|aus|de|du|desde)\s+(?:(?:the|dem|der|la|le|el)\s+)?$", re.IGNORECASE)
_INTO = re.compile(
    r"\b(?:to|into|onto|auf|zu|zum|zur|nach|an|à|au|vers|a|al)\s+(?:(?:the|das|die|den|la|le|el)\s+)?$", re.IGNORECASE
)
_SOURCE_NAMES = frozenset("from source origin debit".split())
_TARGET_NAMES = frozenset("to target destination credit".split())
_A_NAME = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAMES_WITHIN = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")  # at no sentence's beginning
_ASKED_OF = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_SHOWN = 80


_SEVERAL = re.compile(
    r"\b(?:twice|two|three|both|again|another|second|more|each|every|several|separate\w*|zwei\w*|drei\w*|beide\w*|noch|je|"
    r"deux|trois|encore|chaque|dos|tres|otra|cada)\b",
    re.IGNORECASE,
)
_TELLING = (
    r"(?:tell|told|inform|notif|writ|wrote|send|sent|messag|e-?mail|mail|letter|text|sms|call|phon|announc|remind|ask|repl|"
    r"answer|respon|post|say|let|contact|alert|ping|report|invit|warn|confirm|thank|apolog|explain|shar|forward|brief|"
    r"publish|broadcast|escalat|page|schreib|sag|informier|benachrichtig|schick|send|antwort|erinner|meld|teil|bescheid|"
    r"écri|ecri|envo|dis|dit|inform|prév|prev|avert|répon|repon|rappel|escrib|envía|envia|enví|avis|dile|di|notifi|responde|"
    r"recuerd)\w*"
)
_ASKS_NOT_TO = re.compile(
    rf"\b(?:do\s+not|don't|without|never|nicht|ohne|sans|sin)\s+(?!forget|fail|hesitate)(?:\w+\s+)?{_TELLING}",
    re.IGNORECASE,
)


_REPEATS = re.compile(
    r"\b(?:twice|thrice|(?:two|three|four|[2-9])\s+times|as\s+(?:two|three|four|[2-9])\s|zweimal|dreimal|"
    r"(?:deux|trois)\s+fois|(?:dos|tres)\s+veces|"
    r"(?:another|an?\s+(?:further|additional|extra)|weitere|noch(?:mals?|\s+einmal)|encore|otr[ao]s)\s+\W?\d)",
    re.IGNORECASE,
)


def asks_to_repeat(quote: str) -> bool:
    """Whether the words ask for the very same thing more than once: "twice", "as two bookings", "another 150"."""
    return _REPEATS.search(quote) is not None


def asks_for_several(quote: str) -> bool:
    """Whether the words ask for more than one of what they say."""
    return _SEVERAL.search(quote) is not None


def find_forbidden_notice(tool: Tool, part: PartOfCall) -> Iterator[CallFault]:
    """Yields a notice of whose kind the part says that nobody gets one: "do not write to the tenant"."""
    if _ASKS_NOT_TO.search(part.quote):
        yield CallFault("", f"{tool.name}: this part says that nobody is to be told")


def changes_nothing(tool: Tool, arguments: JsonObject) -> bool:
    """Whether an editing call names only what it edits, though the tool could be told what to set; ``{}`` is
    nothing.
    """
    if words_of_tool(tool.name).verb not in EDITING:
        return False
    settable = [name for name in tool.parameters if not names_a_record(name)]
    return (
        bool(settable)
        and len(settable) < len(tool.parameters)
        and not any(arguments.get(name, {}) != {} for name in settable)
    )


def find_disagreements(change: SaidChange) -> Iterator[CallFault]:
    """Yields what of a change does not agree with its part."""
    yield from _find_unread_condition(change)
    yield from _find_excluded(change)
    yield from _find_excepted(change)
    if not _SUPERLATIVE.search(change.quoted.text):
        yield from find_wrong_amounts(change)
        yield from _find_other_words(change)
        if not leaves_choice_open(change.quoted.text):
            yield from _find_unasked_fields(change)
    yield from _find_swapped(change)
    yield from _find_wrong_way(change)
    yield from _find_other_tool(change)
    yield from _find_repeated(change)


def _find_unread_condition(change: SaidChange) -> Iterator[CallFault]:
    """A change whose part has a condition, where nothing was read or calculated yet."""
    knows_anything = change.values or any(not fact.by_machine for fact in change.facts)
    if has_condition(change.quoted.text) and not knows_anything:
        why = "this part depends on a condition, and nothing was read of what it is about"
        yield CallFault("", f"{change.tool.name}: {why}")


def _find_excluded(change: SaidChange) -> Iterator[CallFault]:
    """Records that the user names as an exception: "all but not EXP-7"."""
    for path, value in ((one.path, one.value) for one in change.given):
        text = as_text(value)
        if not any(mark.isdigit() for mark in text) or not (names_a_record(name_of(path)) or isinstance(value, str)):
            continue
        if any(is_excluded(text, name_of(path), mentions) for mentions in change.said):
            yield CallFault(path, f"{path} {text[:_SHOWN]}: the task names it as an exception")


def _find_excepted(change: SaidChange) -> Iterator[CallFault]:
    """Records that have what the part names as an exception: "all but the one to Ann Lee", and this one is to her."""
    quote = change.quoted.text
    for name, value in sorted(_present_values(change)):
        is_name = value[:1].isupper() and 2 < len(value) <= _LONGEST_NAME
        if is_name and any(_EXCEPTS_ONE.search(quote[:at]) for at in _find_places(value, quote)):
            yield CallFault("", f"this part makes an exception of {value}, which is this record's {' '.join(name)}")


def _find_other_words(change: SaidChange) -> Iterator[CallFault]:
    """A word that the part does not say, where it says another one of the same list or field; a name that stands
    nowhere, where the part has a name that the call does not use.
    """
    quoted, texts = change.quoted, [one.value for one in change.given if isinstance(one.value, str)]
    is_open, stems = leaves_choice_open(quoted.text), {stem(word) for word in words_of(quoted.text)}
    for path, kind, origin, value, *_ in change.given:
        if not isinstance(value, str) or origin not in _ASKED_OF or kind is ArgumentKind.FREE_TEXT or not value.strip():
            continue
        if names_a_record(name_of(path)) or read_figure(value) is not None:
            continue
        if any(_has_words(text, value) for text in (quoted, *change.said)) or {*map(stem, words_of(value))} <= stems:
            continue
        meant = [one for one in _known_words(path, change) if _has_words(quoted, one) and one not in texts]
        if is_open:  # its other words say which things are meant
            meant = [
                one for one in meant if any(_TARGET.search(quoted.text[:at]) for at in _find_places(one, quoted.text))
            ]
        elif origin == "none" and not meant and _A_NAME.fullmatch(value):
            meant = [name for name in _NAMES_WITHIN.findall(quoted.text) if not any(name in one for one in texts)]
        if meant:
            told = ", ".join(dict.fromkeys(meant))
            yield CallFault(path, f"{path} {value[:_SHOWN]}: this part says {told[:_SHOWN]}")


def _find_unasked_fields(change: SaidChange) -> Iterator[CallFault]:
    """A field that an edit sets and of which the user says nothing, neither its name nor its value: beside one of which
    they do, or with several words that stand nowhere. What the records have there already is set to nothing new.
    """
    tool = change.tool
    if words_of_tool(tool.name).verb not in EDITING:
        return
    said_words = {word for text in change.said for one in words_of(text.text) for word in words(one)}
    fields = [one for one in change.given if not names_a_record(name_of(one.path))]
    told = [one for one in fields if one.origin == "task" or said_words.intersection(words(name_of(one.path)))]
    is_beside = any(one.path not in tool.required for one in told)
    sets = [
        one
        for one in fields
        if (is_beside and one.path not in tool.required)
        or (not told and one.origin == "none" and " " in as_text(one.value))
    ]
    present = _present_values(change) if sets else frozenset[tuple[tuple[str, ...], str]]()
    for one in sets:
        is_word = isinstance(one.value, bool) or (isinstance(one.value, str) and one.kind is ArgumentKind.OTHER)
        is_there = (words(name_of(one.path)), as_text(one.value)) in present
        if one in told or not is_word or one.value == "" or is_there or one.origin not in _ASKED_OF:
            continue
        if not (isinstance(one.value, str) and any(_has_words(text, one.value) for text in change.said)):
            yield CallFault(one.path, f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says nothing of it")


def _present_values(change: SaidChange) -> frozenset[tuple[tuple[str, ...], str]]:
    """What the records that a call names have by what was read: words of a field's name, and its value as a text."""
    named = {as_text(one.value) for one in change.given if names_a_record(name_of(one.path))}
    own = (
        field
        for field in fields_of_facts(change.facts)
        if field.record is not None and field.record.identifier in named
    )
    return frozenset((words(field.name), as_text(field.value)) for field in own)


@lru_cache(maxsize=4096)
def _find_places(said: str, text: str) -> tuple[int, ...]:
    """Where the words stand in a text: also ``on_hold`` as "on hold"."""
    if said.strip()[:1].casefold() not in text.casefold():
        return ()
    written = re.escape(said.strip()).replace("_", "[ _-]").replace("\\ ", "[ _-]")
    return tuple(match.start() for match in re.finditer(rf"(?<!\w){written}(?!\w)", text, re.IGNORECASE))


def _find_spoken(value: Json, change: SaidChange) -> int | None:
    """Where the part says a value, or the name of the record that it is the id of; None where it does not, or says it
    twice.
    """
    text, number, quoted = as_text(value), read_figure(value), change.quoted
    names = (said for said in (text, *change.titles.get(text.casefold(), ())) if said.strip())
    found = {at for said in names for at in _find_places(said, quoted.text)}
    if number is not None:
        found |= {one.start for one in quoted.numbers if number in one.values}
    return found.pop() if len(found) == 1 else None


def _find_swapped(change: SaidChange) -> Iterator[CallFault]:
    """Yields each argument whose value the part says of another record: for "10 of A-1 and 15 of A-2" a call with 15
    for A-1. Only where several calls have these records and values, and the part names them in turn.
    """
    calls = change.list_same()
    spoken = {one.path: at for one in change.given if (at := _find_spoken(one.value, change)) is not None}
    if len(calls) < 2 or len(spoken) < 2:
        return
    places = {
        path: sorted({at for call in calls if (at := _find_spoken(value_at(call, path), change)) is not None})
        for path in spoken
    }
    for record in change.given:
        place = spoken.get(record.path)
        if place is None or not names_a_record(name_of(record.path)):
            continue
        for one in change.given:
            here = spoken.get(one.path) if one.path != record.path else None
            if here is None:
                continue
            records, values = places[record.path], places[one.path]
            order = sorted([*((at, 0) for at in records), *((at, 1) for at in values)])
            is_paired = len(records) > 1 and all(first[1] != then[1] for first, then in pairwise(order))
            if is_paired and len(records) == len(values) and records.index(place) != values.index(here):
                told = f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says it of another record"
                yield CallFault(one.path, told)


def _find_wrong_way(change: SaidChange) -> Iterator[CallFault]:
    """Where something comes from that the part says it goes to, and the other way round."""
    for one in change.given:
        name = {*words(name_of(one.path))}
        wrong = _INTO if name & _SOURCE_NAMES else _FROM if name & _TARGET_NAMES else None
        right = _FROM if wrong is _INTO else _INTO
        place = _find_spoken(one.value, change) if wrong is not None else None
        before = change.quoted.text[:place] if place is not None else ""
        if wrong is not None and wrong.search(before) and not right.search(before):
            yield CallFault(
                one.path, f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says it the other way round"
            )


def _known_words(path: str, change: SaidChange) -> Iterator[str]:
    """The words that the argument can have: those of its schema, and those of fields of its name in what was read."""
    listed = change.tool.parameters.get(path, {}).get("enum")
    yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
    wanted = words(name_of(path))
    for field in fields_of_facts(change.facts) if wanted else ():
        is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
        if is_word and words(field.name) == wanted:
            yield str(field.value)


def _has_words(text: Mentions, value: str) -> bool:
    """Whether the text has the words: also ``on_hold`` as "on hold"."""
    return text.has_words(value.replace("_", " "))


def _find_other_tool(change: SaidChange) -> Iterator[CallFault]:
    """A tool that the part does not say, where it says the whole name of exactly one: a tool of whose name it says
    nothing, if that one is not called; and one whose verb it does not say, if a text that somebody wrote speaks of it,
    and may have brought it up.
    """
    quote, name_called, part = change.quoted.text, change.tool.name, change.part
    said, named = {stem(word) for word in words_of(quote)}, words_of_tool(name_called)
    meant = [name for name in part.writes if name != name_called and _is_said(words_of_tool(name), said)]
    if len(meant) != 1 or stem(named.verb) in said:
        return
    is_called = meant[0] in {name for name, _ in part.calls}
    is_unsaid = said.isdisjoint(_stem_words(named)) and not (is_called or has_condition(quote))
    if is_unsaid or _is_in_free_text(named, change):
        yield CallFault("", f"{name_called}: this part speaks of what {meant[0]} does")


def _is_in_free_text(named: ToolWords, change: SaidChange) -> bool:
    """Whether a text says the name of a tool, or its verb and a word that the call sets: "set it to granted"."""
    given = (one for one in change.given if not names_a_record(name_of(one.path)))
    sets = [str(one.value) for one in given if isinstance(one.value, str)]
    written = (field for field in fields_of_facts(change.facts) if field.nature is not FieldNature.STRUCTURED)
    for text in (str(field.value) for field in written):
        said = {stem(word) for word in words_of(text)}
        is_set = stem(named.verb) in said and any(one.strip() and _find_places(one, text) for one in sets)
        if is_set or _is_said(named, said):
            return True
    return False


def _stem_words(named: ToolWords) -> set[str]:
    return {stem(word) for word in (named.verb, *named.nouns)}


def _is_said(named: ToolWords, said: set[str]) -> bool:
    return bool(named.nouns) and _stem_words(named) <= said


def _find_repeated(change: SaidChange) -> Iterator[CallFault]:
    """A change that moves money as another one of the task does, and differs in its words alone, unless the part asks
    for several.
    """
    if asks_for_several(change.part.quote) or not any(one.kind is ArgumentKind.AMOUNT for one in change.given):
        return
    texts = {top_of(one.path) for one in change.given if one.kind is ArgumentKind.FREE_TEXT}
    made = [loads_object(fact.arguments_json) for fact in change.facts if fact.tool == change.tool.name]
    own = _plain_arguments(change.arguments, texts)
    for other in [*made, *change.list_same()]:
        given = {name: value for name, value in other.items() if name != CALL}
        if given != change.arguments and _plain_arguments(given, texts) == own:
            yield CallFault("", f"{change.tool.name}: it is proposed twice, and this part asks for one")
            return


def _plain_arguments(arguments: JsonObject, texts: Container[str]) -> JsonObject:
    """A call's arguments without its free texts, in one writing of numbers and days."""
    return {name: _plain_value(value) for name, value in arguments.items() if name not in texts}


def _plain_value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    days = read_possible_dates(value)
    return days[0].isoformat() if len(days) == 1 else value.strip().casefold()
