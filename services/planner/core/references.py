"""Which identifier a field of a schema wants: from the words around an identifier, its shape, or a record."""

import re
from collections.abc import Container, Sequence
from functools import lru_cache

from services.planner.core.binding import CallPlan
from services.planner.core.mentions import Mention, MentionKind, identifiers_in
from services.planner.core.records import FactRecord, id_fields
from services.planner.core.request import ToolSpec
from services.planner.core.selection import select_records
from services.planner.core.situation import (
    CERTAIN,
    LIKELY,
    POSSIBLE,
    ArgumentCandidate,
    Situation,
    best,
    group_by_noun,
    identify,
    list_records_meant,
    places_of,
    rank,
    records_about,
    take_field,
)
from services.planner.core.words import (
    ID_WORDS,
    SENDING_FAMILIES,
    concept,
    family,
    field_stems,
    is_identifier,
    is_verb,
    nouns,
    parts,
    stem,
    text_words,
)

_FEW = 3
_LINKS = "for|of|to|by|from|in|on|at|with|and|or|do|does|did|is|are|was|were|has|have|had"


def wanted_noun(tool: ToolSpec, name: str) -> frozenset[str]:
    """The noun of what a tool's field identifies: for ``id``, the thing in the tool's name, not a field it sets."""
    own = nouns(tool.name)
    set_fields = frozenset().union(*(field_stems(other) for other in tool.properties if not is_identifier(other)))
    return concept(name, own - set_fields or own)


def is_reference(tool: ToolSpec, name: str) -> bool:
    """Whether a field holds an identifier: by its name, or by an example of one in its description or pattern."""
    return is_identifier(name) or bool(_find_examples(tool, name))


def references_of(plan: CallPlan) -> list[str]:
    """The identifiers among a call's arguments."""
    return [str(candidate.value) for name, candidate in plan.chosen if is_reference(plan.tool, name)]


def find_identifiers(tool: ToolSpec, name: str, situation: Situation, clause: str) -> list[ArgumentCandidate]:
    """Identifiers for one field, the surest first, no value twice. A clause's own identifiers come before the rest."""
    noun, shapes = wanted_noun(tool, name), {*map(_shape, _find_examples(tool, name))}
    stated = [
        ArgumentCandidate(mention.value, "task", "", sure)
        for mention in situation.of_kind(MentionKind.ID)
        if (sure := _sureness(mention, noun, name, shapes, situation))
    ]
    own = [candidate for candidate in stated if str(candidate.value).lower() in clause.lower()]
    judged = set() if _POINTS_PATTERN.search(clause) else _find_only_judged(situation, clause)
    unique: dict[str, ArgumentCandidate] = {}
    for candidate in (*own, *stated, *_from_records(noun, situation, shapes)):
        value = str(candidate.value)
        if value not in judged and not (shapes and _shape(value) not in shapes):
            unique.setdefault(value, candidate)
    return sorted(unique.values(), key=lambda candidate: -candidate.sure)


_POINTS_PATTERN = re.compile(r"\b(?:it|its|them|their|they|this|that|these|those)\b", re.I)


def _find_only_judged(situation: Situation, clause: str) -> set[str]:
    """The identifiers that only conditions name: with them a clause does nothing, unless it names or points to them."""
    conditions = " ".join(intent.condition for intent in situation.reading.actions)
    named = {*identifiers_in(conditions)}
    return named - {*identifiers_in(f"{situation.text_without_conditions} {clause}")} if named else named


def _sureness(mention: Mention, noun: frozenset[str], name: str, shapes: Container[str], situation: Situation) -> int:
    """How sure it is that a field takes an identifier; 0 if it does not. ``shapes``: those of the field's examples."""
    places = places_of(mention.value, situation)
    if _shape(mention.value) in shapes or any(field in id_fields(record, noun) for record, field in places):
        return CERTAIN
    if shapes:
        return 0
    if any(is_identifier(field) and not concept(field, record.noun) & noun for record, field in places):
        return 0  # a record says that it is of something else
    if _is_introduced(mention, noun, situation.text):
        return CERTAIN
    if len(noun) == 1 and abbreviates(mention.value, noun):
        return CERTAIN
    if _abbreviates_words(mention.value, [word for word in parts(name) if word not in ID_WORDS]):
        return CERTAIN
    before = _words_before(mention, situation.text)
    if len(noun) > 1 and noun & {*before}:
        return 0  # "order X-1" is no "purchase order"
    return 0 if before and not is_verb(before[-1]) else POSSIBLE  # right behind a noun, it is that noun's


@lru_cache(maxsize=20_000)
def _shape(value: str) -> str:
    return re.sub(r"\d+", "9", value.upper())


def _find_examples(tool: ToolSpec, name: str) -> list[str]:
    """Identifiers that a field's description, pattern or examples show."""
    schema = tool.properties.get(name, {})
    listed = schema.get("examples")
    examples_text = " ".join(map(str, listed)) if isinstance(listed, list) else ""
    return _EXAMPLE_PATTERN.findall(f"{schema.get('description', '')} {examples_text}")


_EXAMPLE_PATTERN = re.compile(r"\b[A-Za-z]{1,10}[-_#]?\d{2,}\b|\b[A-Za-z]{2,10}-[A-Za-z0-9]*\d[A-Za-z0-9]*\b")


@lru_cache(maxsize=2_000)
def _words_before(mention: Mention, text: str) -> list[str]:
    """The few words that introduce an identifier; other identifiers of an enumeration are passed over."""
    clause = re.split(r"[.;:!?]\s", text[: mention.start])[-1]
    clause = re.sub(r"\b[A-Za-z]+[-_]?\d+\w*\b\s*(?:,|and|or)?", "", clause)
    words = re.split(rf"\b(?:{_LINKS})\b", clause, flags=re.I)[-1]
    said = text_words(words)
    sending = [place for place, word in enumerate(said) if family(word) in SENDING_FAMILIES]
    start = sending[-1] + 1 if sending else 0  # "of this one and notify that one" says nothing of that one
    return [stem(word) for word in said[start:]][-3:]


@lru_cache(maxsize=20_000)
def _is_introduced(mention: Mention, noun: frozenset[str], text: str) -> bool:
    words = _words_before(mention, text)
    after = [stem(word) for word in text_words(text[mention.end : mention.end + 30])][:1]
    return bool(noun) and (noun <= {*words} or (len(noun) == 1 and bool(noun & {*words[-2:]})) or noun <= {*after})


def abbreviates(value: str, noun: frozenset[str]) -> bool:
    """Whether an identifier's letters begin one of the words or occur in it in their order, as those of ``ABC-1``."""
    prefix = _letters_of(value)
    return len(prefix) >= 2 and any(_is_subsequence(prefix, word) for word in noun)


def _abbreviates_words(value: str, words: Sequence[str]) -> bool:
    """Whether an identifier's letters abbreviate all words, as those of ``SHB-1`` a shuttle booking: in order, with
    each word's first.
    """
    prefix, initials = _letters_of(value), "".join(word[0] for word in words)
    return len(words) > 1 and _is_subsequence(initials, prefix) and _is_subsequence(prefix, "".join(words))


def _letters_of(value: str) -> str:
    """The letters that an identifier begins with, in lower case."""
    letters = re.match(r"[A-Za-z]+", value)
    return letters[0].lower() if letters else ""


def _is_subsequence(letters: str, word: str) -> bool:
    remaining_letters = iter(word)
    return word[:1] == letters[:1] and all(letter in remaining_letters for letter in letters)


def _from_records(noun: frozenset[str], situation: Situation, shapes: set[str]) -> list[ArgumentCandidate]:
    key = f"{sorted(noun)} {sorted(shapes)}"
    if key not in situation.memo.held:
        situation.memo.held[key] = _held_by_records(noun, situation, shapes)
    return situation.memo.held[key]


def _held_by_records(noun: frozenset[str], situation: Situation, shapes: set[str]) -> list[ArgumentCandidate]:
    """Identifiers that records hold: of the records the task speaks of, then of what those refer to."""
    candidates: list[ArgumentCandidate] = []
    own = best([record for record in records_about(situation, noun) if noun <= record.noun], situation)
    if len(own) == 1 and own[0].own_id and concept(own[0].own_field, own[0].noun) & noun:
        candidates.append(identify(own[0]))
    candidates += _find_only_fitting_thing(noun, situation) if not own else []
    for record in _subjects(situation):
        fields = [field for field in id_fields(record, noun) if record.fields[field]]
        fields += _fields_of_shape(record, noun, shapes, situation)
        candidates += [take_field(record, field, LIKELY) for field in fields]
    return candidates or _linked_identifiers(noun, situation)


def _linked_identifiers(noun: frozenset[str], situation: Situation) -> list[ArgumentCandidate]:
    """The identifier of that noun in the records to which the task's own records refer; empty unless all agree."""
    pointed = {str(value) for one in _subjects(situation) for name, value in one.fields.items() if is_identifier(name)}
    linked = list_records_meant(pointed, situation)
    candidates = [take_field(r, field, LIKELY) for r in linked for field in id_fields(r, noun) if r.fields[field]]
    return candidates[:1] if len({str(candidate.value) for candidate in candidates}) == 1 else []


def _find_only_fitting_thing(noun: frozenset[str], situation: Situation) -> list[ArgumentCandidate]:
    """The identifier of the one listed thing of that noun that agrees with everything the task says; empty if there is
    none or several.
    """
    fitting = {one.ref(""): one for one in select_records(situation.text, situation).records if one.noun == noun}
    narrowed = len({str(record.own_id) for record in situation.records if record.noun == noun}) > len(fitting)
    chosen = list(fitting.values()) if len(fitting) == 1 and narrowed else []
    return [identify(record, LIKELY) for record in chosen if record.own_id]


def _subjects(situation: Situation) -> list[FactRecord]:
    if situation.memo.subjects is None:
        situation.memo.subjects = _records_most_spoken_of(situation)
    return situation.memo.subjects


def _records_most_spoken_of(situation: Situation) -> list[FactRecord]:
    """The few records that the task speaks of most, of every noun; many that fit equally are nobody's subject."""
    found = [best(of_kind, situation) for of_kind in group_by_noun(situation.records).values()]
    return sorted(
        (record for few in found if len(few) <= _FEW for record in few), key=lambda record: -rank(record, situation)
    )


def _fields_of_shape(record: FactRecord, noun: frozenset[str], shapes: set[str], situation: Situation) -> list[str]:
    """Fields the task asks about whose value has the shape of what is wanted, whatever their name."""
    others = records_about(situation, noun)
    shapes = shapes | {_shape(str(other.fields[field])) for other in others for field in id_fields(other, noun)}
    return [
        name
        for name in record.fields
        if is_identifier(name)
        and name != record.own_field
        and (noun_asked := concept(name, record.noun)) & situation.stems
        and not records_about(situation, noun_asked)
        and _shape(str(record.fields[name])) in shapes
    ]
