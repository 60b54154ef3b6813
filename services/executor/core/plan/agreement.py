"""Whether a proposed change agrees with the words of its part, as far as code can see.

What disagrees is sent back to the model once. If the model proposes the same call again, a person is asked: words are
no proof, so they refuse nothing by themselves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from services.executor.core.figures.arguments import ArgumentKind, FieldStanding, fields_of
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import figure
from services.executor.core.figures.vocabulary import has_condition, leaves_open
from services.executor.core.plan.stated_amounts import (
    EDITING,
    Disagreement,
    PartOfCall,
    PartWords,
    SaidArgument,
    find_wrong_amounts,
)
from services.executor.core.records.called_records import words
from services.executor.core.records.references import value_at
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import ToolWords, words_of_tool
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import names_a_record
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_text
from shared.domain.keywords import stem

_SUPERLATIVE = re.compile(r"(?<!\bat )\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"(?:\b(?:do\s+not|don't|don’t|never|must\s+not|may\s+not|should\s+not)\s+(?!forget|fail|hesitate|skip|miss|omit|leave|"
    r"neglect|delay|lose|let|wait|keep|stop|hold|postpone|worry|mind)[^\W\d]+\s+|"
    r"\b(?:except(?:ing)?(?:\s+for)?|excluding|but\s+not|not|other\s+than|apart\s+from|leave|leaving|skip|spare|"
    r"with\s+the\s+exception\s+of|save|keep|bis\s+auf|mit\s+Ausnahme\s+von|"
    r"außer|ausser|nicht|sauf|excepté|à\s+l'exception\s+de|salvo|excepto|menos)\s+)(?P<between>(?:[^\W\d]+\s+){0,2})$",
    re.IGNORECASE,
)
_EXCEPTS_ONE = re.compile(  # "except the one to": a record that is told by what it has
    r"\b(?:except(?:ing)?|excluding|all\s+but|every\w*\s+but|but\s+not|other\s+than|apart\s+from|exception\s+of|bis\s+auf|"
    r"Ausnahme\s+von|außer|ausser|sauf|excepté|salvo|excepto)\s+(?:(?!(?:and|then|und|dann|et|y)\b)[^\W\d]+\s+){0,5}$",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\s+(?:(?:stays?|remains?|keeps?)\b|(?:must|may|should|shall)\s+not\b|mustn't\b|(?:is|are)\s+not\s+to\b|"
    r"bleibt|bleiben|darf\s+nicht|dürfen\s+nicht|reste|restent|se\s+queda)",
    re.IGNORECASE,
)
_TARGET = re.compile(r"\b(?:to|as|auf|als|à|en|como)\s+(?:the\s+)?$", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|out\s+of|von|vom|aus|de|du|desde)\s+(?:(?:the|dem|der|la|le|el)\s+)?$", re.IGNORECASE)
_INTO = re.compile(
    r"\b(?:to|into|onto|auf|zu|zum|zur|nach|an|à|au|vers|a|al)\s+(?:(?:the|das|die|den|la|le|el)\s+)?$", re.IGNORECASE
)
_SOURCE_NAMES = frozenset("from source origin debit".split())
_TARGET_NAMES = frozenset("to target destination credit".split())
LITTLE = frozenset(
    "the a for of to from this that only just with number no der die das den dem für an zu le la les pour à".split()
)
_LISTED = re.compile(  # what is listed before an identifier: each piece has a digit and is matched in one way only
    r"(?:(?<![\w/.-])(?=[\w/.-]*\d)(?>[\w/.-]+)(?>\s*)(?:[,;&]|(?<=\s)(?:and|or|und|oder|et|ou)(?=\s))(?>\s*))+$",
    re.IGNORECASE,
)
_A_NAME = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAMES_WITHIN = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")  # at no sentence's beginning
_ASKED_OF = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_SHOWN = 80
_LOOKED_BACK = 160  # characters before an identifier in which an exception is looked for


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


def find_forbidden_notice(tool: Tool, part: PartOfCall) -> Iterator[Disagreement]:
    """Yields a notice of whose kind the part says that nobody gets one: "do not write to the tenant"."""
    if _ASKS_NOT_TO.search(part.quote):
        yield Disagreement("", f"{tool.name}: this part says that nobody is to be told")


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


def find_disagreements(tool: Tool, given: Sequence[SaidArgument], setting: PartWords) -> Iterator[Disagreement]:
    """Yields what of a change with these arguments does not agree with its part."""
    quoted = find_mentions(setting.quote, setting.now)
    knows_anything = setting.values or any(not fact.by_machine for fact in setting.facts)
    if has_condition(setting.quote) and not knows_anything:
        yield Disagreement(
            "", f"{tool.name}: this part depends on a condition, and nothing was read of what it is about"
        )
    yield from _find_excluded(given, setting.said)
    yield from _find_excepted(given, setting)
    if not _SUPERLATIVE.search(setting.quote):
        yield from find_wrong_amounts(tool, given, quoted, setting)
        yield from _find_other_words(tool, given, quoted, setting)
        if not leaves_open(setting.quote):
            yield from _find_unasked_fields(tool, given, setting)
    yield from _find_swapped(tool, given, quoted, setting)
    yield from _find_wrong_way(given, quoted, setting)
    yield from _find_other_tool(tool, given, setting)


def _find_excluded(given: Sequence[SaidArgument], said: Sequence[Mentions]) -> Iterator[Disagreement]:
    """Records that the user names as an exception: "all but not EXP-7"."""
    for path, value in ((one.path, one.value) for one in given):
        text = as_text(value)
        if not any(mark.isdigit() for mark in text) or not (names_a_record(_name_of(path)) or isinstance(value, str)):
            continue
        if any(is_excluded(text, _name_of(path), mentions) for mentions in said):
            yield Disagreement(path, f"{path} {text[:_SHOWN]}: the task names it as an exception")


def _find_excepted(given: Sequence[SaidArgument], setting: PartWords) -> Iterator[Disagreement]:
    """Records that have what the part names as an exception: "all but the one to Ann Lee", and this one is to her."""
    for name, value in sorted(_present_values(given, setting.facts)):
        is_name = value[:1].isupper() and 2 < len(value) <= _LONGEST_NAME
        if is_name and any(_EXCEPTS_ONE.search(setting.quote[:at]) for at in _find_places(value, setting.quote)):
            yield Disagreement("", f"this part makes an exception of {value}, which is this record's {' '.join(name)}")


def is_excluded(text: str, name: str, said: Mentions) -> bool:
    """Whether an identifier stands in a text as an exception. ``name``: of the field that it is the value of."""
    allowed = LITTLE | {*words_of(name), *words(name)}
    for place in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", said.text, re.IGNORECASE):
        before = said.text[max(0, place.start() - _LOOKED_BACK) : place.start()].rstrip("\"'«„“‘(")
        before = _LISTED.sub("", before)
        found = _EXCLUDES.search(before)
        if found is not None and all(word.casefold() in allowed for word in _singularize(found["between"].split())):
            return True
        if _STAYS.match(said.text, place.end()):
            return True
    return False


def _singularize(said: Iterable[str]) -> Iterator[str]:
    for word in said:
        yield (words(word) or (word,))[0]


def _find_other_words(
    tool: Tool, given: Sequence[SaidArgument], quoted: Mentions, setting: PartWords
) -> Iterator[Disagreement]:
    """A word that the part does not say, where it says another one of the same list or field; a name that stands
    nowhere, where the part has a name that the call does not use.
    """
    texts = [one.value for one in given if isinstance(one.value, str)]
    is_open, stems = leaves_open(quoted.text), {stem(word) for word in words_of(quoted.text)}
    for path, kind, origin, value, *_ in given:
        if not isinstance(value, str) or origin not in _ASKED_OF or kind is ArgumentKind.FREE_TEXT or not value.strip():
            continue
        if names_a_record(_name_of(path)) or figure(value) is not None:
            continue
        if any(_has_words(text, value) for text in (quoted, *setting.said)) or {*map(stem, words_of(value))} <= stems:
            continue
        meant = [one for one in _known_words(tool, path, setting.facts) if _has_words(quoted, one) and one not in texts]
        if is_open:  # its other words say which things are meant
            meant = [
                one for one in meant if any(_TARGET.search(quoted.text[:at]) for at in _find_places(one, quoted.text))
            ]
        elif origin == "none" and not meant and _A_NAME.fullmatch(value):
            meant = [name for name in _NAMES_WITHIN.findall(quoted.text) if not any(name in one for one in texts)]
        if meant:
            told = ", ".join(dict.fromkeys(meant))
            yield Disagreement(path, f"{path} {value[:_SHOWN]}: this part says {told[:_SHOWN]}")


def _find_unasked_fields(tool: Tool, given: Sequence[SaidArgument], setting: PartWords) -> Iterator[Disagreement]:
    """A field that an edit sets and of which the user says nothing, neither its name nor its value: beside one of which
    they do, or with several words that stand nowhere. What the records have there already is set to nothing new.
    """
    if words_of_tool(tool.name).verb not in EDITING:
        return
    said_words = {word for text in setting.said for one in words_of(text.text) for word in words(one)}
    fields = [one for one in given if not names_a_record(_name_of(one.path))]
    told = [one for one in fields if one.origin == "task" or said_words.intersection(words(_name_of(one.path)))]
    is_beside = any(one.path not in tool.required for one in told)
    sets = [
        one
        for one in fields
        if (is_beside and one.path not in tool.required)
        or (not told and one.origin == "none" and " " in as_text(one.value))
    ]
    present = _present_values(given, setting.facts) if sets else frozenset[tuple[tuple[str, ...], str]]()
    for one in sets:
        is_word = isinstance(one.value, bool) or (isinstance(one.value, str) and one.kind is ArgumentKind.OTHER)
        is_there = (words(_name_of(one.path)), as_text(one.value)) in present
        if one in told or not is_word or one.value == "" or is_there or one.origin not in _ASKED_OF:
            continue
        if not (isinstance(one.value, str) and any(_has_words(text, one.value) for text in setting.said)):
            yield Disagreement(one.path, f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says nothing of it")


def _present_values(given: Sequence[SaidArgument], facts: Sequence[Fact]) -> frozenset[tuple[tuple[str, ...], str]]:
    """What the records that a call names have by what was read: words of a field's name, and its value as a text."""
    named = {as_text(one.value) for one in given if names_a_record(_name_of(one.path))}
    fields = fields_of(facts)
    own = (field for field in fields if field.record is not None and field.record.identifier in named)
    return frozenset((words(field.name), as_text(field.value)) for field in own)


@lru_cache(maxsize=4096)
def _find_places(said: str, text: str) -> tuple[int, ...]:
    """Where the words stand in a text: also ``on_hold`` as "on hold"."""
    if said.strip()[:1].casefold() not in text.casefold():
        return ()
    written = re.escape(said.strip()).replace("_", "[ _-]").replace("\\ ", "[ _-]")
    return tuple(match.start() for match in re.finditer(rf"(?<!\w){written}(?!\w)", text, re.IGNORECASE))


def _find_spoken(value: Json, quoted: Mentions, setting: PartWords) -> int | None:
    """Where the part says a value, or the name of the record that it is the id of; None where it does not, or says it
    twice.
    """
    text = as_text(value)
    number = figure(value)
    found = {
        at
        for said in (text, *setting.titles.get(text.casefold(), ()))
        if said.strip()
        for at in _find_places(said, quoted.text)
    }
    if number is not None:
        found |= {one.start for one in quoted.numbers if number in one.values}
    return found.pop() if len(found) == 1 else None


def _find_swapped(
    tool: Tool, given: Sequence[SaidArgument], quoted: Mentions, setting: PartWords
) -> Iterator[Disagreement]:
    """A value that the part says beside another record, of several calls each of which has one of its records and
    values: "10 of A-1 and 15 of A-2".
    """
    calls = [arguments for name, arguments in setting.part.calls if name == tool.name]
    spoken = {one.path: at for one in given if (at := _find_spoken(one.value, quoted, setting)) is not None}
    if len(calls) < 2 or len(spoken) < 2:
        return
    places = {
        path: sorted({at for call in calls if (at := _find_spoken(value_at(call, path), quoted, setting)) is not None})
        for path in spoken
    }
    for record in given:
        place = spoken.get(record.path)
        if place is None or not names_a_record(_name_of(record.path)):
            continue
        for one in given:
            here = spoken.get(one.path) if one.path != record.path else None
            if here is None:
                continue
            records, values = places[record.path], places[one.path]
            order = sorted([*((at, 0) for at in records), *((at, 1) for at in values)])
            is_paired = len(records) > 1 and all(first[1] != then[1] for first, then in pairwise(order))
            if is_paired and len(records) == len(values) and records.index(place) != values.index(here):
                told = f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says it of another record"
                yield Disagreement(one.path, told)


def _find_wrong_way(given: Sequence[SaidArgument], quoted: Mentions, setting: PartWords) -> Iterator[Disagreement]:
    """Where something comes from that the part says it goes to, and the other way round."""
    for one in given:
        name = {*words(_name_of(one.path))}
        wrong = _INTO if name & _SOURCE_NAMES else _FROM if name & _TARGET_NAMES else None
        right = _FROM if wrong is _INTO else _INTO
        place = _find_spoken(one.value, quoted, setting) if wrong is not None else None
        before = quoted.text[:place] if place is not None else ""
        if wrong is not None and wrong.search(before) and not right.search(before):
            yield Disagreement(
                one.path, f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says it the other way round"
            )


def _known_words(tool: Tool, path: str, facts: Sequence[Fact]) -> Iterator[str]:
    """The words that the argument can have: those of its schema, and those of fields of its name in what was read."""
    listed = tool.parameters.get(path, {}).get("enum")
    yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
    wanted = words(_name_of(path))
    for field in fields_of(facts) if wanted else ():
        is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
        if is_word and words(field.name) == wanted:
            yield str(field.value)


def _has_words(text: Mentions, value: str) -> bool:
    """Whether the text has the words: also ``on_hold`` as "on hold"."""
    return text.has_words(value.replace("_", " "))


def _find_other_tool(tool: Tool, given: Sequence[SaidArgument], setting: PartWords) -> Iterator[Disagreement]:
    """A tool that the part does not say, where it says the whole name of exactly one: a tool of whose name it says
    nothing, if that one is not called; and one whose verb it does not say, if a text that somebody wrote speaks of it,
    and may have brought it up.
    """
    said, named = {stem(word) for word in words_of(setting.quote)}, words_of_tool(tool.name)
    meant = [name for name in setting.part.writes if name != tool.name and _is_said(words_of_tool(name), said)]
    if len(meant) != 1 or stem(named.verb) in said:
        return
    is_called = meant[0] in {name for name, _ in setting.part.calls}
    is_unsaid = said.isdisjoint(_stem_words(named)) and not (is_called or has_condition(setting.quote))
    if is_unsaid or _is_in_free_text(named, given, setting.facts):
        yield Disagreement("", f"{tool.name}: this part speaks of what {meant[0]} does")


def _is_in_free_text(named: ToolWords, given: Sequence[SaidArgument], facts: Sequence[Fact]) -> bool:
    """Whether a text says the name of a tool, or its verb and a word that the call sets: "set it to granted"."""
    sets = [str(one.value) for one in given if isinstance(one.value, str) and not names_a_record(_name_of(one.path))]
    for text in (str(field.value) for field in fields_of(facts) if field.standing is not FieldStanding.STRUCTURED):
        said = {stem(word) for word in words_of(text)}
        is_set = stem(named.verb) in said and any(one.strip() and _find_places(one, text) for one in sets)
        if is_set or _is_said(named, said):
            return True
    return False


def _stem_words(named: ToolWords) -> set[str]:
    return {stem(word) for word in (named.verb, *named.nouns)}


def _is_said(named: ToolWords, said: set[str]) -> bool:
    return bool(named.nouns) and _stem_words(named) <= said


def _name_of(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]
