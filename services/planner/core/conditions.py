"""Whether the condition of an action holds: figures compared, or a record's state looked at. Unknown is not yes."""

import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.compute import LEFT, figure_left_of_named, list_figures, requested_figures, subjects
from services.planner.core.counted_days import STATE_WORDS, find_state
from services.planner.core.criteria import read_criteria
from services.planner.core.figures import SUMS, PlannedFigure, amount_field, in_major_units, numeric_fields
from services.planner.core.intents import Intent
from services.planner.core.meant_records import MeantRecord, find_meant
from services.planner.core.mentions import Mention, MentionKind, find_amounts, find_of_kind, identifiers_in
from services.planner.core.records import FactRecord
from services.planner.core.relations import answer_related, tell_field
from services.planner.core.situation import Situation, list_records_meant, says
from services.planner.core.words import (
    STOP,
    concept,
    content_words,
    family,
    field_stems,
    is_identifier,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)

_AT_LEAST = r"\b(?:at least|(?:more|greater|larger|higher) than or equal to)\b"
_OVER = r"\b(?:over|above|more than|greater than|exceed(?:s|ing|ed)?|larger than|higher than|beyond)\b"
_AT_MOST = (
    r"\b(?:within|at most|(?<!add )(?<!adds )(?<!sum )up to|fits?(?: in(?:to)?)?|covered by"
    r"|(?:less|smaller|lower) than or equal to)\b"
)
_UNDER = r"\b(?:under|below|less than|smaller than|lower than)\b"
_COVERS = r"\b(?:covers?|suffices?|enough|sufficient|allows?|permits?)\b"
_TESTS = ((_AT_LEAST, operator.ge), (_OVER, operator.gt), (_AT_MOST, operator.le), (_UNDER, operator.lt))
_ANY_TEST = "|".join(pattern for pattern, _ in _TESTS)
_PREDICATE_PATTERN = re.compile(
    r"^(?P<subject>.+?)\s+(?:is|are|was|were|has been|have been)\s+(?P<state>(?:\w+\s+){0,3}[\w-]+)$", re.I
)
_DOER_PATTERN = re.compile(r"(?P<verb>\w+)\s+by\s+(?P<who>.+)$", re.I)
_BE_PATTERN = re.compile(r"\s+(?:(?:is|are|was|were|has|have|be|been|not|comes? to|costs?)\s*)+$", re.I)
_OF_PATTERN = re.compile(r"\sof\s|['’]s\s", re.I)
_OF_SUMS = text_stems("amount total price cost value sum figure come whole full claim request case item document")
_SEVERAL_PATTERN = re.compile(r"(?:all|every|each|any|some|both|most|none|no|how many)\b", re.I)
_NOT = r"(?:\b(?:not|no|never|neither|nor|none)|n['’]t)\b"
_JOINED = (  # what begins another statement behind "and" or "or"
    rf"(?=(?:it|its|the|they|there)\b|(?:\w+ )?(?:{_ANY_TEST})|(?:[\w-]+ ){{1,3}}(?:is|are|was|were|has|have|had)\b)"
)
_OR_PATTERN = re.compile(rf",?\s+or\s+(?:if\s+)?{_JOINED}", re.I)
_AND_PATTERN = re.compile(rf",?\s+(?:and|but)\s+(?:if\s+)?{_JOINED}", re.I)
_ALTERNATIVE_PATTERN = re.compile(r",?\s+(?:or|nor)\s+|,\s*")
_PORTION_PATTERN = re.compile(
    r"%|\b(?:per ?cent|half|third|quarter|double|twice|triple|times|plus|minus|and its|and the)\b", re.I
)
_NOT_NOW = re.compile(r"(?:before|until|till|where|subject to)\b", re.I)
_PRESENT_WORDS = stems("already now currently either neither nor both not".split())


class JudgedCondition(NamedTuple):
    """Whether a condition holds; None if that is unknown. ``why``: what decides it, or what is missing."""

    holds: bool | None
    why: str


def judge_condition(intent: Intent, situation: Situation) -> JudgedCondition:
    """Whether an action's condition lets it go ahead; it does if there is none.

    Unknown (``holds`` is None) if that cannot be told, or if the action names several things and they differ.
    """
    if not intent.condition:
        return JudgedCondition(True, "")
    named = [value for value in identifiers_in(intent.clause) if value not in intent.spared]
    if len(named) > 1:
        others = {value: "|".join(re.escape(other) for other in named if other != value) for value in named}
        alone = [re.sub(rf"(?<![\w-])(?:{other})(?![\w-])", "", intent.clause) for other in others.values() if other]
        if len({_judge_parts(intent._replace(clause=clause), situation).holds for clause in alone}) > 1:
            return JudgedCondition(None, f"it is not the same for all of {', '.join(others)}")
    return _judge_parts(intent, situation)


def _judge_parts(intent: Intent, situation: Situation) -> JudgedCondition:
    alternatives = [_AND_PATTERN.split(text) for text in _OR_PATTERN.split(re.sub(r"^either ", "", intent.condition))]
    judged = [[_judge_part(part, intent, situation) for part in parts_joined] for parts_joined in alternatives]
    reason = "; ".join(judged_part.why for ones in judged for judged_part in ones)
    if any(judged_part.holds is None for ones in judged for judged_part in ones):
        return JudgedCondition(None, reason)
    return JudgedCondition(any(all(part.holds for part in ones) for ones in judged) is intent.holds, reason)


def judge_statement(text: str, situation: Situation) -> JudgedCondition:
    """Whether a statement, outside an action's condition, holds."""
    return _judge_part(text, Intent("", "", condition=text), situation)


def _judge_part(text: str, intent: Intent, situation: Situation) -> JudgedCondition:
    if _NOT_NOW.match(text):
        return _as_unknown(text)
    for pattern, test in (*_TESTS, (_COVERS, None)):
        if match := re.search(pattern, text, re.I):
            left_text, right_text = text[: match.start()], text[match.end() :]
            if not right_text.strip():  # "the limit is exceeded"
                left_text, right_text = "", left_text
            if test is None:
                return _judge_order(right_text, left_text, operator.le, text, intent, situation)
            return _judge_order(left_text, right_text, test, text, intent, situation)
    return _judge_state(text, intent, situation)


def _judge_order(
    left_text: str,
    right_text: str,
    test: Callable[[Decimal, Decimal], bool],
    text: str,
    intent: Intent,
    situation: Situation,
) -> JudgedCondition:
    amount = _find_figure(left_text, right_text, intent, situation)
    limit = _find_limit_value(right_text, intent, situation)
    if amount is None or limit is None:
        missing = "the amount" if amount is None else f'a figure for "{right_text.strip() or text}"'
        return JudgedCondition(None, f"{missing} could not be found")
    relation = "is more than" if amount > limit else "is within" if amount < limit else "equals"
    return JudgedCondition(
        test(amount, limit) is not bool(re.search(_NOT, text, re.I)),
        f"{amount:,.2f} {relation} {limit:,.2f} ({right_text.strip() or text})",
    )


def _find_figure(left_text: str, right_text: str, intent: Intent, situation: Situation) -> Decimal | None:
    """The figure that a condition compares with its limit, named before the comparison or after the limit.

    None where the words name no amount of money, as in ``less than 30 days old``. In ``less than 500 is left in the
    budget`` it is what is left there, never another amount.
    """
    limit = _find_limit(right_text)
    about = f"{left_text} {right_text[limit.end :]}" if limit else ""
    if text_stems(about) & LEFT:
        figure = figure_left_of_named(about, situation)
        return figure.value if figure else None
    if limit and about.strip(" .") and not left_text.strip():
        return None  # "less than 500 is due": no words before the comparison say whose figure it is
    return _find_amount(about if limit else left_text, intent, situation)


def _find_limit(text: str) -> Mention | None:
    return next(iter(find_amounts(text)), None)


def _find_amount(text: str, intent: Intent, situation: Situation) -> Decimal | None:
    """The figure to be compared: a computed one, else a figure of a record that the task is about, else the task's own
    amount.

    None if there is none, or if the words name something else.
    """
    words = text_stems(text)
    if computed := requested_figures(text, situation):
        return computed[0].value
    if _PORTION_PATTERN.search(text):
        return None
    spoken_records = _find_subjects(intent, situation)
    subject = _BE_PATTERN.sub("", text.strip())
    if meant := find_meant(subject, spoken_records, situation):
        if any(one.fields or one.record not in spoken_records for one in meant):
            return _figure_of(meant)
    elif _names_another(subject, spoken_records):
        return None
    for record in spoken_records:
        fields = [name for name in record.fields if field_stems(name) & words]
        if fields and (field := amount_field(record, text)) in fields:
            return in_major_units(record, str(field))
    if not _names_no_other_figure(words, intent, situation):
        return None
    for said in (intent.clause, situation.text.replace(intent.condition, " ")):
        if amounts := find_of_kind(said, MentionKind.MONEY):
            return amounts[0].number
    sums = [(record, field) for record in spoken_records for field in _sum_fields(record)]
    return in_major_units(*sums[0]) if sums else None


def _sum_fields(record: FactRecord) -> list[str]:
    """The field that says what a record comes to; empty if it has none."""
    field = amount_field(record, "amount total")
    return [field] if field and field_stems(field) & SUMS else []


def _find_subjects(intent: Intent, situation: Situation) -> list[FactRecord]:
    """The one record that a clause, or a statement without one, names by its identifier, else those of the task."""
    own = list_records_meant({*identifiers_in(intent.clause or intent.condition)}, situation)
    return [record for record in own if not record.in_list] or own or subjects(situation)


def _names_no_other_figure(words: frozenset[str], intent: Intent, situation: Situation) -> bool:
    """Whether the words before a comparison name no figure of another thing, as ``it``, ``the claim`` and ``the
    price``.
    """
    stem_groups: list[frozenset[str]] = [_OF_SUMS, text_stems(intent.clause)]
    for record in subjects(situation):
        stem_groups.append(record.noun)
        if says(situation.text, record.own_id):
            stem_groups += map(text_stems, record.texts)
    return words <= frozenset().union(*stem_groups)


def _figure_of(meant: Sequence[MeantRecord]) -> Decimal | None:
    """The one figure of what is meant, in major units: that of the field, else what the thing comes to.

    None if several things are meant, or if the thing has no such figure or several.
    """
    if len(meant) != 1:
        return None
    record, named = meant[0]
    fields = [name for name in numeric_fields(record) if name in named] if named else _sum_fields(record)
    return in_major_units(record, fields[0]) if len(fields) == 1 else None


def _names_another(text: str, records: Sequence[FactRecord]) -> bool:
    """Whether words name something else than these records, or something of something."""
    own = {record.own_id for record in records}
    return bool({*identifiers_in(text)} - own) or (_OF_PATTERN.search(text) is not None and not text_stems(text) & LEFT)


def _find_limit_value(text: str, intent: Intent, situation: Situation) -> Decimal | None:
    """The limit with which a condition compares: a stated figure, a computed one, or a field of a record.

    None if there is none, or if records differ in it.
    """
    if (limit := _find_limit(text)) is not None:
        return limit.number
    if _PORTION_PATTERN.search(text):
        computed = requested_figures(text, situation)
        return computed[0].value if computed else None
    own, words = _find_own(intent, situation), text.strip(" .")
    if meant := find_meant(words, own, situation):
        if any(one.fields or one.record not in own for one in meant):
            return _figure_of(meant)
    elif _names_another(words, own):
        return None
    if figure := _find_computed(text, situation):
        return figure.value
    fields = [(record, amount_field(record, text)) for record in situation.records]
    of_own = [(record, field) for record, field in fields if field and field_stems(field) & text_stems(text)]
    values = {in_major_units(record, field) for record, field in of_own}
    return values.pop() if len(values) == 1 else None


def _find_computed(text: str, situation: Situation) -> PlannedFigure | None:
    word_stems = text_stems(text)
    scored = [(len(field_stems(figure.name) & word_stems), figure) for figure in list_figures(situation)]
    top = max(scored, default=None, key=lambda item: item[0])
    return top[1] if top and top[0] else None


def _judge_state(text: str, intent: Intent, situation: Situation) -> JudgedCondition:
    """Judges ``if it is still open`` or ``unless it was already paid`` by whether a record has the condition's word
    among its values.
    """
    text = re.sub(r"n['’]t\b", " not", text.strip())
    match = _PREDICATE_PATTERN.match(text)
    meant = _find_judged(match["subject"], intent, situation) if match else _find_alone(text, intent, situation)
    records = [one.record for one in meant]
    word_stems = {stem(word) for word in text_words(match["state"] if match else text) if word not in STOP}
    negated = bool(re.search(_NOT, text, re.I))
    if match and (doer := _DOER_PATTERN.match(match["state"])):
        judged = [_judge_doer(record, doer, negated, situation) for record in records]
        return judged[0] if len(judged) == 1 else _as_unknown(text)
    own = {id(record) for record in _find_own(intent, situation)}
    for one in meant:
        if stated_word := _find_stated_word(one, match, text, word_stems):
            is_plain = _says_no_more(match["state"] if match else text, stated_word, one.record)
            name = "it" if id(one.record) in own else one.record.own_id or "it"
            return JudgedCondition(not negated, f"{name} is {stated_word}") if is_plain else _as_unknown(text)
    if match and (judged_by_days := _judge_by_days(meant, match["state"], negated, situation)):
        return judged_by_days
    is_foreign = situation.is_translated and any(says(situation.original, word) for word in text_words(text))
    if match and not is_foreign and len(word_stems) == 1 and (other := _other_state(meant, match["state"])):
        name = "it" if len(records) != 1 or id(records[0]) in own else records[0].own_id or "it"
        return JudgedCondition(negated, f"{name} is {other}")
    return _as_unknown(text)


def _judge_by_days(
    meant: Sequence[MeantRecord], state: str, negated: bool, situation: Situation
) -> JudgedCondition | None:
    """Judges ``overdue`` of one thing by its day and by whether it still stands; None for other words, or if its record
    does not tell.
    """
    records = sorted((one.record for one in meant if not one.fields), key=lambda record: record.in_list)
    if len({record.own_id for record in records}) != 1:
        return None
    record, text = records[0], re.sub(_NOT, " ", state, flags=re.I)
    read = read_criteria(text, [record], (), situation.today)
    columns = [
        column for criterion in read.criteria if (column := criterion.column.split(" from ")[0]) in record.fields
    ]
    if len(columns) != 1 or len(read.criteria) != 1 or read.uninterpreted or content_words(read.rest):
        return None
    told = " and is ".join(filter(None, (tell_field(record, columns[0]).rstrip("."), find_state(record))))
    return JudgedCondition(read.fits(record) is not negated, told)


def _says_no_more(text: str, stated_word: str, record: FactRecord) -> bool:
    """Whether a text says no more of a record than that state: neither ``almost open`` nor ``open last year``."""
    own = text_stems(stated_word)
    names = [name for name in record.fields if is_identifier(name) or "name" in name]
    known = STATE_WORDS | _PRESENT_WORDS | own | record.noun.union(*map(field_stems, record.fields))
    known = known.union(*(text_stems(str(record.fields[name])) for name in names))
    return any(own <= said <= known for said in map(text_stems, _ALTERNATIVE_PATTERN.split(text)))


def _as_unknown(text: str) -> JudgedCondition:
    return JudgedCondition(None, f'whether "{text.strip()}" holds could not be found out')


def _find_judged(subject: str, intent: Intent, situation: Situation) -> tuple[MeantRecord, ...]:
    """The records of which a condition says something; of ``it`` those that the action is about."""
    if _SEVERAL_PATTERN.match(subject):
        return ()  # one record decides nothing of "all kites"
    return find_meant(subject, _find_own(intent, situation), situation)


def _find_own(intent: Intent, situation: Situation) -> list[FactRecord]:
    """The records that the action is about; those of a statement without one are what it identifies."""
    own, known = _find_subjects(intent, situation), subjects(situation)
    if not intent.clause and len({record.own_id for record in situation.records}) > 1:
        own = [record for record in own if any(says(situation.text, word) for word in record.names)]
    if intent.family == "create":  # what is only to be made is no "it", nor is one made before
        known = [record for record in known if record in own]
    said = text_stems(intent.clause) - {stem(intent.verb)}  # of "refund K-1" no refund is meant
    of_kind = [[record for record in found if record.noun & said] for found in (own, known)]
    return of_kind[0] or of_kind[1] or own


def _find_alone(text: str, intent: Intent, situation: Situation) -> tuple[MeantRecord, ...]:
    """The records of a condition without a subject, such as ``still open``; none if it names what one refers to."""
    records, word_stems = _find_own(intent, situation), text_stems(text)
    others = (concept(name, record.noun) - record.noun for record in records for name in record.fields)
    return () if any(other & word_stems for other in others) else tuple(MeantRecord(record) for record in records)


def _judge_doer(record: FactRecord, doer: re.Match[str], negated: bool, situation: Situation) -> JudgedCondition:
    """Judges ``if it was booked by Ann Lee`` by the person whom the record names as the doer.

    Unknown if it names nobody, or the name may mean the same person in other words.
    """
    who = doer["who"]
    told = answer_related(f"who {doer['verb']} {record.own_id}", situation) if record.own_id else None
    text = told.text if told else ""
    others = {*identifiers_in(text)} - {record.own_id}
    is_same, is_named = says(text, who), "(" in text or bool(others) is bool(identifiers_in(who))
    if not text or not (is_same or is_named):
        return _as_unknown(doer[0])
    return JudgedCondition(is_same is not negated, text.rstrip("."))


def _find_stated_word(meant: MeantRecord, match: re.Match[str] | None, text: str, word_stems: set[str]) -> str:
    """The record's text that the condition contains, such as its state; never its identifier or, without an ``is``, a
    name. Empty if there is none.
    """
    state, own_field = match["state"] if match else text, meant.record.own_field
    for name, value in meant.told:
        is_name = own_field == name or (match is None and (is_identifier(name) or "name" in parts(name)))
        is_said = isinstance(value, str) and (says(state, value) or (value.isalpha() and stem(value) in word_stems))
        if is_said and not is_name:
            return str(value)
    return ""


def _other_state(meant: Sequence[MeantRecord], state: str) -> str:
    """The state that the record is in instead, where the condition names a state as such: ``waiting``, ``paid``."""
    if not re.search(r"\b\w+(?:ed|ing|en|id)\b", state) or re.search(r"\d", state):
        return ""
    for one in meant:
        words = {n: v for n, v in one.told if isinstance(v, str) and v.isalpha() and v.islower()}
        states = [value for name, value in words.items() if field_stems(name) & STATE_WORDS] or [*words.values()]
        if len(states) == 1:
            return "" if family(states[0]) and family(states[0]) == family(state.split()[-1]) else states[0]
    return ""
