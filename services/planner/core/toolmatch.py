"""Which tools do what an action asks: by verb, by synonym, by the state a field can be set to, and by noun."""

import re
from collections.abc import Sequence

from services.planner.core.binding import kind_of
from services.planner.core.figures import SUMS
from services.planner.core.intents import Intent
from services.planner.core.mentions import MentionKind, find_amounts, find_of_kind, identifiers_in
from services.planner.core.phrases import TELLS_PATTERN, find_target
from services.planner.core.request import ToolSpec
from services.planner.core.selection import NAME, names_in
from services.planner.core.situation import Situation, places_of
from services.planner.core.words import (
    FAMILIES,
    family,
    field_stems,
    is_generic,
    is_identifier,
    is_verb,
    nouns,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)

_EXACT = 4
_SYNONYM = 3
_STATE = 3
_GENERAL = 2
_DIRECTLY = re.compile(r"\W*(?:please\s+)?\w+(?:\s+(?:the|an?|our|my))?\s*", re.I)
_OF_THING = re.compile(r"\bof(?:\s+(?:the|our|my))?\s*$", re.I)
_ITS_FIELD = re.compile(
    r"^\W*(?:please\s+)?(?:change|set|update|edit|modify|correct|amend)\s+the\s+(?P<what>[a-z]+(?:\s[a-z]+)?)\s+of\b",
    re.I,
)
_PRONOUNS = ("it", "them", "this", "that", "these", "those")


def tools_for(intent: Intent, situation: Situation, tools: Sequence[ToolSpec]) -> list[list[ToolSpec]]:
    """Tools in tiers of equal fit, the best first; empty when none does what the action asks."""
    scored = [(score, tool) for tool in tools if (score := _score(intent, situation, tool))]
    words = text_stems(intent.clause) if _names_things(intent) else situation.stems
    named = [(score, tool) for score, tool in scored if _tool_nouns(intent, tool) <= words]
    scored = _tools_for_nearest_thing(intent, named) if named else scored
    tiers: dict[int, list[ToolSpec]] = {}
    for score, tool in scored:
        tiers.setdefault(score, []).append(tool)
    return [tiers[score] for score in sorted(tiers, reverse=True)]


def thing_of_other_tools(tool: ToolSpec, intent: Intent, situation: Situation) -> str:
    """The word by which a clause says what it is done to, if other tools use that word, and this one is for other
    things: of ``change the phone of pilot PIL-1`` it is ``pilot`` for a tool that changes the phones of others.
    """
    clause = intent.clause
    starts = [mention.start for mention in find_of_kind(clause, MentionKind.ID)]
    starts = starts or [match.start() for match in NAME.finditer(clause) if match.start()]
    match = re.search(r"\b([a-z]+)\s+$", clause[: starts[0]]) if starts else None
    if match is None or not tool.required:
        return ""
    before = clause[: match.start()]
    is_object = _DIRECTLY.fullmatch(before) or (intent.family == "update" and _OF_THING.search(before))
    is_others = stem(match[1]) in situation.terms - _words_of(tool) and not is_verb(match[1])
    return match[1] if is_object and is_others else ""


def _words_of(tool: ToolSpec) -> frozenset[str]:
    return stems(parts(tool.name)).union(text_stems(tool.description), *map(field_stems, tool.properties))


def _tools_for_nearest_thing(intent: Intent, scored: list[tuple[int, ToolSpec]]) -> list[tuple[int, ToolSpec]]:
    """Of tools for different things, those for the thing that the clause names first after its verb."""
    shared = frozenset.intersection(*(_tool_nouns(intent, tool) for _, tool in scored))
    words = [stem(word) for word in text_words(intent.clause)]
    start = words.index(stem(intent.verb)) if stem(intent.verb) in words else 0
    ordered = [*words[start:], *words[:start]]
    places = [_first_index(_tool_nouns(intent, tool) - shared, ordered) for _, tool in scored]
    return [scored_tool for scored_tool, place in zip(scored, places, strict=True) if place == min(places)]


def _first_index(own: frozenset[str], words: list[str]) -> int:
    return next((index for index, word in enumerate(words) if word in own), len(words))


def _tool_nouns(intent: Intent, tool: ToolSpec) -> frozenset[str]:
    """What a tool is about: the nouns of its name without the verb of the action."""
    return nouns(tool.name) - {stem(intent.verb)} - stems(FAMILIES.get(intent.family or "", ()))


def _score(intent: Intent, situation: Situation, tool: ToolSpec) -> int:
    field = _ITS_FIELD.match(intent.clause)
    if field and text_stems(field["what"]).isdisjoint(_words_of(tool)):
        return 0
    verb = _score_verb(intent, tool) if intent.family != "create" or _takes_what_is_stated(intent, tool) else 0
    noun = _score_noun(intent, situation, tool) if verb else 0
    return 10 * verb + noun if verb and noun > 0 else 0


def _takes_what_is_stated(intent: Intent, tool: ToolSpec) -> bool:
    """Whether a tool has an argument for the sum of money that the clause states, if it states one."""
    amounts = find_amounts(intent.clause)
    states_amount = any(mention.kind is MentionKind.MONEY or mention.number % 1 != 0 for mention in amounts)
    if not states_amount or not tool.properties:  # of a tool that cannot be called yet the name alone may be known
        return True
    return any(kind_of(schema) == "number" or field_stems(name) & SUMS for name, schema in tool.properties.items())


def _score_verb(intent: Intent, tool: ToolSpec) -> int:
    words = parts(tool.name)
    own = stem(intent.verb)
    if own in stems(words):
        return _EXACT
    if intent.is_generic:
        return {"approve": _GENERAL, "create": _GENERAL - 1}.get(family(words[0]) or "", 0)
    if intent.family and any(family(word) == intent.family for word in words):
        return _SYNONYM
    listed = [schema.get("enum") for schema in tool.properties.values()]
    choices = [str(word) for words in listed if isinstance(words, list) for word in words]
    if family(words[0]) == "update" and own in stems(choices):
        return _STATE
    if _sets_what_is_said(intent, tool):
        return _GENERAL
    is_special = intent.family not in (None, "read", "create", "update")  # such as to approve or send
    is_described = own in text_stems(tool.description) and family(words[0]) in ("update", "create")
    return _SYNONYM if is_special and is_described else 0


_SETTING_WORDS = frozenset({"update", "move", "block"})
_PUTTING_WORDS = frozenset("put mark bring make turn get take give".split())


def _sets_what_is_said(intent: Intent, tool: ToolSpec) -> bool:
    """Whether a clause of putting or changing says the state that a tool sets, or names the field that it writes."""
    writes = family(next(iter(parts(tool.name)), "")) in ("update", "assign", "move")
    if not writes or (intent.family not in _SETTING_WORDS and intent.verb not in _PUTTING_WORDS):
        return False
    for name, schema in tool.properties.items():
        listed = schema.get("enum")
        values = [str(choice) for choice in listed] if isinstance(listed, list) else []
        if find_target(intent.clause, values, nouns(tool.name), intent.means_every):
            return True
        is_free_value = name in tool.required and not values and not is_identifier(name)
        if is_free_value and field_stems(name) <= text_stems(intent.clause):
            return True
    return False


def _score_noun(intent: Intent, situation: Situation, tool: ToolSpec) -> int:
    """How well the tool's nouns fit: those of the clause count twice; none at all, and it is another tool's work."""
    own = _tool_nouns(intent, tool)
    if not own:
        return 1
    clause = text_stems(intent.clause)
    here, anywhere = len(own & clause), len(own & situation.stems)
    fields = sum(1 for name in tool.properties if stems(parts(name)) & clause)
    if here:
        return 4 * here + 2 * (anywhere - here) - len(own - situation.stems) + min(fields, 1)
    if anywhere and (_points_back(intent) or _names_things(intent)):
        return 2 * anywhere - len(own - situation.stems)
    if any(len(word) > 3 for word in clause & text_stems(tool.description) - {stem(intent.verb)}):
        return 1
    refers = _names_things(intent) or _points_back(intent)
    is_known = refers and any(own & record.noun for record in situation.records)
    return int(is_known or (intent.sends_message and bool(own & _kinds_of_recipients(intent, situation))))


def _kinds_of_recipients(intent: Intent, situation: Situation) -> frozenset[str]:
    """The words for those to whom a notice goes by a proper name: ``driver`` if that is a driver's, or the
    ``driver_name`` of some record.
    """
    names = names_in(TELLS_PATTERN.split(intent.clause)[0])
    places = [place for name in names for place in places_of(name, situation)]
    return frozenset().union(*(record.noun | field_stems(field) for record, field in places))


def _points_back(intent: Intent) -> bool:
    words = intent.clause.lower().split()
    return any(word.strip(",.") in _PRONOUNS for word in words) or len(words) <= 2 or is_generic(intent.verb)


def _names_things(intent: Intent) -> bool:
    return bool(identifiers_in(intent.clause))
