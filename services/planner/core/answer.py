"""The answer: a bare JSON list where one is asked for, else plain prose from facts, values and writes."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.back_references import names_listed_things, with_antecedent
from services.planner.core.binding import WriteStep
from services.planner.core.compute import find_operation, list_figures, requested_figures, subject_of, subjects
from services.planner.core.conditions import judge_statement
from services.planner.core.explained import drop_asking, unexplained_words
from services.planner.core.figures import SUMS, PlannedFigure, amount_field, drop_zeros, numeric_fields
from services.planner.core.groups import find_standing_out, has_superlative, pick_groups, requested_groups
from services.planner.core.mentions import find_mentions, identifiers_in
from services.planner.core.outcomes import WriteState
from services.planner.core.parts_of_task import wants_list
from services.planner.core.phrases import divide_columns, divide_fields
from services.planner.core.proposals import ProposedMove, describe_call, tell_made_call
from services.planner.core.records import FactRecord, ToolFact, read_figure
from services.planner.core.relations import answer_related, tell_field, tell_reference
from services.planner.core.request import Request, as_object, objects
from services.planner.core.selection import select_records
from services.planner.core.situation import Situation, list_records_meant, observe_situation, says
from services.planner.core.uninterpreted import find_uninterpreted_words
from services.planner.core.words import (
    SENDING_FAMILIES,
    STOP,
    concept,
    content_words,
    family,
    field_stems,
    is_identifier,
    nouns,
    parts,
    share_word,
    stem,
    stems,
    text_stems,
    text_words,
    with_words_for_rest,
)
from shared.domain.exact_json import Json, JsonObject, dumps

_UNREAD = "Nothing about what the task asks for could be read, so no list can be given."
_NOTHING = "Nothing that answers the task could be found."
_SEARCHES = frozenset({("search",), ("find",), ("lookup",)})
_PERSONAL_WORDS = frozenset("email phone phone_number mobile salary birth_date birthday date_of_birth".split())
_ASKS_OTHERWISE = re.compile(r"\W*(?:when|where|why|how|is|are|was|were|do|does|did|has|have|can)\b", re.I)
_AND_PATTERN = re.compile(r",|&|/|\b(?:and|plus|as well as)\b", re.I)
_PRONOUN_PATTERN = re.compile(r"\b(?:he|she|they|his|hers?|him|their|them|it|its)\b", re.I)
_ORDER_PATTERN = re.compile(r"\b(?:sorted|ordered|sort|order|ranked) (?:them )?by\b.*", re.I)
_FORM_PATTERN = re.compile(
    r"(?:answer|respond|reply|return|give|output|list)\b[^.?]*\b(?:JSON|list|array)\b[^.?]*", re.I
)


class ToldAnswer(NamedTuple):
    """What the answer reports: the step of each action, and every planned call with its outcome."""

    steps: tuple[WriteStep, ...] = ()
    moves: tuple[ProposedMove, ...] = ()


def compose_answer(situation: Situation, told_answer: ToldAnswer, *, as_a_list: bool = False) -> str:
    """A bare JSON list where one is asked for, else prose: what was done, what was not and why, then what was asked.

    ``as_a_list``: who asks reads nothing else, whatever the task's own words say. Where these ask for no list of
    things, it is one of what would have been said.
    """
    if _is_list_of_things(situation, told_answer, as_a_list):
        if uninterpreted := _uninterpreted_words_of_list(situation):
            return f'Could not be found out: "{situation.text.strip()}": not understood: {", ".join(uninterpreted)}.'
        list_answer = parse_list_answer(situation)
        return dumps(list_answer) if list_answer or _was_subject_read(situation) else _UNREAD
    sentences = [*map(_tell_move, told_answer.moves), *_sentences_on_undone(situation, told_answer)]
    questions = situation.reading.questions
    tell = _answer_briefly if as_a_list else _answer_question
    sentences += [tell(question, situation) or _say_not_found(question, situation) for question in questions]
    sentences += _describe_values(situation, told_answer.moves) if not questions or not sentences else []
    if not sentences and situation.reading.forbidden:
        sentences = ["Nothing is asked for: the task only says what is not to be done."]
    if not sentences:
        sentences = _describe_subjects(situation)
    return dumps([*sentences]) if sentences and as_a_list else " ".join(sentences) or _NOTHING


def _is_list_of_things(situation: Situation, told_answer: ToldAnswer, as_a_list: bool) -> bool:
    """Whether the answer is the list of things that fit the task: the task asks for a list, or the caller does
    (``as_a_list``) and the task asks for nothing else.
    """
    if told_answer.moves or wants_list(situation.text):
        return not told_answer.moves
    questions = situation.reading.questions
    return as_a_list and not told_answer.steps and not any(_asks_value(question, situation) for question in questions)


def _asks_value(question: str, situation: Situation) -> bool:
    """Whether a question asks for one figure or for one field of a record."""
    if _NAMES_SEVERAL.match(question):
        return False
    return bool(_HOW_MANY.match(question) or _find_answer(question, situation))


def find_unanswered(situation: Situation, told_answer: ToldAnswer, *, as_a_list: bool = False) -> tuple[str, ...]:
    """The questions of the task that nothing known answers; the whole task if it asks none and nothing is known of it.

    ``as_a_list``: as for ``compose_answer``.
    """
    questions = situation.reading.questions
    if _is_list_of_things(situation, told_answer, as_a_list):
        is_known = not _uninterpreted_words_of_list(situation) and (
            _was_subject_read(situation) or parse_list_answer(situation)
        )
        return () if is_known else questions or (situation.text,)
    if questions:
        return tuple(question for question in questions if not _answer_question(question, situation))
    return (situation.text,) if compose_answer(situation, told_answer) == _NOTHING else ()


def _say_not_found(question: str, situation: Situation) -> str:
    fields = divide_fields(question)
    told = [_tell_of_record(field, situation) for field in fields] if len(fields) > 1 else []
    if any(told):
        return " ".join(text or _say_not_found(field, situation) for text, field in zip(told, fields, strict=True))
    uninterpreted = _uninterpreted_words_of_question(question, situation)
    related = answer_related(question, situation)
    uninterpreted_note = f": not understood: {', '.join(uninterpreted)}" if uninterpreted else ""
    if related and related.why:
        uninterpreted_note = f": nothing shows {related.why}"
    uninterpreted_note = f": {situation.unclear}" if situation.unclear else uninterpreted_note
    return f'Could not be found out: "{situation.as_said(question)}"{uninterpreted_note}.'


_STATEMENT_PATTERN = re.compile(
    r"(?:(?<=[.?!]\s)|^)(?!(?:which|what|who|how|when|where|is|are|was|were|has|have|do|does|list|name|give|tell|show|find|"
    r"answer|return|reply)\b)[A-Z][^.?!]*\s(?:is|are|was|were|has|have|wants?|will)\s[^?!]*?\.(?=\s|$)",
    re.IGNORECASE,
)  # a sentence that says something and asks for nothing


def _uninterpreted_words_of_list(situation: Situation) -> tuple[str, ...]:
    """The words of a task for a list that nothing applies; how the list is to look chooses nothing."""
    return find_uninterpreted_words(_criteria_of_list(situation), situation)


def _criteria_of_list(situation: Situation) -> str:
    text = " ".join(situation.reading.questions) or situation.text
    criteria = _STATEMENT_PATTERN.sub(" ", _ORDER_PATTERN.sub(" ", _FORM_PATTERN.sub(" ", situation.text)))
    return criteria if len(criteria.strip(" .")) > 3 else text


def _uninterpreted_words_of_question(question: str, situation: Situation) -> tuple[str, ...]:
    """The words of a question about listed things that nothing applies."""
    things, columns = _divide_columns(question)
    resolved_text = situation.without_documents(with_antecedent(things, situation))
    if not names_listed_things(resolved_text, situation):
        return ()
    records = select_records(resolved_text, situation).records
    unknown = [column for column in columns if not any(_column_of(record, column, situation) for record in records)]
    return (*find_uninterpreted_words(resolved_text, situation), *(unknown if records else ()))


def _divide_columns(question: str) -> tuple[str, tuple[str, ...]]:
    """The same as ``divide_columns``, but ``the longest`` chooses a thing and is told of none."""
    things, columns = divide_columns(question)
    return (question, ()) if has_superlative(" ".join(columns)) else (things, columns)


def _answer_question(question: str, situation: Situation) -> str:
    """The answer; one of a question that asks for several things says which of them it is of."""
    things, columns = _divide_columns(question)
    if columns and names_listed_things(things, situation):
        return answer_names(things, situation, columns)
    found = _find_answer(question, situation) or answer_names(question, situation) or _tell_absent(question, situation)
    named = identifiers_in(question)
    is_of_one = question not in situation.text and len(named) == 1 and bool(found) and named[0] not in found
    return f"{named[0]}: {found}" if is_of_one else found


def _answer_briefly(question: str, situation: Situation) -> str:
    """Answers like ``_answer_question``, but a computed figure as a bare number, without its name."""
    answer, figures = _answer_question(question, situation), requested_figures(question, situation)
    is_figure = figures and answer == _describe_figure(figures[0], question, situation)
    return format(drop_zeros(figures[0].value), "f") if is_figure else answer


_COUNTED_PATTERN = re.compile(
    r"\W*how many (?P<what>(?!.*\b(?:do|does|did|can|could|will|would|should|has|have|had)\b).+?)(?P<there> are there)?"
    r"(?P<rest>(?(there).*))$",
    re.I,
)


_HAVE_PATTERN = re.compile(
    r"\W*how much (?P<have>have|has) (?P<who>[\w\s]+?) "
    r"(?:(?P<left>left|available)|(?P<done>\w+ed|spent|paid))\b(?P<rest>.*)",
    re.I,
)
_LEFT_PATTERN = re.compile(
    r"\W*how much (?P<what>[\w\s]+?) (?:does|do) (?P<who>.+?) (?:still )?have (?P<left>left|available)$", re.I
)
_IS_PATTERN = re.compile(r"\W*how much (?P<of>[a-z\s]*?)\s*\b(?P<be>is|are|was|were) (?P<rest>.+)", re.I)
_WHAT_PATTERN = re.compile(r"\W*what(?:['’]s| is|(?P<are> are)| was| were) (?P<what>(?:the|our) .+)", re.I)


def _describe_figure(figure: PlannedFigure, question: str, situation: Situation) -> str:
    """The figure in the words of its question: ``There are 3 open kites.``, ``The total of all fees is 7.00.``"""
    text, value = situation.as_said(question).rstrip(" ?.!,"), f"{drop_zeros(figure.value):f}"
    if figure.operation == "count":
        counted = _COUNTED_PATTERN.match(text) if figure.value != 1 else None
        start = "There are " if counted and counted["there"] else ""
        return f"{start}{value} {counted['what']}{counted['rest']}." if counted else f"{value} in all."
    sentence = ""
    if match := _HAVE_PATTERN.match(text):
        sentence = f"{match['who']} {match['have']} {match['done'] or ''} {value} {match['left'] or ''}{match['rest']}"
    elif match := _LEFT_PATTERN.match(text):
        sentence = f"{match['who']} has {value} of {match['what']} {match['left']}"
    elif (match := _IS_PATTERN.match(text)) and re.match(r"(?:the|our|all)\b", match["rest"], re.I):
        sentence = f"{match['rest']} {'comes' if match['be'] in ('is', 'was') else 'come'} to {value}"
    elif match and not identifiers_in(match["rest"]):
        sentence = f"{value} {match['of'] and 'of the ' + match['of']} {match['be']} {match['rest']}"
    elif match := _WHAT_PATTERN.match(text):
        sentence = f"{match['what']} {match['are'] or 'is'} {value}"
    if sentence and (text in situation.original or _LEFT_PATTERN.match(text)):
        return f"{sentence[0].upper()}{re.sub(r' +', ' ', sentence[1:])}."
    is_total = figure.operation == "sum" and len(figure.operands) > 1
    return f"{value} in total." if is_total else f"{figure.name.replace('_', ' ').capitalize()}: {value}."


def _tell_absent(question: str, situation: Situation) -> str:
    """Sentences on the identifiers in a question that a read reported as absent; empty if there are none."""
    absent = [mention.value for mention in find_mentions(question) if mention.value in situation.absent]
    return " ".join(f"{name} was not found." for name in absent)


def _sentences_on_undone(situation: Situation, told_answer: ToldAnswer) -> list[str]:
    """Sentences that quote each action without a call, with the reason, and each clause that was not understood."""
    lines: list[str] = []
    for step in told_answer.steps:
        if not step.calls:
            reason = step.reason.why or "it is asked for above already"
            lines.append(f'Not done: "{situation.as_said(step.intent.clause)}": {reason}.')
        lines += [f"Left out: {value}." for value in step.left_out]
    planned = {step.intent.clause for step in told_answer.steps}
    unknown = [clause for clause in situation.reading.unknown if clause not in planned]
    return lines + [f'Not understood: "{situation.as_said(clause)}".' for clause in unknown]


def _was_subject_read(situation: Situation) -> bool:
    """Whether a read about the task's subject gave data and not only a sentence, so that "none" is an answer."""
    return any(_read_nouns(fact) & situation.stems for fact in situation.facts if isinstance(fact.result, list | dict))


def _read_nouns(fact: ToolFact) -> frozenset[str]:
    """The nouns of what a read returned: those of its tool's name, and of its arguments unless it is a search, which
    takes any words.
    """
    argument_text = " ".join(map(str, fact.arguments.values()))
    return nouns(fact.tool) | (frozenset() if parts(fact.tool)[:1] in _SEARCHES else text_stems(argument_text))


def parse_list_answer(situation: Situation) -> list[Json]:
    """The asked field of the records that fit, sorted unless the task asks for an order; no value twice."""
    text = " ".join(situation.reading.questions) or situation.text
    asked_text = _ORDER_PATTERN.sub(" ", " ".join(match[0] for match in _FORM_PATTERN.finditer(situation.text)) or text)
    criteria = _criteria_of_list(situation)
    standing_out = find_standing_out(criteria, situation)
    records = standing_out.records if standing_out else select_records(criteria, situation).records
    fields = [_listed_field(record, asked_text) for record in records]
    usual = next(iter(Counter(filter(None, fields)).most_common(1)), ("", 0))[0]  # a bare row names it no less
    of_each = zip(records, fields, strict=True)
    chosen = [(record, field or usual) for record, field in of_each if (field or usual) in record.fields]
    ordered = _sort_as_asked(chosen, situation.text)
    return [*dict.fromkeys(record.fields[field] for record, field in ordered)]


def _listed_field(record: FactRecord, question: str) -> str | None:
    """The field that a list is of: one whose words the task uses, else the record's identifier; None without either."""
    word_stems = text_stems(question)
    order = [stem(word) for word in text_words(question)]
    others = [one for one in record.fields if frozenset() < field_stems(one) <= word_stems and not is_identifier(one)]
    others.sort(key=lambda name: min(order.index(part) for part in field_stems(name)))
    if others and not word_stems & stems(("id", "identifier", "number")):
        return others[0]
    return record.own_field or (others[0] if others else None)


def _sort_as_asked(chosen: list[tuple[FactRecord, str]], text: str) -> list[tuple[FactRecord, str]]:
    match = re.search(r"\b(?:sorted|ordered|sort|order|ranked) (?:them )?by (?:the )?(\w+)(.*)", text, re.I)
    down = re.search(r"descending|(?:highest|largest|newest|latest)(?: \w+)? first|most \w+ first", text, re.I)
    field = None
    if match:
        field = next((n for record, _ in chosen for n in record.fields if field_stems(n) & text_stems(match[1])), None)
    elif chosen and re.search(r"(?:highest|largest|lowest|smallest)(?: \w+)? first", text, re.I):
        field = amount_field(chosen[0][0], "amount")
    ordered = sorted(chosen, key=lambda item: _sort_key(item[0].fields.get(field or item[1], "")))
    return ordered[::-1] if down else ordered


def _sort_key(value: Json) -> tuple[int, Decimal, str]:
    amount = read_figure(value)
    return (0, amount, "") if amount is not None else (1, Decimal(0), str(value))


def _tell_move(move: ProposedMove) -> str:
    call_text = describe_call(move.bound.tool.name, move.arguments)
    note = f"; {move.outcome.note.removesuffix('.')}" if move.outcome.note else ""
    status, clause = move.outcome.status, move.step.intent.clause
    match move.outcome.state:
        case WriteState.DONE:
            return tell_made_call(move.bound.tool.name, move.arguments, status, move.outcome.note)
        case WriteState.FAILED:
            return f'Not done{f", {status}" if status else ""}: "{clause}": {call_text}{note}.'
        case _:
            return f'Not done: "{clause}": {call_text} was not called, as what it rests on was not done.'


def _in_words(name: str) -> str:
    return " ".join(parts(name))


def _find_answer(question: str, situation: Situation) -> str:
    if decided := answer_yes_or_no(question, situation):
        return decided
    fields = divide_fields(question)
    if len(fields) > 1 and any(told := [_tell_of_record(field, situation) for field in fields]):
        return " ".join(told) if all(told) else ""
    if listed_answer := _tell_listed(question, situation):
        return listed_answer
    stated_list = requested_figures(question, situation)
    related = answer_related(question, situation)
    if related and related.is_sum:
        return related.text
    is_of_rows = bool(stated_list) and stated_list[0].operation in _OF_ROWS
    if is_of_rows and _uninterpreted_words_of_question(question, situation):
        return related.text if related else ""
    is_extreme = bool(stated_list) and stated_list[0].operation in ("maximum", "minimum")
    if is_extreme and (not _asks_for_listed(question, situation) or find_standing_out(question, situation) == ((), "")):
        return ""
    if stated_list:
        return _describe_figure(stated_list[0], question, situation)
    if related:
        return related.text
    for figure in list_figures(situation):
        if field_stems(figure.name) & text_stems(question) and not _NAMES_SEVERAL.match(question):
            return _describe_figure(figure, question, situation)
    if identifiers_in(question) and (told_field := _tell_of_record(question, situation)):
        return told_field
    asks_for_several = _HOW_MANY.match(question) or _NAMES_SEVERAL.match(question)
    if asks_for_several and _uninterpreted_words_of_question(question, situation):
        return ""
    return _tell_one_record(question, situation)


def _tell_one_record(question: str, situation: Situation) -> str:
    """What a question asks of one record, or all that is known of it; empty if it asks for something else."""
    record = _record_told(question, situation)
    if record is None:
        return ""
    if answer := _tell_of_record(question, situation):
        return answer
    asks_otherwise = _ASKS_PATTERN.match(question) or re.match(r"\W*when\b", question, re.I)
    if asks_otherwise or find_operation(question) == "count" or _asked_field(record, question):
        return ""
    is_about = _name_reference(record, question, situation) == "" and _is_asked_about(record, question, situation)
    return _describe_record(record) if is_about else ""


def _tell_of_record(question: str, situation: Situation) -> str:
    """The one field, or other thing, of a record for which a question asks; empty if it asks otherwise."""
    related = answer_related(question, situation)
    if related and related.text:
        return related.text
    record = None if related and related.why else _record_told(question, situation)
    if record is None:
        return ""
    other = _name_reference(record, question, situation)
    if other is None or other:
        return other or ""
    field = _asked_field(record, question)
    if field is None or _asks_another(question, record, situation):
        return ""
    is_chosen = record.own_id and re.match(r"\W*which\b", question, re.I)
    return f"{record.fields[field]} ({record.own_id})." if is_chosen else tell_field(record, field)


def _asks_another(question: str, record: FactRecord, situation: Situation) -> bool:
    """Whether a question asks for a field that only a record has to which this one refers."""
    others = [other for other in _list_with_linked_records(record, situation) if other is not record]
    fields = frozenset().union(*(field_stems(name) - other.noun for other in others for name in other.fields))
    words = unexplained_words(situation.without_documents(question), [record])
    said = frozenset().union(*(text_stems(value) for other in others for value in other.values))
    return share_word(words - said, fields)


def _record_told(question: str, situation: Situation) -> FactRecord | None:
    """The record that a question is about; None where it may not be told, or does not explain all that is said."""
    record = subject_of(question, situation)
    if record is None or not _may_quote_record(record, question, situation):
        return None
    linked = _list_with_linked_records(record, situation)
    known = {value.casefold() for one in linked for value in one.values | one.asked_by}
    is_whole = known.issuperset(map(str.casefold, identifiers_in(question)))
    return record if is_whole and not unexplained_words(situation.without_documents(question), linked) else None


def _tell_listed(question: str, situation: Situation) -> str:
    """Answers a question on a list with the figure of each group or with the records that stand out; empty for any
    other question.
    """
    resolved_text = with_antecedent(question, situation)
    if not names_listed_things(resolved_text, situation) or find_uninterpreted_words(resolved_text, situation):
        return ""
    if groups := requested_groups(question, situation):
        picked_groups = pick_groups(question, groups)
        return f"{', '.join(f'{group.label}: {drop_zeros(group.figure.value):f}' for group in picked_groups)}."
    found = find_standing_out(resolved_text, situation) if _asks_for_listed(question, situation) else None
    told = [_name_with_field(record, found.field) for record in found.records] if found else []
    return f"{', '.join(told)}." if told else ""


def _name_with_field(record: FactRecord, field: str) -> str:
    return f"{record.called} ({_in_words(field)} {record.fields[field]})"


def _list_with_linked_records(record: FactRecord, situation: Situation) -> list[FactRecord]:
    """A record, and those that it names by their identifier."""
    return [record, *list_records_meant(record.values, situation)]


def _is_asked_about(record: FactRecord, question: str, situation: Situation) -> bool:
    """Whether a question speaks of a record: by its noun, by one of its values, or by nothing else that is known."""
    named = any(says(question, value) for value in record.texts)
    return named or bool(record.noun & text_stems(question)) or len(situation.reading.questions) == 1


def _may_quote_record(record: FactRecord, question: str, situation: Situation) -> bool:
    """Whether an answer may quote a record: one without personal data, or of a person whom the question names.

    Where the question has a pronoun, the person may be named anywhere in the task.
    """
    if not _PERSONAL_WORDS & {"_".join(parts(name)) for name in record.fields}:
        return True
    of_person = [value for name, value in record.fields.items() if is_identifier(name) or "name" in parts(name)]
    text = situation.text if _PRONOUN_PATTERN.search(question) else question
    return any(says(text, word) for value in of_person for word in (str(value), *str(value).split()))


def _name_reference(record: FactRecord, question: str, situation: Situation) -> str | None:
    """The thing that a record refers to, if the question asks for that and its record is known.

    None if the question names such a thing but asks for something else.
    """
    word_stems = text_stems(question)
    for name in filter(is_identifier, record.fields):
        wanted = concept(name, frozenset())
        if not wanted <= record.noun and share_word(wanted, word_stems):
            is_asked = share_word(map(stem, drop_asking(content_words(question))[:1]), wanted)
            is_told = is_asked and not _ASKS_OTHERWISE.match(question)
            return tell_reference(record, name, situation) if is_told else None
    return ""


def _asked_field(record: FactRecord, question: str) -> str | None:
    word_stems = with_words_for_rest(text_stems(question))
    fields = [name for name in record.fields if not is_identifier(name)]
    if re.match(r"\W*who\b", question, re.I):  # nobody is a day or a figure
        fields = [name for name in fields if not any(mark.isdigit() for mark in str(record.fields[name]))]
    scored = [(len(field_stems(name) & word_stems), name) for name in fields]
    top = max(scored, default=None, key=lambda item: item[0])
    if top is None or not top[0]:
        return None
    said = word_stems - record.noun - field_stems(top[1])
    is_one_of_several = _AND_PATTERN.search(question) and any(field_stems(name) & said for name in fields)
    return None if is_one_of_several else top[1]


def _describe_record(record: FactRecord) -> str:
    return ", ".join(f"{_in_words(name)} {value}" for name, value in record.fields.items()) + "."


def _describe_values(situation: Situation, moves: Sequence[ProposedMove]) -> list[str]:
    """The values in words; how many pieces something was cut into is no news."""
    true_values = [value for value in situation.values if _has_come_about(value, moves)]
    named_values = [(str(value.get("name")), read_figure(value.get("value"))) for value in true_values]
    named = [(name, amount) for name, amount in named_values if not name.startswith("pieces_") and amount is not None]
    return [f"{_figure_name(name, situation)}: {drop_zeros(amount):f}." for name, amount in named]


def _has_come_about(value: JsonObject, moves: Sequence[ProposedMove]) -> bool:
    """Whether a figure holds: if it is one that a change brings about, this one was made, and none that adds to it."""
    if "not_by" not in value:
        return True
    of_own, of_others, verbs_without = (_texts_of(value.get(name)) for name in ("after_change_of", "without", "not_by"))
    changed: set[str] = set()
    for move in moves:
        verb = next(iter(parts(move.bound.tool.name)), "")
        if move.outcome.state == WriteState.DONE and not ({verb} & verbs_without or family(verb) in SENDING_FAMILIES):
            changed |= _texts_of([*move.arguments.values()])
    return bool(changed & of_own) and not changed & of_others


def _texts_of(listed: Json) -> set[str]:
    return {str(item).casefold() for item in listed} if isinstance(listed, list) else set()


def _figure_name(name: str, situation: Situation) -> str:
    """A figure's name in words; the record that it is of is called as it calls itself: ``budget after of C-1``."""
    ids = {"_".join(parts(record.own_id)): record.own_id for record in situation.records if record.own_id}
    for spoken_id, record_id in ids.items():
        if name.lower().endswith(f"_{spoken_id}"):
            return f"{name[: -len(spoken_id) - 1].replace('_', ' ')} of {record_id}"
    return name.replace("_", " ")


def _describe_subjects(situation: Situation) -> list[str]:
    records = [record for record in subjects(situation) if _may_quote_record(record, situation.text, situation)]
    return [_describe_record(record) for record in records[:3]]


_BE_PATTERN = re.compile(
    r"^(?:is|are|was|were|has|have)\s+(?P<subject>.+?)\s+(?:(?:already|still|yet|now|currently|ever|been|a|an|the)\s+)*"
    r"(?P<state>[\w-]+)\s*\?*$",
    re.I,
)
_COMPARES_PATTERN = re.compile(
    r"\b(?:(?:over|above|below|under|within|less|more|at least|at most)\b|exceed|fit|cover|suffic|enough)", re.I
)
_ASKS_PATTERN = re.compile(
    r"^(?:is|are|was|were|has|have|does|do|did|can|could|will|would|should|shall|may|might|must)\b", re.I
)
_ASKS_WHAT_MAY_BE = re.compile(r"^(?:can|could|will|would|should|shall|may|might|must)\b", re.I)


_ASKS_FOR_SOME_PATTERN = re.compile(r"\b(?:do|does|did)\b.*\bhave\b|\b(?:any|some)\b", re.I)  # whether there are such


def answer_yes_or_no(question: str, situation: Situation) -> str:
    """The answer to a yes-or-no question, such as ``Yes: 120.00 is within 200.00.``; empty for any other question, and
    if nothing known decides it.
    """
    if not _ASKS_PATTERN.match(question) or _ASKS_FOR_SOME_PATTERN.search(question):
        return ""
    if _ASKS_WHAT_MAY_BE.match(question) and not _COMPARES_PATTERN.search(question):
        return ""  # what its state is says neither what can be done nor what should be
    judged = judge_statement(_as_condition(question), situation)
    return "" if judged.holds is None else f"{'Yes' if judged.holds else 'No'}: {judged.why}."


def _as_condition(question: str) -> str:
    """A question as a condition: ``Is X open?`` becomes ``X is open``; a comparison keeps its words."""
    match = _BE_PATTERN.match(question.strip())
    if match and not _COMPARES_PATTERN.search(question):
        return f"{match['subject']} is {match['state']}"
    return _ASKS_PATTERN.sub("", question).strip(" ?")


_MOST_NAMES_SHOWN = 20
_OF_ROWS = frozenset({"count", "average", "maximum", "minimum", "sum"})
_HOW_MANY = re.compile(r"\W*how (?:many|much)\b", re.I)
_NAMES_SEVERAL = re.compile(r"\W*(?:which|who|whom|list|name|show)\b", re.I)
_WHICH_PATTERN = re.compile(r"\b(?:which|what|list|show|name|all|every|each)\b", re.I)


def answer_names(question: str, situation: Situation, columns: Sequence[str] = ()) -> str:
    """One line with the names of the things that a question asks for, each with what the records say under the words of
    ``columns``; empty if it asks for no list that was read, or no record has one of these.
    """
    if not _WHICH_PATTERN.search(question) or _ASKS_PATTERN.match(question) or _HOW_MANY.match(question):
        return ""
    resolved_text = with_antecedent(question, situation)
    if not names_listed_things(resolved_text, situation) or not _asks_for_listed(question, situation):
        return ""
    records, rest, *_ = select_records(resolved_text, situation)
    if has_superlative(rest) or find_uninterpreted_words(resolved_text, situation):
        return ""
    told = [[_column_of(record, column, situation) for column in columns] for record in records]
    if records and not all(any(of_column) for of_column in zip(*told, strict=True)):
        return ""
    named = zip(records, told, strict=True)
    names = [_with_columns(one, columns, texts) or _record_name(one) for one, texts in named if one.own_id]
    if not names:
        return "" if records else "None of those that were read fits."
    others_note = ", and others" if len(names) > _MOST_NAMES_SHOWN else ""
    return f"{', '.join(names[:_MOST_NAMES_SHOWN])}{others_note}."


def _with_columns(record: FactRecord, columns: Sequence[str], texts: Sequence[str]) -> str:
    """A record's identifier with the text told under each column; empty without columns or without an identifier."""
    told = (text or f"{column} not known" for text, column in zip(texts, columns, strict=True))
    return f"{record.own_id} ({', '.join(told)})" if columns and record.own_id else ""


def _column_of(record: FactRecord, column: str, situation: Situation) -> str:
    """The field that words name, with its value, in what was read of a thing; empty if nothing has such a field."""
    words = text_stems(column)
    same_thing = (other for other in situation.records if other.own_id == record.own_id and other.noun & record.noun)
    for one in (record, *(same_thing if record.own_id else ())):
        fields = [name for name in one.fields if words and words <= field_stems(name)]
        for name in sorted(fields, key=lambda name: len(field_stems(name))):
            if one.fields[name] not in (None, ""):
                return f"{_in_words(name)} {one.fields[name]}"
    return ""


_LEAD_PATTERN = re.compile(
    r"\W*(?:(?:and|please|then|also)\s+)*"
    r"(?:how (?:much|many)|which|what|who|(?:tell|show|give|list|name|find)(?: (?:me|us))?)\b"
    r"(?:\s+(?:is|are|was|were|do|does|did)\b)?",
    re.I,
)
_HEAD_END_PATTERN = re.compile(r"\b(?:that|who|which|with|do|does|did|has|have|had|is|are|was|were|for|in|of)\b", re.I)
_NAME_WORDS = frozenset("name names id ids identifier identifiers number numbers list details me us".split())


def _asks_for_listed(question: str, situation: Situation) -> bool:
    """Whether a question asks for listed things, or a figure of theirs, and not for something of one of them."""
    if re.match(r"\W*(?:whose|whom|who(?! (?:is|are|was|were)\b))\b", question, re.I):
        return False
    listed = [record for record in situation.records if record.in_list]
    figures_of = (field_stems(name) for record in listed for name in numeric_fields(record))
    known = SUMS.union(*(record.noun for record in listed), *figures_of)
    text = _LEAD_PATTERN.sub("", with_antecedent(question, situation), count=1)
    for segment in _HEAD_END_PATTERN.split(text):
        if words := {*text_words(segment)} - STOP - _NAME_WORDS:
            return bool(stems(words) & known)
    return True


def _record_name(record: FactRecord) -> str:
    field = amount_field(record, "amount") if record.own_id else None
    return _name_with_field(record, field) if field else record.own_id


def compose_artifact(request: Request) -> str:
    """The text of a document: each write with its status, then what was asked, from ``facts`` and ``values`` alone; a
    list if one is wanted.
    """
    as_a_list = is_list_wanted(request)
    sentences = [_tell_write(write) for write in objects(request.section("writes"))]
    situation = observe_situation(request)
    reading = situation.reading
    if not sentences:
        return compose_answer(situation, ToldAnswer(), as_a_list=as_a_list)
    if reading.questions:
        sentences.append(compose_answer(situation, ToldAnswer()))
    return dumps([*sentences]) if as_a_list else " ".join(sentences)


def is_list_wanted(request: Request) -> bool:
    """Whether who asks reads a list and nothing else, as the section of that name says."""
    return request.sections.get("answer_format", "").strip().strip('"') == "list"


def _tell_write(write: JsonObject) -> str:
    status, note = str(write.get("status")), str(write.get("note") or "")
    return tell_made_call(str(write.get("tool")), as_object(write.get("arguments")), status, note)
