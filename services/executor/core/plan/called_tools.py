"""Whether a proposed change is a call of the tool of which the words of its part speak.

A word for the tool, or a value that only this call sets, is enough. What follows from a fault is told in ``agreement``.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile

from services.executor.core.figures.arguments import SOURCED_KINDS, ArgumentKind
from services.executor.core.figures.identifiers import has_digit
from services.executor.core.figures.vocabulary import has_condition
from services.executor.core.plan.faults import CallFault, ChangeToCheck, field_name_of
from services.executor.core.records.seen_records import singular_words
from services.executor.core.tools.classes import (
    AMBIGUOUS,
    ASKING,
    CHANGE,
    EDITING,
    ToolWords,
    is_identifying_name,
    normalize_noun,
    words_of_tool,
)
from services.executor.core.tools.name_similarity import words_of
from services.executor.ports.tools import Tool
from shared.domain.exact_json import JsonObject, as_text, loads_object, walk_json
from shared.domain.keywords import stem

_CLAUSE_BEGINNING = re.compile(  # the word that begins a clause
    r"(?:^\W*|[.,:;!?]\s+|\b(?:and|then|to|you|we|must|should|now|also|just|please)\s+)"
    r"(?:(?:please|kindly|also|now|be)\s+)*([^\W\d_]+)",
    re.IGNORECASE,
)
_FURTHER_ORDER = re.compile(  # "approve it and settle it", "then transfer the money"; not "and tell them"
    r"\b(?:and|then)\s+(?!(?:let|tell|send|give|ask|inform|notify|thank|remind|call|leave|keep|make)\s)"
    r"[^\W\d_]+\s+(?:it|them|her|him|this|that|both)\b|"
    r"\bthen\s+[^\W\d_]+\s+the\b",
    re.IGNORECASE,
)
_VAGUE = EDITING | frozenset("add create do give insert log make mark move open put record save take write".split())
_STATE_VERBS = frozenset("block cancel close complete finish hold reopen resolve start".split())
_WRITING = frozenset("add comment create log note open record remark write".split())
_OF_SEVERAL = frozenset("batch bulk mass multi multiple many several".split())  # in a tool's name
_FEWEST_LETTERS = 3  # of a verb that a tool's name shortens
_NAMING = SOURCED_KINDS - {ArgumentKind.AMOUNT}
_MOST_SHOWN = 80


def find_conflicting_tool(change: ChangeToCheck) -> Iterator[CallFault]:
    """A call of a tool whose verb the part does not mention, while it mentions all words of another tool's name, or
    orders its verb, and both take what the call names.

    That is a fault if the part has no word of the called tool's name, or orders what the other tool does: "Reject claim
    A-1" is not carried out by ``settle_claim``. Where the other tool is called, too, only what follows it is one:
    "Approve invoice 7" is no reason to pay it.
    """
    quote, part = change.part_mentions.text, change.part
    said, named = _stems_in(quote), words_of_tool(change.tool.name)
    others = [tool for tool in part.write_tools if tool.name != change.tool.name]
    meant = [tool for tool in others if _is_tool_mentioned(words_of_tool(tool.name), said)]
    meant = meant or [tool for tool in others if _is_ordered_instead(tool, change)]
    if _says_verb(named.verb, said) or len({stem(words_of_tool(tool.name).verb) for tool in meant}) != 1:
        return
    if _passes_on_order(change, words_of_tool(meant[0].name).verb):
        return
    names, made = {tool.name for tool in meant}, _list_calls(change)
    singles = {tool.name for tool in others if _is_batch_of(change.tool, tool)}
    if singles and singles <= names and singles.isdisjoint(name for name, _ in made):
        return
    is_unsaid = said.isdisjoint(_stems_of_tool(named)) or _orders_other_verb(words_of_tool(meant[0].name), named, quote)
    is_called = not names.isdisjoint(name for name, _ in part.proposed_calls)
    if is_unsaid and not has_condition(quote) and (not is_called or _is_further_change(change, meant[0])):
        yield CallFault("", f"{change.tool.name}: this part speaks of what {meant[0].name} does")


def _is_ordered_instead(other: Tool, change: ChangeToCheck) -> bool:
    """Whether the part orders what the other tool does to the record that the call names, and neither names the things
    of the called tool nor a value that only this one takes. A part that names no record, such as "confirm it", orders
    nothing of the kind.
    """
    quote, named, meant = change.part_mentions.text, words_of_tool(change.tool.name), words_of_tool(other.name)
    naming = [one for one in change.given if one.kind in _NAMING]
    ids = {_singular_field(field_name_of(one.path)) for one in naming}
    titles = (title.casefold() for one in naming for title in change.titles.get(as_text(one.value).casefold(), ()))
    return (
        (has_digit(quote) or any(title in quote.casefold() for title in titles))
        and meant.verb not in _VAGUE
        and named.verb not in ASKING
        and not ids.isdisjoint(_list_schema_fields(other.input_schema))
        and _orders(meant, quote)
        and _stems_in(quote).isdisjoint(map(stem, named.nouns - meant.nouns))
        and not _has_told_value(change, _stems_in(quote), other)
    )


def _passes_on_order(change: ChangeToCheck, verb: str) -> bool:
    """Whether the call writes down what is to be done, as "a task to lock X" asks, or sets a state by transition."""
    named, said = words_of_tool(change.tool.name), _stems_in(change.part_mentions.text)
    texts = (_stems_in(str(one.value)) for one in change.given if one.kind is ArgumentKind.FREE_TEXT)
    is_asked = named.verb in _WRITING and not said.isdisjoint(map(stem, _WRITING | {named.head}))
    is_written = is_asked and any(_says_verb(verb, one) for one in texts)
    return is_written or (verb in _STATE_VERBS and "transition" in words_of(change.tool.name))


def _is_further_change(change: ChangeToCheck, meant: Tool) -> bool:
    """Whether the call does another thing to what the tool that is meant was called for before: no preparation."""
    named, quote = words_of_tool(change.tool.name), change.part_mentions.text
    ids = {as_text(one.value) for one in change.given if one.kind in _NAMING}
    before = takewhile(lambda one: one[0] != change.tool.name, _list_calls(change))
    return (
        named.verb not in _VAGUE
        and not _FURTHER_ORDER.search(quote)
        and named.nouns == words_of_tool(meant.name).nouns
        and any(name == meant.name and not ids.isdisjoint(values) for name, values in before)
        and not _has_told_value(change, _stems_in(quote), meant)
    )


def find_act_of_text(change: ChangeToCheck) -> Iterator[CallFault]:
    """A call of which no word of the user tells, while a text that somebody wrote orders it: "please retire it"."""
    named = words_of_tool(change.tool.name)
    said = frozenset[str]().union(*(_stems_in(one.text) for one in change.user_mentions))
    first_word = next(iter(words_of(change.tool.description)), "")  # "End the lock-out of a device"
    is_described = first_word not in _VAGUE and stem(first_word) in said
    if is_described or _is_spoken_of(named, said) or _has_told_value(change, said) or _has_told_partner(change, said):
        return
    given = (one for one in change.given if not is_identifying_name(field_name_of(one.path)))
    sets = [_stems_in(value) for value in (str(one.value) for one in given) if words_of(value)]
    for text in change.texts:
        stems = _stems_in(text)
        if (_is_spoken_of(named, stems) or any(value <= stems for value in sets)) and _orders(named, text):
            why = "no word of the task tells of it, only a text that somebody wrote"
            yield CallFault("", f"{change.tool.name}: {why} ({text[:_MOST_SHOWN]})")
            return


def _list_calls(change: ChangeToCheck) -> list[tuple[str, Collection[str]]]:
    """The tools of the changes that were made, and then of those proposed, with all values that each call has."""
    made = [(fact.tool, loads_object(fact.arguments_json)) for fact in change.facts]
    writes = {tool.name for tool in change.part.write_tools}
    calls = [*(one for one in made if one[0] in writes), *change.part.proposed_calls]
    return [(name, {as_text(value) for _, value in walk_json(given)}) for name, given in calls]


def _has_told_value(change: ChangeToCheck, said: Collection[str], other: Tool | None = None) -> bool:
    """Whether the words have a value that the call sets, that ``other`` cannot set, and no other tool's call has."""
    fields = {*_list_schema_fields(other.input_schema)} if other is not None else set()
    taken = {value for name, values in _list_calls(change) if name != change.tool.name for value in values}
    for one in change.given:
        name, text = field_name_of(one.path), as_text(one.value)
        words = words_of(name if isinstance(one.value, bool) else text)
        is_told = one.origin == "task" or (words and all(stem(word) in said for word in words))
        is_set = one.kind is not ArgumentKind.FREE_TEXT and not is_identifying_name(name) and text not in taken
        if is_told and is_set and _singular_field(name) not in fields:
            return True
    return False


def _has_told_partner(change: ChangeToCheck, said: Collection[str]) -> bool:
    """Whether the words have the first name of a record that the call joins to the tool's own: "7 goes to Mira"."""
    own = words_of_tool(change.tool.name).nouns
    others = (one for one in change.given if one.kind in _NAMING and own.isdisjoint(words_of(field_name_of(one.path))))
    titles = (title for one in others for title in change.titles.get(as_text(one.value).casefold(), ()))
    return any(
        len(words[0]) > _FEWEST_LETTERS and stem(words[0]) in said for title in titles if (words := words_of(title))
    )


def _is_batch_of(called: Tool, single: Tool) -> bool:
    """Whether the called tool does for a list of things what the other does for one: it has the other's fields and no
    more, and its name has only words of the other's, beside such as ``batch``.
    """
    own, other = (
        {stem(normalize_noun(word)) for word in words_of(one.name) if word not in _OF_SEVERAL}
        for one in (called, single)
    )
    fields = {*_list_schema_fields(called.input_schema)}
    is_list = any(schema.get("type") == "array" for schema in called.parameters.values())
    is_same = {*map(_singular_field, single.required)} <= fields <= {*_list_schema_fields(single.input_schema)}
    return is_list and is_same and bool(own) and own <= other


def _list_schema_fields(schema: JsonObject) -> Iterator[tuple[str, ...]]:
    """Yields the words of each field's name; of a list or an object of fields, of those within."""
    properties = schema.get("properties")
    for name, one in properties.items() if isinstance(properties, dict) else ():
        inner = one.get("items", one) if isinstance(one, dict) else None
        is_outer = isinstance(inner, dict) and "properties" in inner
        yield from _list_schema_fields(inner) if isinstance(inner, dict) and is_outer else (_singular_field(name),)


def _singular_field(name: str) -> tuple[str, ...]:
    """The words of a field's name, the same for ``claim_id`` and ``claim_ids``."""
    return singular_words(name.removesuffix("s"))


def _orders_other_verb(meant: ToolWords, named: ToolWords, quote: str) -> bool:
    """Whether the words order what the tool that is meant does. A tool that only asks may come before, and one that
    edits things of another kind may do that, too.
    """
    if named.verb in ASKING or (named.verb in EDITING and meant.nouns.isdisjoint(named.nouns)):
        return False
    return _orders(meant, quote)


def _orders(named: ToolWords, text: str) -> bool:
    """Whether the tool's verb begins a clause of the text."""
    return _says_verb(named.verb, (stem(match[1].lower()) for match in _CLAUSE_BEGINNING.finditer(text)))


def _says_verb(verb: str, stems: Iterable[str]) -> bool:
    """Whether one of the words is the verb, which a tool's name may shorten: ``appr``."""
    is_short = len(verb) >= _FEWEST_LETTERS and verb not in CHANGE | AMBIGUOUS
    return any(one == stem(verb) or (is_short and one.startswith(verb)) for one in stems)


@lru_cache(maxsize=4096)
def _stems_in(text: str) -> frozenset[str]:
    """The stems of a text's words, and of their forms as nouns in ``ToolWords``."""
    words = words_of(text)
    return frozenset(stem(form) for word in words for form in (word, normalize_noun(word)))


def _stems_of_tool(named: ToolWords) -> set[str]:
    return {stem(word) for word in (named.verb, *named.nouns)}


def _is_tool_mentioned(named: ToolWords, stems: frozenset[str]) -> bool:
    return bool(named.nouns) and _stems_of_tool(named) <= stems


def _is_spoken_of(named: ToolWords, stems: frozenset[str]) -> bool:
    """Whether the words have the tool's verb; one that says little only with its nouns."""
    return _is_tool_mentioned(named, stems) if named.verb in _VAGUE else _says_verb(named.verb, stems)
