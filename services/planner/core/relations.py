"""What a question asks of the one record that it names: how much it is, who did something to it, or, step by step, what
the records say to which it refers: the X of the Y that submitted Z.
"""

import re
from typing import NamedTuple

from services.planner.core.counted_days import columns_of_day, day_columns, find_state
from services.planner.core.explained import drop_asking, unexplained_words
from services.planner.core.figures import SUMS, in_major_units, numeric_fields
from services.planner.core.languages import SAME_DAY
from services.planner.core.mentions import MentionKind, find_of_kind, identifiers_in
from services.planner.core.records import MINOR, FactRecord
from services.planner.core.situation import Situation, places_of
from services.planner.core.words import (
    are_related,
    concept,
    content_words,
    family,
    field_stems,
    is_identifier,
    parts,
    share_word,
    stem,
    stems,
)

_LINK_PATTERN = re.compile(
    r"\s+(?P<link>of|with|that|who|which)\s+(?P<aux>(?:has|have|had|is|are|was|were)\s+(?:been\s+)?)?", re.I
)
_LEAD_PATTERN = re.compile(r"^\W*(?:(?:and|also|then|please|tell (?:me|us)|say|find out)\s+)*", re.I)
_BE = r"(?:is|are|was|were|do|does|did|can|could|will|would|should|may|must)\b"
_WHO_PATTERN = re.compile(rf"^who\s+(?:(?:has|have|had)\s+)?(?!{_BE}|has\b|have\b|had\b)(?P<verb>\w+)\s", re.I)
_WHICH_PATTERN = re.compile(
    r"^(?:which|what)\s+(?P<noun>[a-z]+(?:\s[a-z]+)?)\s+(?:(?:has|have|had)\s+)?(?P<verb>[a-z]+ed|made|sent|took|bought|sold)\s",
    re.I,
)
_HOW_MUCH = re.compile(
    r"^how much (?:is|was|are|were|does|did)\s+(?:(?!of\b|for\b|in\b|on\b|to\b)[a-z]+\s+){0,4}$", re.I
)
_COSTS_PATTERN = re.compile(r"^\W*(?:cost|worth|come to|amount to)?\W*$", re.I)
_WHEN_PATTERN = re.compile(
    r"^when\s+(?:is|was|are|were|does|do|did|will|has|had)\s+(?P<what>(?:[a-z]+\s+){0,4})$", re.I
)
_DONE_PATTERN = re.compile(r"^\s+(?:be(?:en)?\s+)?(?P<word>[a-z]+)$", re.I)
_DOER_PATTERN = re.compile(r"(?<=\bthe )(?P<verb>[a-z]{3,}?)(?:t?er|or|ant)\b", re.I)
_AUTHORS_VERBS = stems((*SAME_DAY[2], "place"))
_OF_OTHERS = frozenset(  # what is done to a thing, and seldom by the one whom its record names
    "approve reject close cancel delete update assign grant release flag escalate block archive restore pay refund "
    "schedule match".split()
)
_CLOSERS = frozenset({"by", "to"})
_PERSONS_PATTERN = re.compile(r"\b(?:his|her|their)\b(?:\s+(?:or|and)\s+(?:his|her|their)\b)?", re.I)


class _Step(NamedTuple):
    """One step from a record to what ``words`` name. ``verb``: what that did to the record, if it is said."""

    words: tuple[str, ...]
    verb: str = ""


class RelatedAnswer(NamedTuple):
    """The answer to a question. Where the records do not tell it and nothing else may be told, it is empty and ``why``
    says what is not known. ``is_sum``: it was asked how much something is. ``record``: the one to which the answer
    refers, if its own record is known.
    """

    text: str = ""
    why: str = ""
    is_sum: bool = False
    record: FactRecord | None = None


def answer_related(question: str, situation: Situation) -> RelatedAnswer | None:
    """The answer by what the question's record says; None if the question is not of this kind."""
    named_question = name_record(_name_person(question, situation), situation)
    text = _LEAD_PATTERN.sub("", named_question).rstrip(" ?.!")
    record, start, end = _find_anchor(text, situation)
    if record is None:
        return None
    head, tail = text[:start], text[end:]
    if _HOW_MUCH.match(head) and _COSTS_PATTERN.match(tail):
        return _tell_sum(record, text[:end])
    if told := _tell_day(record, head, tail):
        return told
    steps = _read_steps(head, tail)
    is_whole = bool(steps) and all(step.words or step.verb for step in steps)
    return _follow_steps(record, steps, situation) if is_whole else None


def name_doer(clause: str, situation: Situation) -> str:
    """The clause with the kind of the one whom the record before it is of, in place of who submitted it: ``tell the
    claimant`` becomes ``tell the pilot``. It stays as it is where the record does not tell that one.
    """
    match = _DOER_PATTERN.search(clause)
    before = {*identifiers_in(situation.text.partition(clause)[0])}
    if match is None or len(before) != 1 or stem(match["verb"]) not in _AUTHORS_VERBS:
        return clause
    told = answer_related(f"who {match['verb']} {before.pop()}", situation)
    kind = told.text.partition(":")[0].lower() if told else ""
    return f"{clause[: match.start()]}{kind}{clause[match.end() :]}" if kind.isalpha() else clause


def name_record(question: str, situation: Situation) -> str:
    """The question with the one thing that the task identified before in place of ``it`` and ``that claim``."""
    place = situation.text.find(question)
    before = {m.value: m for m in situation.of_kind(MentionKind.ID) if place < 0 or m.start < place}
    if len(before) != 1 or identifiers_in(question):
        return question
    ((value, mention),) = before.items()
    noun = re.search(r"(\w+)\s+$", situation.text[: mention.start])
    if noun:
        named = re.sub(
            rf"\b(?:that|this|the(?: same)?) (?:\w+ )?{noun[1]}\b", f"{noun[1]} {value}", question, flags=re.I
        )
        if named != question:
            return named
    of_it = re.sub(r"\bits (.+?)(?=\W*$)", rf"the \1 of {value}", question, flags=re.I)
    return re.sub(r"\bit\b", value, of_it, flags=re.I)


def _name_person(question: str, situation: Situation) -> str:
    """The question with the one whom the question before it asked for in place of ``his`` and ``her``."""
    match, place = _PERSONS_PATTERN.search(question), situation.text.find(question)
    if match is None or place <= 0 or _find_anchor(question, situation)[0]:
        return question
    before = [text for text in situation.reading.questions if 0 <= situation.text.find(text) < place]
    asked = answer_related(before[-1], situation) if before else None
    own = asked.record.own_id if asked and asked.record else ""
    return f"{question[: match.start()]}{own}'s{question[match.end() :]}" if own else question


def _find_anchor(text: str, situation: Situation) -> tuple[FactRecord | None, int, int]:
    """The record that a text identifies, or calls by its name, and where that begins and ends in it.

    The record is None unless there is just one; the place is 0 to 0 if the text has no identifier either.
    """
    ids = find_of_kind(text, MentionKind.ID)
    if ids:
        record = find_known(ids[0].value, situation) if len(ids) == 1 else None
        return record, ids[0].start, ids[0].end
    spoken: dict[str, tuple[FactRecord, int, int]] = {}
    for record in situation.records:
        name = record.fields.get("name")
        place = text.rfind(name) if isinstance(name, str) and len(name) > 2 else -1
        if record.own_id and place >= 0:
            spoken.setdefault(record.own_id, (record, place, place + len(str(name))))
    return next(iter(spoken.values())) if len(spoken) == 1 else (None, 0, 0)


def find_known(value: str, situation: Situation) -> FactRecord | None:
    """The record with that identifier, or None; of several, one that was read by itself before one from a list."""
    records = [record for record, field in places_of(value, situation) if record.own_field == field]
    return min(records, key=lambda record: record.in_list, default=None)


def _read_steps(head: str, tail: str) -> list[_Step]:
    """The steps from the named record on, in their order; empty if the text is of another form."""
    if owned := re.fullmatch(r"['’]s?\s+(?P<what>[\w\s'’-]+)", tail):
        further = [_Step(content_words(words)) for words in re.split(r"['’]s\s+", owned["what"])]
        return [*further, *_read_steps(head, "")] if _LINK_PATTERN.search(head) else further
    links = [*_LINK_PATTERN.finditer(f"{head} ")]
    if not links:
        return [] if tail.strip() else _read_doer(head)
    starts = [0, *(link.end() for link in links)]
    ends = [*(link.start() for link in links), len(head)]
    segments = [head[start:end] for start, end in zip(starts, ends, strict=True)]
    verbs = [
        "" if link["link"].lower() in ("of", "with") else _first_word(words)
        for link, words in zip(links, segments[1:], strict=True)
    ]
    passive = [bool(re.match(r"(?:is|are|was|were)\b|.*\bbeen\b", link["aux"] or "", re.I)) for link in links]
    named = [
        segments[0],
        *(words.partition(" ")[2] if verb else words for verb, words in zip(verbs, segments[1:], strict=True)),
    ]
    steps = [
        _Step(content_words(words), "" if is_passive else verb)
        for words, verb, is_passive in zip(named, verbs, passive, strict=False)
    ][::-1]
    if tail.strip():
        return [_Step(content_words(tail)), *steps] if len(steps) > 1 else []
    return steps


def _read_doer(head: str) -> list[_Step]:
    """The step of a question that asks who did something: ``Who submitted ...``, ``Which pilot submitted ...``; else
    empty.
    """
    if match := _WHO_PATTERN.match(head):
        return [_Step((), match["verb"])]
    match = _WHICH_PATTERN.match(head)
    return [_Step(content_words(match["noun"]), match["verb"])] if match else []


def _first_word(words: str) -> str:
    return words.split(maxsplit=1)[0] if words.strip() else ""


def _follow_steps(record: FactRecord, steps: list[_Step], situation: Situation) -> RelatedAnswer | None:
    """The answer at the end of all steps; without text, but with the reason, where a step leads nowhere.

    A single step without a verb leaves to other rules what it cannot tell: then None.
    """
    is_chain, is_strict = len(steps) > 1, len(steps) > 1 or bool(steps[0].verb)
    waiting = [*steps]
    while waiting:
        step = waiting.pop(0)
        field = _choose_field(record, step, situation)
        if field is None:
            what = " ".join(filter(None, (*step.words, step.verb)))
            why = f"what {record.own_id or 'it'} says of {what}" if is_chain else ""
            return RelatedAnswer(why=why) if is_strict else None
        target = find_known(str(record.fields[field]), situation)
        own_stems = field_stems(field) | record.noun | (target.noun if target else frozenset())
        left = drop_asking(word for word in step.words if not share_word((stem(word),), own_stems))
        if step.verb and target is None and parts(field)[-1:] == ("by",):
            left = ()  # of what kind it is, its own record would say
        waiting = [_Step(left), *waiting] if left else waiting
        while (
            waiting
            and not (target or is_identifier(field))
            and all(share_word((stem(word),), field_stems(field)) for word in waiting[0].words)
        ):
            waiting.pop(0)  # the date of birth
        if not waiting:
            return RelatedAnswer(_tell_field_or_reference(record, field, situation), record=target)
        if target is None:
            why = f"what {record.fields[field]} is" if is_identifier(field) else f"the {' '.join(waiting[0].words)}"
            why = why if is_chain else ""
            return RelatedAnswer(why=why) if is_strict else None
        record = target
    return None


def _choose_field(record: FactRecord, step: _Step, situation: Situation) -> str | None:
    """The one field by which a record says what a step asks for; None if it has none, or several."""
    names = [name for name, value in record.fields.items() if value != "" and name != record.own_field]
    if step.verb and stem(step.verb) in record.noun:  # who has it
        return _choose_named_field(names, step.words) if step.words else _person_field(record, situation)
    if step.verb:
        doers = [n for n in names if parts(n)[-1:] == ("by",) and stem(parts(n)[0]) == stem(step.verb)]
        if doers:
            return doers[0]
        if family(step.verb) in _OF_OTHERS:
            return None
        if not step.words:
            held = _choose_named_field([name for name in names if is_identifier(name)], (step.verb,))
            return held or _author_field(record, step.verb, situation)
        if unexplained_words(step.verb, [record]):
            return None
    return _choose_named_field(names, step.words)


def _choose_named_field(names: list[str], words: tuple[str, ...]) -> str | None:
    """The field of ``names`` whose whole name the words say, else a part that no other field shares; None if no
    field is the best.
    """
    said: dict[str, tuple[bool, int]] = {}
    for name in names:
        own = concept(name, frozenset()) if is_identifier(name) else field_stems(name)
        own = own - _CLOSERS or own
        met = [part for part in own if any(are_related(stem(word), part) for word in words)]
        if met:
            said[name] = len(met) == len(own), len(met)
    top = max(said.values(), default=(False, 0))
    best = [name for name, score in said.items() if score == top]
    for tells in (is_identifier, _is_name):
        best = [name for name in best if tells(name)] or best if len(best) > 1 else best
    return best[0] if len(best) == 1 else None


def _is_name(field: str) -> bool:
    return parts(field)[-1:] == ("name",)


def _author_field(record: FactRecord, verb: str, situation: Situation) -> str | None:
    """The field that says whom a record is of, where it says when it was submitted: that is who submitted it.

    None if ``verb`` is about something else, or if there is no such field.
    """
    is_told = stem(verb) in _AUTHORS_VERBS and any(_AUTHORS_VERBS & field_stems(name) for name in record.fields)
    return _person_field(record, situation) if is_told else None


def _person_field(record: FactRecord, situation: Situation) -> str | None:
    """The one thing with a name to which a record refers; None if it refers to another that may have one, too."""
    bases = {
        name: concept(name, frozenset()) - stems(("name",))
        for name in record.fields
        if (is_identifier(name) or _is_name(name)) and name != record.own_field
    }
    others = [name for name, base in bases.items() if base and not base <= record.noun]
    named = {name for name in others if _is_name(name) or _name_of(record, name, situation)}
    unread = {name for name in others if not find_known(str(record.fields[name]), situation)}
    chosen = sorted(named, key=lambda name: not is_identifier(name))
    return chosen[0] if chosen and len({bases[name] for name in named | unread}) == 1 else None


def _name_of(record: FactRecord, field: str, situation: Situation) -> str:
    """The name of the thing to which a field refers: from its own record, else from the record that refers to it; else
    empty.
    """
    target = find_known(str(record.fields[field]), situation)
    base = re.sub(r"_?(?:id|by|to)$", "", field)
    return str((target.fields.get("name") if target else "") or record.fields.get(f"{base}_name") or "")


def _tell_field_or_reference(record: FactRecord, field: str, situation: Situation) -> str:
    is_reference = is_identifier(field) or bool(_CLOSERS.intersection(parts(field)[-1:]))
    return tell_reference(record, field, situation) if is_reference else tell_field(record, field)


def tell_reference(record: FactRecord, field: str, situation: Situation) -> str:
    """A sentence on a field that refers to a thing, such as ``Keeper: K-7 (Ann Lee).``; without the name if no record
    has it.
    """
    name, words = _name_of(record, field, situation), " ".join(parts(field))
    return f"{words.removesuffix(' id').capitalize()}: {record.fields[field]}{f' ({name})' if name else ''}."


_PORTION = re.compile(r"[a-z]{4,}ed|spent|paid|left|available")
_DAY_FIELD = re.compile(r"(?P<what>(?P<is_done>[a-z]+ed|paid|sent|made)|(?P<is_plain>[a-z]+[^s]s)|due)(?: at| on)?")


def tell_field(record: FactRecord, field: str) -> str:
    """A sentence on a record's field, such as ``The state of K-1 is open.`` or ``K-1 was mended on 2026-03-02.``; a sum
    in minor units is told in major ones.
    """
    name = record.called
    is_minor = bool(MINOR.intersection(parts(field)))
    words = " ".join(part for part in parts(field) if part not in MINOR)
    if (day := _DAY_FIELD.match(words)) and day_columns([record._replace(fields={field: record.fields[field]})]):
        verb = "" if day["is_plain"] else "was " if day["is_done"] else "is "
        return f"{name} {verb}{day['what']} on {str(record.fields[field])[:10]}."
    amount = in_major_units(record, field) if is_minor else None
    value = record.fields[field] if amount is None else format(amount, ".2f")
    is_portion = field in numeric_fields(record) and _PORTION.fullmatch(words)
    return f"{value} of {name} is {words}." if is_portion else f"The {words} of {name} is {value}."


def _tell_day(record: FactRecord, head: str, tail: str) -> RelatedAnswer | None:
    """The day on which something was or is to be, by its own word or one for the same day: ``when was K-1 filed``.

    None if the text (``head`` and ``tail`` around the record's name) asks for no day, or not for one that is known.
    """
    asked, done = _WHEN_PATTERN.match(head), _DONE_PATTERN.match(tail)
    if not (asked and done) or unexplained_words(asked["what"], [record]):
        return None
    is_decided = stem(find_state(record)) == stem(done["word"])
    columns = day_columns([record])
    named = columns_of_day(done["word"], columns) or (columns_of_day("decided", columns) if is_decided else [])
    return RelatedAnswer(tell_field(record, named[0])) if len(named) == 1 else None


def _tell_sum(record: FactRecord, text: str) -> RelatedAnswer | None:
    sums = [name for name in numeric_fields(record) if field_stems(name) - stems(MINOR) <= SUMS]
    sums = [name for name in sums if {"amount", "total"}.intersection(parts(name))] or sums if len(sums) > 1 else sums
    if not sums or unexplained_words(text, [record]):
        return None
    return RelatedAnswer(tell_field(record, sums[0]) if len(sums) == 1 else "", is_sum=True)
