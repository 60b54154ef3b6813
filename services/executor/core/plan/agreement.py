"""Whether a proposed change agrees with the words of its part, as far as code can see.

What disagrees is sent back to the model once. If the model proposes the same call again, a person is asked: words are
no proof, so they refuse nothing by themselves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from services.executor.core.figures.arguments import ArgumentKind, read_fields
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import Number, NumberMention, figure
from services.executor.core.figures.vocabulary import has_condition, leaves_open
from services.executor.core.records.called_records import words
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import ToolWords, words_of_tool
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import names_a_record
from services.executor.ports.tools import Tool
from shared.domain.exact_json import Json, JsonObject, as_text
from shared.domain.keywords import stem

_SUPERLATIVE = re.compile(r"\b(?:most|least|fewest|highest|lowest|next|free)\b", re.IGNORECASE)
_EXCLUDES = re.compile(
    r"\b(?:except(?:ing)?(?:\s+for)?|excluding|but\s+not|not|other\s+than|apart\s+from|leave|leaving|skip|spare|"
    r"außer|ausser|nicht|sauf|excepté)\s+(?P<between>(?:[^\W\d]+\s+){0,2})$",
    re.IGNORECASE,
)
_LITTLE = frozenset("the a for of this that only just with number no der die das den dem für le la les pour".split())
_LISTED = re.compile(r"(?:[\w/.-]*\d[\w/.-]*\s*(?:,|;|and|or|und|oder|et|ou|&)\s*)+$", re.IGNORECASE)
_COMPARES = re.compile(
    r"(?:\b(?:over|above|below|under|than|least|most|exceed\w*|up\s+to|minimum|maximum|between|before|after|if|unless|"
    r"when|while|until|über|unter|mehr\s+als|wenn|falls|plus\s+de|moins\s+de|si)\b|[<>≤≥])[^.;]{0,40}$",
    re.IGNORECASE,
)
_A_NAME = re.compile(r"[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")
_NAMES_WITHIN = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")  # at no sentence's beginning
_ASKED_OF = frozenset({"fact", "schema", "none"})
_LONGEST_NAME = 60
_EDITING = frozenset("update edit modify change set amend correct patch adjust".split())
_SHOWN = 80
_LOOKED_BACK = 160  # characters before an identifier in which an exception is looked for


class Disagreement(NamedTuple):
    """What of a call does not agree with its part. ``argument``: its path, empty where it is the tool itself."""

    argument: str
    why: str


class SaidArgument(NamedTuple):
    """A scalar argument of a call. ``origin``: the kind of source that its value has."""

    path: str
    kind: ArgumentKind
    origin: str
    value: Json


class PartOfCall(NamedTuple):
    """The part that a call carries out. ``quote``: its words; ``others``: those of the task's other parts.

    ``writes``: the names of its server's tools that write; ``beside``: of those that are called for the task besides.
    """

    quote: str = ""
    others: Sequence[str] = ()
    writes: Sequence[str] = ()
    beside: Sequence[str] = ()


THE_WHOLE = PartOfCall()  # where a call is looked at without a part


class PartWords(NamedTuple):
    """What a call is held against. ``quote``: the words of its part, or of the task; ``said``: all that the user wrote.

    ``facts``: what was read, the task's files among them; ``has_figures``: whether anything was calculated.
    """

    quote: str
    said: Sequence[Mentions]
    facts: Sequence[Fact]
    now: datetime
    part: PartOfCall
    has_figures: bool


def changes_nothing(tool: Tool, arguments: JsonObject) -> bool:
    """Whether an editing call names only what it edits, though the tool could be told what to set; ``{}`` is
    nothing.
    """
    if words_of_tool(tool.name).verb not in _EDITING:
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
    knows_anything = setting.has_figures or any(not fact.by_machine for fact in setting.facts)
    if has_condition(setting.quote) and not knows_anything:
        yield Disagreement(
            "", f"{tool.name}: this part depends on a condition, and nothing was read of what it is about"
        )
    yield from _find_excluded(given, setting.said)
    if not (leaves_open(setting.quote) or _SUPERLATIVE.search(setting.quote)):
        yield from _find_other_amount(given, quoted)
        yield from _find_other_words(tool, given, quoted, setting)
        yield from _find_unasked_fields(tool, given, setting)
    yield from _find_other_tool(tool, setting)


def _find_excluded(given: Sequence[SaidArgument], said: Sequence[Mentions]) -> Iterator[Disagreement]:
    """Records that the user names as an exception: "all but not EXP-7"."""
    for path, _, _, value in given:
        text = as_text(value)
        if not any(mark.isdigit() for mark in text) or not (names_a_record(_name_of(path)) or isinstance(value, str)):
            continue
        if any(is_excluded(text, _name_of(path), mentions) for mentions in said):
            yield Disagreement(path, f"{path} {text[:_SHOWN]}: the task names it as an exception")


def is_excluded(text: str, name: str, said: Mentions) -> bool:
    """Whether an identifier stands in a text as an exception. ``name``: of the field that it is the value of."""
    allowed = _LITTLE | {*words_of(name), *words(name)}
    for place in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", said.text, re.IGNORECASE):
        before = said.text[max(0, place.start() - _LOOKED_BACK) : place.start()].rstrip("\"'«„“‘(")
        before = _LISTED.sub("", before)
        found = _EXCLUDES.search(before)
        if found is not None and all(word.casefold() in allowed for word in _singular(found["between"].split())):
            return True
    return False


def _singular(said: Iterable[str]) -> Iterator[str]:
    for word in said:
        yield (words(word) or (word,))[0]


def _find_other_amount(given: Sequence[SaidArgument], quoted: Mentions) -> Iterator[Disagreement]:
    """An amount that is some record's, where the part states a figure of its own that the call uses nowhere."""
    stated = [one for one in quoted.numbers if _is_stated(one, quoted.text)]
    used = {number for one in given if (number := figure(one.value)) is not None}
    if not stated or any(one.origin == "calculated" for one in given):
        return
    if any(_equals_any(number, used) for one in stated for number in one.values):
        return
    told = ", ".join(one.text for one in stated)
    for one in given:
        if one.kind is ArgumentKind.AMOUNT and one.origin == "fact" and figure(one.value) is not None:
            yield Disagreement(one.path, f"{one.path} {as_text(one.value)}: this part says {told}")


def _is_stated(mention: NumberMention, text: str) -> bool:
    """Whether a number is a figure to act with: no limit or condition, no small number in words, no share or term."""
    is_plain = mention.unit is None or mention.money is not None
    before = text[max(0, mention.start - 60) : mention.start]
    return is_plain and not mention.is_everyday and not _COMPARES.search(before)


def _equals_any(number: Number, used: Iterable[Decimal]) -> bool:
    return any(number == one or number * 100 == one for one in used)


def _find_other_words(
    tool: Tool, given: Sequence[SaidArgument], quoted: Mentions, setting: PartWords
) -> Iterator[Disagreement]:
    """A word that the part does not say, where it says another one of the same list or field; a name that stands
    nowhere, where the part has a name that the call does not use.
    """
    texts = [one.value for one in given if isinstance(one.value, str)]
    for path, kind, origin, value in given:
        if not isinstance(value, str) or origin not in _ASKED_OF or kind is ArgumentKind.FREE_TEXT or not value.strip():
            continue
        if names_a_record(_name_of(path)) or figure(value) is not None:
            continue
        if any(_says(text, value) for text in (quoted, *setting.said)):
            continue
        meant = [one for one in _known_words(tool, path, setting.facts) if _says(quoted, one) and one not in texts]
        if origin == "none" and not meant and _A_NAME.fullmatch(value):
            meant = [name for name in _NAMES_WITHIN.findall(quoted.text) if not any(name in one for one in texts)]
        if meant:
            told = ", ".join(dict.fromkeys(meant))
            yield Disagreement(path, f"{path} {value[:_SHOWN]}: this part says {told[:_SHOWN]}")


def _find_unasked_fields(tool: Tool, given: Sequence[SaidArgument], setting: PartWords) -> Iterator[Disagreement]:
    """A field that an edit sets and of which the user says nothing, beside one of which they do: neither its name nor
    its value. What the records have there already is set to nothing new.
    """
    if words_of_tool(tool.name).verb not in _EDITING:
        return
    said_words = {word for text in setting.said for one in words_of(text.text) for word in words(one)}
    sets = [one for one in given if not names_a_record(_name_of(one.path)) and one.path not in tool.required]
    told = [one for one in sets if one.origin == "task" or said_words.intersection(words(_name_of(one.path)))]
    present = _present_values(given, setting.facts) if told else frozenset[tuple[tuple[str, ...], str]]()
    for one in sets if told else ():
        is_word = isinstance(one.value, str | bool) and one.kind is not ArgumentKind.FREE_TEXT and one.value != ""
        is_there = (words(_name_of(one.path)), as_text(one.value)) in present
        if one in told or not is_word or is_there or one.origin not in _ASKED_OF:
            continue
        if not (isinstance(one.value, str) and any(_says(text, one.value) for text in setting.said)):
            yield Disagreement(one.path, f"{one.path} {as_text(one.value)[:_SHOWN]}: this part says nothing of it")


def _present_values(given: Sequence[SaidArgument], facts: Sequence[Fact]) -> frozenset[tuple[tuple[str, ...], str]]:
    """What the records that a call names have by what was read: words of a field's name, and its value as a text."""
    named = {as_text(one.value) for one in given if names_a_record(_name_of(one.path))}
    fields = (field for fact in facts if fact.ok for field in read_fields(fact.ref, fact.result))
    own = (field for field in fields if field.record is not None and field.record.identifier in named)
    return frozenset((words(field.name), as_text(field.value)) for field in own)


def _known_words(tool: Tool, path: str, facts: Sequence[Fact]) -> Iterator[str]:
    """The words that the argument can have: those of its schema, and those of fields of its name in what was read."""
    listed = tool.parameters.get(path, {}).get("enum")
    yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
    wanted = words(_name_of(path))
    for fact in facts if wanted else ():
        for field in read_fields(fact.ref, fact.result) if fact.ok else ():
            is_word = isinstance(field.value, str) and 0 < len(field.value.strip()) <= _LONGEST_NAME
            if is_word and words(field.name) == wanted:
                yield str(field.value)


def _says(text: Mentions, value: str) -> bool:
    """Whether the text has the words: also ``on_hold`` as "on hold"."""
    return text.has_words(value.replace("_", " "))


def _find_other_tool(tool: Tool, setting: PartWords) -> Iterator[Disagreement]:
    """A tool of whose name the part says nothing, where it says the whole name of exactly one that is not called."""
    said = {stem(word) for word in words_of(setting.quote)}
    if has_condition(setting.quote) or said & _stems(words_of_tool(tool.name)):
        return
    meant = [name for name in setting.part.writes if name != tool.name and _is_said(words_of_tool(name), said)]
    if len(meant) == 1 and meant[0] not in setting.part.beside:
        yield Disagreement("", f"{tool.name}: this part speaks of what {meant[0]} does")


def _stems(named: ToolWords) -> set[str]:
    return {stem(named.verb), *named.nouns}


def _is_said(named: ToolWords, said: set[str]) -> bool:
    return bool(named.nouns) and _stems(named) <= said


def _name_of(path: str) -> str:
    return path.rpartition(".")[2].partition("[")[0]
