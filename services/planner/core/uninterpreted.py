"""Which words of a question or clause the planner could not apply, so that it must not act as if it understood it."""

import re
from collections.abc import Sequence
from itertools import pairwise

from services.planner.core.binding import CallPlan, values_of
from services.planner.core.counted_days import STATE_WORDS
from services.planner.core.explained import unexplained_words
from services.planner.core.intents import Intent, drop_evidence
from services.planner.core.mentions import (
    AMOUNTS,
    MentionKind,
    drop_quotations,
    find_ambiguous_figures,
    find_mentions,
    find_of_kind,
    identifiers_in,
)
from services.planner.core.phrases import TELLS_PATTERN, drop_spans, find_exclusions, find_later, find_negations
from services.planner.core.records import FactRecord, read_figure
from services.planner.core.selection import (
    NO_STATES,
    list_addresses,
    named_owners,
    proper_names,
    select_records,
    shape_of_id,
    unknown_state,
)
from services.planner.core.situation import (
    ChosenRecords,
    Situation,
    list_records_judged,
    list_records_meant,
    says,
)
from services.planner.core.words import (
    family,
    field_stems,
    is_identifier,
    is_verb,
    parts,
    share_word,
    stem,
    stems,
    text_stems,
    text_words,
)

_OF_QUESTIONS = stems(
    "each every per by group total sum altogether combined average mean highest lowest maximum minimum largest "
    "smallest biggest greatest longest shortest cheapest dearest most least latest earliest oldest newest soonest "
    "fewest first last come make add together worth much many number count recent recently expensive there answer "
    "json list array id identifier only sort order descending ascending alphabetical bare plain format ranked sorted "
    "reply respond return separate cost price value amount money".split()
)


def find_uninterpreted_words(question: str, situation: Situation) -> tuple[str, ...]:
    """The words of a question about listed records that neither chose a record nor are explained by one."""
    listed = [record for record in situation.records if record.in_list]
    if not listed:
        return ()
    selection = select_records(question, situation)
    uninterpreted = (
        _find_unexplained(selection, listed, situation) - _OF_QUESTIONS - unknown_state(question, listed, situation)
    )
    uninterpreted -= _class_words(question, listed) & situation.terms
    uninterpreted |= _relating_words(selection.rest, listed) | _find_states_of_other_kinds(selection, situation)
    words = [word for word in text_words(selection.rest) if stem(word) in uninterpreted]
    names = _names_left(question, selection, situation)
    figures = (*find_ambiguous_figures(question), *_figures_left(selection, listed, situation))
    return tuple(dict.fromkeys((*selection.uninterpreted, *figures, *names, *words)))


def _find_unexplained(
    selection: ChosenRecords, listed: Sequence[FactRecord], situation: Situation, with_values: bool = True
) -> frozenset[str]:
    """The stems of the words left that neither name a kind nor occur in the records of the kind that is meant."""
    kind = selection.listed or listed
    nouns = frozenset().union(*(record.noun for record in listed))
    owners = [owner for owner in named_owners(selection.rest, situation) if _may_own(owner, kind)]
    names = frozenset().union(*(text_stems(str(value)) for owner in owners for value in owner.fields.values()))
    asked_by = frozenset().union(*(field_stems(name) for record in listed for name in record.fact.arguments))
    return unexplained_words(selection.rest, kind, with_values) - nouns - names - asked_by


def _may_own(owner: FactRecord, records: Sequence[FactRecord]) -> bool:
    """Whether records of a kind have a place for the identifier, or for the name, of an owner."""
    values = {value for record in records for value in record.values}
    names = {str(value) for name, value in owner.fields.items() if name != owner.own_field}
    return shape_of_id(owner.own_id) in map(shape_of_id, values) or not names.isdisjoint(values)


def _relating_words(text: str, listed: Sequence[FactRecord]) -> frozenset[str]:
    """The stems of the words of a text that relate a thing to a day or to others; no record explains them."""
    return text_stems(text) & NO_STATES - frozenset().union(*(record.noun for record in listed))


def _names_left(question: str, selection: ChosenRecords, situation: Situation) -> list[str]:
    """The names that are a part of what some of the listed things say, and chose none of them."""
    kind = [record for record in situation.records if record.in_list and record.noun & text_stems(question)]
    owners = " ".join(value for owner in named_owners(question, situation) for value in owner.values)
    said = [" ".join(map(str, record.fields.values())) for record in kind]
    names = [name for name in proper_names(selection.rest) if name not in owners]
    return [name for name in names if 0 < sum(says(text, name) for text in said) < len(said)]


def _find_states_of_other_kinds(selection: ChosenRecords, situation: Situation) -> frozenset[str]:
    """The stems of the words that chose nothing, and are states of things of another kind than the chosen ones."""
    kinds = {record.noun for record in selection.records}
    states: dict[bool, set[str]] = {True: set(), False: set()}
    for record in situation.records if kinds else ():
        for name, value in record.fields.items():
            if isinstance(value, str) and (record.noun in kinds or field_stems(name) & STATE_WORDS):
                states[record.noun in kinds].add(value.casefold())
    others = states[False] - states[True]
    return stems(word for word in text_words(selection.rest) if word in others)


_OF_ACTIONS = stems(
    "please also then now once back over out up down off following again it them together currently immediately today "
    "right away asap urgently quickly promptly carefully straight both same just thing one ones make sure ensure go "
    "ahead need want like new".split()
)


def find_uninterpreted_words_of_calls(
    chosen: ChosenRecords, plan: CallPlan, intent: Intent, situation: Situation
) -> tuple[str, ...]:
    """The words of a clause that neither chose its records nor occur in the call made for each of them."""
    listed = [record for record in situation.records if record.in_list]
    known_stems = _stems_of_calls([plan], intent) | field_stems(plan.tool.name)
    known_stems |= _class_words(chosen.rest, listed) & situation.terms
    uninterpreted = _find_unexplained(chosen, listed, situation, with_values=False) - known_stems
    uninterpreted |= _relating_words(chosen.rest, listed)
    uninterpreted = (uninterpreted | _find_states_of_other_kinds(chosen, situation)) & text_stems(intent.clause)
    words = [word for word in text_words(chosen.rest)[1:] if stem(word) in uninterpreted]
    stated_values = {mention.value for mention in find_mentions(intent.clause)}
    left_out = [] if plan.is_computed else _figures_left(chosen, listed, situation)
    figures = [value for value in left_out if value in stated_values and not _is_given(value, plan)]
    later = find_later(chosen.rest, _join_said_apart([plan], intent, situation))
    return tuple(dict.fromkeys((*chosen.uninterpreted, *_find_steps([plan], intent), *later, *figures, *words)))


_STEP_PATTERN = re.compile(
    r"\bby\s+(?P<step>[$€£]?\d[\d.,]*)|(?P<than>[$€£]?\d[\d.,]*)\s?%?\s+(?:more|less|higher|lower|times)\b", re.I
)


def _find_steps(plans: Sequence[CallPlan], intent: Intent) -> list[str]:
    """The words ``by 10`` or ``10 more`` of a clause whose call would set a field to 10 itself; else empty."""
    match = _STEP_PATTERN.search(intent.clause)
    if match is None:
        return []
    figures = find_of_kind(match["step"] or match["than"], *_LITERAL)
    setting = [plan for plan in plans if match["than"] or family(parts(plan.tool.name)[0]) == "update"]
    said = [read_figure(one.value) for plan in setting for _, one in plan.chosen if one.source == "task"]
    return [match[0]] if any(figure.number in said for figure in figures[:1]) else []


_FORMULA_PATTERN = re.compile(r":?\s*\b[A-Za-z_]\w*\s*=\s*\S.*$")  # what is to be worked out, to the clause's end
_RANGE_PATTERN = re.compile(r"\b([A-Za-z]+[-_]?)\d+\s*(?:to|through|until|–)\s*\1\d+\b")
_MANNER_PATTERN = re.compile(r"\bwithout\s+(?:an?\s+|any\s+|further\s+)?\w+", re.I)
_UNIT_PATTERN = re.compile(r"(?<![\w-])(?P<figure>\d[\d.,]*)\s+(?P<unit>[a-z]+)\b")
_EITHER_PATTERN = re.compile(r"[^\s,]+,?\s+or\s+[^\s,;]+", re.I)
_LITERAL = (*AMOUNTS, MentionKind.PERCENT, MentionKind.DATE)


def find_uninterpreted_words_of_clause(
    plans: Sequence[CallPlan], intent: Intent, situation: Situation
) -> tuple[str, ...]:
    """The words of a clause that no call for it contains, and that no tool or record explains.

    If a call has a computed figure, only negations and ranges count, as its operands are no arguments.
    """
    values_text = " ".join(str(candidate.value) for plan in plans for _, candidate in plan.chosen)
    text = _FORMULA_PATTERN.sub(" ", drop_evidence(drop_spans(intent.clause, find_exclusions(intent.clause))))
    text = _MANNER_PATTERN.sub(" ", _drop_days(text, values_text, situation))
    odd = [*(match[0] for match in _RANGE_PATTERN.finditer(text)), *_find_steps(plans, intent)]
    later = find_later(text, _join_said_apart(plans, intent, situation))
    odd += later
    for words in later:
        text = text.replace(words, " ")
    odd += _find_days_off(text, values_text, situation)
    odd += _list_states_of_others(text, _find_records_of(plans, situation), plans, intent)
    odd += [negation.value for negation in find_negations(text) if negation.value.lower() not in values_text.lower()]
    choices = [match[0] for match in _EITHER_PATTERN.finditer(drop_quotations(text))]
    odd += [choice for choice in choices if choice.lower() not in values_text.lower()]
    if any(plan.is_computed for plan in plans):
        return tuple(odd)
    record_values = {value for record in situation.records for value in record.values}
    amounts = {read_figure(value) for record in situation.records for value in record.fields.values()}
    literals = [one for one in find_of_kind(text, *_LITERAL) if one.value not in record_values]
    figures = [one.value for one in literals if one.kind not in AMOUNTS or one.number not in amounts]
    figures = [one for one in figures if not re.search(rf"(?<![\w-]){re.escape(one)}(?!\w)", values_text)]
    odd += [figure for figure in figures if not any(_is_given(figure, plan) for plan in plans)]
    known_stems = _stems_of_calls(plans, intent) | {stem(match["unit"]) for match in _UNIT_PATTERN.finditer(text)}
    records = list_records_judged(values_of(plans), situation) or situation.records
    uninterpreted = unexplained_words(text, records) - known_stems - situation.terms
    return tuple(dict.fromkeys((*odd, *(word for word in text_words(text)[1:] if stem(word) in uninterpreted))))


def _stems_of_calls(plans: Sequence[CallPlan], intent: Intent) -> frozenset[str]:
    """The stems of the verb, of what calls have and what their tools say, and of the words that any action may have."""
    said = [*values_of(plans), *(f"{' '.join(plan.tool.properties)} {plan.tool.description}" for plan in plans)]
    return text_stems(" ".join(said).replace("_", " ")) | {stem(intent.verb)} | _OF_ACTIONS


_OR_PATTERN = re.compile(
    r"(?P<one>[^\s,]+),?\s+(?:and/)?or\s+(?P<other>(?:[a-z]+\s+){0,4}[^\s,;]*\d[^\s,;]*|[^\s,;]+)", re.I
)


def find_choice(intent: Intent) -> str:
    """``A-1 or A-2``, where a clause names both, or ``approve or reject``; empty if there is none.

    ``All things of A-1 or A-2`` are those of both.
    """
    text = drop_quotations(TELLS_PATTERN.split(intent.clause)[0] if intent.sends_message else intent.clause)
    for match in _OR_PATTERN.finditer(drop_spans(text, find_exclusions(text))):
        one, (other, *_) = match["one"], match["other"].split()
        if is_verb(one) and is_verb(other) and not text_words(text[: match.start()]):
            return f"{one} or {other}"
        named = [*identifiers_in(one), *identifiers_in(match["other"])]
        if len(named) > 1 and not intent.means_every:
            return " or ".join(named)
    return ""


_RELATED_PATTERN = re.compile(r"\bthe (?P<of>[a-z]+) of\b|(?<=\w)['’]s (?P<own>[a-z]+)\b", re.I)
_TOLD_PATTERN = re.compile(r"\W*(?:please\s+)?[a-z]+\s+(?P<who>(?:the|our)\s+(?P<whom>[a-z]+))(?P<of> of\b)?", re.I)


def find_other_meant(plans: Sequence[CallPlan], intent: Intent, situation: Situation) -> str:
    """The words by which a clause means another thing than its calls take: ``the trainer of pilot PIL-2`` is not PIL-2.

    Empty if there are none. A record shows that other thing under that word, as like as one of the calls' own.
    """
    given = values_of(plans)
    shapes = {shape_of_id(value) for value in given}
    told = _TOLD_PATTERN.match(intent.clause) if intent.sends_message else None
    known = situation.terms.union(*(one.noun.union(*map(field_stems, one.fields)) for one in situation.records))
    if told and stem(told["whom"]) not in known:
        return told["who"]
    for match in _RELATED_PATTERN.finditer(intent.clause):
        word = stem(match["of"] or match["own"])
        fields = [pair for record in situation.records for pair in record.fields.items()]
        fields = [(name, value) for name, value in fields if share_word((word,), field_stems(name))]
        values = {str(value) for name, value in fields if is_identifier(name)}
        is_another = not shapes.isdisjoint(map(shape_of_id, values)) and values.isdisjoint(
            (*given, *identifiers_in(intent.clause))
        )
        is_known = bool(fields) or any(word in record.noun for record in situation.records)
        if is_another or (told and told["of"] and not is_known and stem(told["whom"]) == word):
            return match[0]
    return ""


def _drop_days(text: str, values_text: str, situation: Situation) -> str:
    """The text without the days that a call has, however they are said."""
    for day in (mention for mention in situation.of_kind(MentionKind.DATE) if mention.value in values_text):
        text = text.replace(situation.text[day.start : day.end], " ")
    return text


_APART_PATTERN = re.compile(r"(?:[\"“'‘:]|\b(?:that|for))\s*$", re.I)


def _join_said_apart(plans: Sequence[CallPlan], intent: Intent, situation: Situation) -> str:
    """The values of calls that the task says in quotation marks, behind a colon, ``that`` or ``for``, or as a reason;
    and those that are a time.
    """
    said = [(value, situation.text.find(value)) for value in values_of(plans) if value]
    return " ".join(
        value
        for value, place in said
        if value in intent.reason
        or (place >= 0 and _APART_PATTERN.search(situation.text[:place]))
        or any(value.casefold().startswith(words.casefold()) for words in find_later(value))
    )


_OF_NO_STATE = frozenset({None, "read", "create", "update", "send", "schedule", "move"})


def _find_records_of(plans: Sequence[CallPlan], situation: Situation) -> list[FactRecord]:
    """The records of the things that calls are about, and of those to which these refer."""
    own = list_records_meant(values_of(plans), situation)
    linked = {str(value) for record in own for name, value in record.fields.items() if is_identifier(name)}
    return [*own, *list_records_meant(linked, situation)]


def _list_states_of_others(
    text: str, records: Sequence[FactRecord], plans: Sequence[CallPlan], intent: Intent
) -> list[str]:
    """The words of a clause that say in which state a thing is, where none of these records is in it."""
    if not any(field_stems(name) & STATE_WORDS for record in records for name in record.fields):
        return []
    told = values_of(plans).union(*(record.values for record in records))
    done = {stem(intent.verb)}.union(*(field_stems(plan.tool.name) for plan in plans))
    words = [word for word in text_words(text) if word.endswith("ed") and family(word) not in _OF_NO_STATE]
    return [word for word in words if stem(word) not in done and not any(says(value, word) for value in told)]


_ON_PATTERN = re.compile(r"(?<!due )(?<!ed )\b(?:on|by|until|till|from|not before)\s+(?:the\s+)?$", re.I)


def _find_days_off(text: str, values_text: str, situation: Situation) -> list[str]:
    """The days on which a clause wants something done, as it says them, and that no call has."""
    days = [mention for mention in situation.of_kind(MentionKind.DATE) if mention.value not in values_text]
    said = [(situation.text[max(0, day.start - 40) : day.start], situation.text[day.start : day.end]) for day in days]
    return [words for before, words in said if words in text and _ON_PATTERN.search(before)]


def _is_given(figure: str, plan: CallPlan) -> bool:
    """Whether a figure or a name stands in one of the call's arguments, in minor units too."""
    number = read_figure(figure)
    amounts = (number, number * 100) if number is not None else ()
    values = [candidate.value for _, candidate in plan.chosen]
    return any(figure in str(value) or read_figure(value) in amounts for value in values)


def _class_words(text: str, listed: Sequence[FactRecord]) -> frozenset[str]:
    """The words behind what the listed things are called, of which tools may call them as well: ``expense claims``.

    What a proper name does is none of them: ``Product spent`` where products are listed.
    """
    names = {name.lower() for name in proper_names(text)}
    nouns = frozenset().union(*(record.noun for record in listed))
    pairs = [(before, word) for before, word in pairwise(text_words(text)) if before.lower() not in names]
    return frozenset(stem(word) for before, word in pairs if stem(before) in nouns)


def _figures_left(selection: ChosenRecords, listed: Sequence[FactRecord], situation: Situation) -> list[str]:
    """Figures and days that chose nothing, and identifiers of which no listed thing has the like."""
    asked_by = {value for record in listed for value in record.asked_by}
    kind = selection.listed or listed
    shapes = {shape_of_id(value) for record in kind for value in record.texts}
    columns = {name for record in kind for name in record.fields}
    asked_by |= {value for value in situation.identifiers if columns & {*list_addresses(value, situation)}}
    left = find_of_kind(selection.rest, *_LITERAL, MentionKind.ID)
    left = [
        mention for mention in left if mention.kind is not MentionKind.ID or shape_of_id(mention.value) not in shapes
    ]
    return [mention.value for mention in left if mention.value not in asked_by]
