"""The answer: a bare JSON list where one is asked for, else plain prose from facts, values and writes."""

import re
from collections import Counter
from decimal import Decimal
from typing import NamedTuple

from services.planner.core.back_references import with_antecedent
from services.planner.core.binding import WriteStep
from services.planner.core.compute import figures, stated_figures, subject_of, subjects
from services.planner.core.conditions import judge_statement
from services.planner.core.explained import are_related, unexplained_words
from services.planner.core.figures import PlannedFigure, amount_field
from services.planner.core.groups import find_standing_out, pick_groups, stated_groups
from services.planner.core.mentions import find
from services.planner.core.outcomes import WriteState
from services.planner.core.parts_of_task import wants_list
from services.planner.core.proposals import ProposedMove
from services.planner.core.records import FactRecord, ToolFact, number, own_id
from services.planner.core.request import Request, objects
from services.planner.core.selection import matching_records
from services.planner.core.situation import Situation, observe_situation, says
from services.planner.core.unread import find_uninterpreted_words
from services.planner.core.words import (
    concept,
    field_stems,
    is_identifier,
    nouns,
    parts,
    stem,
    stems,
    text_stems,
    text_words,
)
from shared.domain.exact_json import Json, JsonObject, dumps

_UNREAD = "Nothing about what the task asks for could be read, so no list can be given."
_NOTHING = "Nothing that answers the task could be found."
_SEARCHES = frozenset({("search",), ("find",), ("lookup",)})
_PERSONAL = frozenset("email phone phone_number mobile salary birth_date birthday date_of_birth".split())
_PRONOUN = re.compile(r"\b(?:he|she|they|his|hers?|him|their|them|it|its)\b", re.I)
_ORDER = re.compile(r"\b(?:sorted|ordered|sort|order|ranked) (?:them )?by\b.*", re.I)
_FORM = re.compile(r"(?:answer|respond|reply|return|give|output|list)\b[^.?]*\b(?:JSON|list|array)\b[^.?]*", re.I)


class ToldAnswer(NamedTuple):
    """What became of the task: a step for each action, and every call of the plan."""

    steps: tuple[WriteStep, ...] = ()
    moves: tuple[ProposedMove, ...] = ()


def compose_answer(situation: Situation, told: ToldAnswer, *, as_a_list: bool = False) -> str:
    """A bare JSON list where one is asked for, else prose: what was done, what was not and why, then what was asked.

    ``as_a_list``: who asks reads nothing else, whatever the task's own words say. Where these ask for no list of
    things, it is one of what would have been said.
    """
    if _is_list_of_things(situation, told, as_a_list):
        if unread := _unread_of_list(situation):
            return f'Could not be found out: "{situation.text.strip()}": not understood: {", ".join(unread)}.'
        found = parse_list_answer(situation)
        return dumps(found) if found or _was_read(situation) else _UNREAD
    said = [*map(_tell_move, told.moves), *_tell_undone(situation, told)]
    asked = situation.reading.questions
    tell = _answer_briefly if as_a_list else _answer_question
    said += [tell(question, situation) or _say_not_found(question, situation) for question in asked]
    said += _describe_values(situation) if not asked or not said else []
    if not said:
        said = _describe_subjects(situation)
    return dumps([*said]) if said and as_a_list else " ".join(said) or _NOTHING


def _is_list_of_things(situation: Situation, told: ToldAnswer, as_a_list: bool) -> bool:
    """Whether the answer is a list of what fits the task's words: these ask for one, or who asks does and the task asks
    for nothing else.
    """
    if told.moves:
        return False
    if wants_list(situation.text):
        return True
    return as_a_list and not told.steps and not any(_asks_value(one, situation) for one in situation.reading.questions)


def _asks_value(question: str, situation: Situation) -> bool:
    """Whether a question is after one figure or one field of a record."""
    if _NAMES_SEVERAL.match(question):
        return False
    return bool(_HOW_MANY.match(question) or _find_answer(question, situation))


def find_unanswered(situation: Situation, told: ToldAnswer, *, as_a_list: bool = False) -> tuple[str, ...]:
    """The questions that nothing known answers; the whole task, where it asks none and nothing at all is known of it.

    ``as_a_list``: as for ``answer``.
    """
    asked = situation.reading.questions
    if _is_list_of_things(situation, told, as_a_list):
        is_known = not _unread_of_list(situation) and (_was_read(situation) or parse_list_answer(situation))
        return () if is_known else asked or (situation.text,)
    if asked:
        return tuple(question for question in asked if not _answer_question(question, situation))
    return (situation.text,) if compose_answer(situation, told) == _NOTHING else ()


def _say_not_found(question: str, situation: Situation) -> str:
    unread = _unread_of_question(question, situation)
    why = f": not understood: {', '.join(unread)}" if unread else ""
    return f'Could not be found out: "{question}"{why}.'


_STATEMENT = re.compile(
    r"(?:(?<=[.?!]\s)|^)(?!(?:which|what|who|how|when|where|is|are|was|were|has|have|do|does|list|name|give|tell|show|find|"
    r"answer|return|reply)\b)[A-Z][^.?!]*\s(?:is|are|was|were|has|have|wants?|will)\s[^?!]*?\.(?=\s|$)",
    re.IGNORECASE,
)  # a sentence that says something and asks for nothing


def _unread_of_list(situation: Situation) -> tuple[str, ...]:
    """The words of a task for a list that nothing applies; how the list is to look chooses nothing."""
    return find_uninterpreted_words(_criteria_of_list(situation), situation)


def _criteria_of_list(situation: Situation) -> str:
    text = " ".join(situation.reading.questions) or situation.text
    criteria = _STATEMENT.sub(" ", _ORDER.sub(" ", _FORM.sub(" ", situation.text)))
    return criteria if len(criteria.strip(" .")) > 3 else text


def _unread_of_question(question: str, situation: Situation) -> tuple[str, ...]:
    """The words of a question about listed things that nothing applies."""
    meant = situation.without_documents(with_antecedent(question, situation))
    return find_uninterpreted_words(meant, situation) if _was_listed(meant, situation) else ()


def _answer_question(question: str, situation: Situation) -> str:
    return _find_answer(question, situation) or answer_names(question, situation) or _tell_absent(question, situation)


def _answer_briefly(question: str, situation: Situation) -> str:
    """As ``_answer_question``, and a figure without its name."""
    said, stated = _answer_question(question, situation), stated_figures(question, situation)
    return _format_money(stated[0].value) if stated and said == _describe_figure(stated[0]) else said


def _describe_figure(figure: PlannedFigure) -> str:
    return f"{figure.name.replace('_', ' ').capitalize()}: {_format_money(figure.value)}."


def _tell_absent(question: str, situation: Situation) -> str:
    """Nothing found is an answer, where a read says so of what the question names."""
    absent = [mention.value for mention in find(question) if mention.value in situation.absent]
    return " ".join(f"{one} was not found." for one in absent)


def _tell_undone(situation: Situation, told: ToldAnswer) -> list[str]:
    """Each action without a call, and each clause that was not understood, by its own words."""
    lines: list[str] = []
    for step in told.steps:
        if not step.calls:
            why = step.reason.why or "it is asked for above already"
            lines.append(f'Not done: "{step.intent.clause}": {why}.')
        lines += [f"Left out: {one}." for one in step.left_out]
    known = {step.intent.clause for step in told.steps}
    return lines + [f'Not understood: "{clause}".' for clause in situation.reading.unknown if clause not in known]


def _was_read(situation: Situation) -> bool:
    """Whether some read was about what the task asks for and gave more than a sentence: none is then an answer."""
    return any(_read_nouns(fact) & situation.stems for fact in situation.facts if isinstance(fact.result, list | dict))


def _read_nouns(fact: ToolFact) -> frozenset[str]:
    """What a read is of: by its tool's name and, as a search takes any words, by its arguments if it is none."""
    given = " ".join(map(str, fact.arguments.values()))
    return nouns(fact.tool) | (frozenset() if parts(fact.tool)[:1] in _SEARCHES else text_stems(given))


def parse_list_answer(situation: Situation) -> list[Json]:
    """The asked field of the records that fit, sorted unless the task asks for an order; no value twice."""
    text = " ".join(situation.reading.questions) or situation.text
    asked = _ORDER.sub(" ", " ".join(match[0] for match in _FORM.finditer(situation.text)) or text)
    criteria = _criteria_of_list(situation)
    one = find_standing_out(criteria, situation)
    records = one.records if one else matching_records(criteria, situation)
    fields = [_listed_field(record, asked) for record in records]
    usual = next(iter(Counter(filter(None, fields)).most_common(1)), ("", 0))[0]  # a bare row names it no less
    of_each = zip(records, fields, strict=True)
    chosen = [(record, field or usual) for record, field in of_each if (field or usual) in record.fields]
    values: list[Json] = list(
        dict.fromkeys(record.fields[field] for record, field in _sort_as_asked(chosen, situation.text))
    )
    return values


def _listed_field(record: FactRecord, asked: str) -> str | None:
    """The field that a list is of: one whose words the task uses, else the record's identifier."""
    said = text_stems(asked)
    known = own_id(record)
    order = [stem(word) for word in text_words(asked)]
    others = [name for name in record.fields if not is_identifier(name) and field_stems(name) <= said]
    others.sort(key=lambda name: min(order.index(part) for part in field_stems(name)))
    if others and not said & stems(("id", "identifier", "number")):
        return others[0]
    if known is not None:
        return known[0]
    return others[0] if others else None


def _sort_as_asked(chosen: list[tuple[FactRecord, str]], text: str) -> list[tuple[FactRecord, str]]:
    match = re.search(r"\b(?:sorted|ordered|sort|order|ranked) (?:them )?by (?:the )?(\w+)(.*)", text, re.I)
    down = re.search(r"descending|(?:highest|largest|newest|latest)(?: \w+)? first|most \w+ first", text, re.I)
    if match is None:
        key = _largest(text, chosen)
        ordered = sorted(chosen, key=lambda item: _sort_key(item[0].fields[key] if key else item[0].fields[item[1]]))
        return ordered[::-1] if down else ordered
    field = next((n for record, _ in chosen for n in record.fields if field_stems(n) & text_stems(match[1])), None)
    ordered = sorted(chosen, key=lambda item: _sort_key(item[0].fields.get(field or item[1], "")))
    return ordered[::-1] if down else ordered


def _largest(text: str, chosen: list[tuple[FactRecord, str]]) -> str | None:
    if re.search(r"(?:highest|largest|lowest|smallest)(?: \w+)? first", text, re.I) and chosen:
        return amount_field(chosen[0][0], "amount")
    return None


def _sort_key(value: Json) -> tuple[int, Decimal, str]:
    amount = number(value)
    return (0, amount, "") if amount is not None else (1, Decimal(0), str(value))


def _tell_move(move: ProposedMove) -> str:
    given = ", ".join(f"{name} {_as_text(value)}" for name, value in move.arguments.items())
    what = f"{_in_words(move.bound.tool.name)} ({given})"
    note = f"; {move.outcome.note}" if move.outcome.note else ""
    match move.outcome.state:
        case WriteState.DONE:
            status = move.outcome.status
            return f"Done{f' and {status}' if status else ''}: {what}{note}."
        case WriteState.FAILED:
            status = move.outcome.status
            return f'Not done{f", {status}" if status else ""}: "{move.step.intent.clause}": {what}{note}.'
        case _:
            return f'Not done: "{move.step.intent.clause}": {what} was not called, as what it rests on was not done.'


def _in_words(name: str) -> str:
    return " ".join(parts(name))


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)


def _find_answer(question: str, situation: Situation) -> str:
    if decided := answer_yes_or_no(question, situation):
        return decided
    if told := _tell_listed(question, situation):
        return told
    stated = stated_figures(question, situation)
    is_of_rows = bool(stated) and stated[0].operation in _OF_ROWS and not _HOW_MUCH.search(question)
    if is_of_rows and _unread_of_question(question, situation):
        return ""
    if stated:
        return _describe_figure(stated[0])
    for figure in figures(situation):
        if field_stems(figure.name) & text_stems(question) and not _NAMES_SEVERAL.match(question):
            return _describe_figure(figure)
    record = subject_of(question, situation)
    if record is None or not _may_be_told(record, question, situation):
        return ""
    if unexplained_words(situation.without_documents(question), _list_linked_records(record, situation)):
        return ""
    if other := _name_reference(record, question, situation):
        return other
    field = _asked_field(record, question)
    if field is None:
        return _describe_record(record) if _is_asked_about(record, question, situation) else ""
    known = own_id(record)
    name = str(known[1]) if known else " ".join(sorted(record.noun))
    return f"The {_in_words(field)} of {name} is {record.fields[field]}."


def _tell_listed(question: str, situation: Situation) -> str:
    """What each group comes to, or the one that stands out."""
    meant = with_antecedent(question, situation)
    if not _was_listed(meant, situation) or find_uninterpreted_words(meant, situation):
        return ""
    if groups := stated_groups(question, situation):
        kept = pick_groups(question, groups)
        return f"{', '.join(f'{one.label}: {_format_money(one.figure.value)}' for one in kept)}."
    one = find_standing_out(meant, situation)
    told = [_name_with_field(record, one.field) for record in one.records] if one else []
    return f"{', '.join(told)}." if told else ""


def _name_with_field(record: FactRecord, field: str) -> str:
    known = own_id(record)
    name = str(known[1]) if known else " ".join(sorted(record.noun))
    return f"{name} ({_in_words(field)} {record.fields[field]})"


def _list_linked_records(record: FactRecord, situation: Situation) -> list[FactRecord]:
    """A record, and those that it names by their identifier."""
    named = {str(value) for value in record.fields.values()}
    return [record, *(other for other in situation.records if (own := own_id(other)) and str(own[1]) in named)]


def _is_asked_about(record: FactRecord, question: str, situation: Situation) -> bool:
    """Whether a question speaks of a record: by its noun, by one of its values, or by nothing else that is known."""
    named = any(says(question, value) for value in record.fields.values() if isinstance(value, str))
    return named or bool(record.noun & text_stems(question)) or len(situation.reading.questions) == 1


def _may_be_told(record: FactRecord, asked: str, situation: Situation) -> bool:
    """Whether a record is no person's, or the question names that person, itself or by a pronoun for one named."""
    if not _PERSONAL & {"_".join(parts(name)) for name in record.fields}:
        return True
    of_person = [value for name, value in record.fields.items() if is_identifier(name) or "name" in parts(name)]
    text = situation.text if _PRONOUN.search(asked) else asked
    return any(says(text, word) for value in of_person for word in (str(value), *str(value).split()))


def _name_reference(record: FactRecord, question: str, situation: Situation) -> str:
    """Who or what a record refers to, where that is the question and the other record is known."""
    said = text_stems(question)
    for name, value in record.fields.items():
        wanted = concept(name, frozenset())
        if is_identifier(name) and any(are_related(word, one) for word in wanted for one in said):
            others = [other for other in situation.records if (own := own_id(other)) and own[1] == value]
            named = next((f" ({other.fields['name']})" for other in others if "name" in other.fields), "")
            return f"{_in_words(name).removesuffix(' id').capitalize()}: {value}{named}."
    return ""


def _asked_field(record: FactRecord, question: str) -> str | None:
    said = text_stems(question)
    fields = [name for name in record.fields if not is_identifier(name)]
    if re.match(r"\W*who\b", question, re.I):  # nobody is a day or a figure
        fields = [name for name in fields if not any(mark.isdigit() for mark in str(record.fields[name]))]
    scored = [(len(field_stems(name) & said), name) for name in fields]
    top = max(scored, default=None, key=lambda item: item[0])
    return top[1] if top and top[0] else None


def _describe_record(record: FactRecord) -> str:
    return ", ".join(f"{_in_words(name)} {value}" for name, value in record.fields.items()) + "."


def _describe_values(situation: Situation) -> list[str]:
    """The values in words; how many pieces something was cut into is no news."""
    told = [(str(value.get("name")), number(value.get("value"))) for value in situation.values]
    named = [(name, amount) for name, amount in told if not name.startswith("pieces_") and amount is not None]
    return [f"{_figure_name(name, situation)}: {_format_money(amount)}." for name, amount in named]


def _figure_name(name: str, situation: Situation) -> str:
    """A figure's name in words; the record that it is of is called as it calls itself: ``budget after of C-1``."""
    ids = {"_".join(parts(str(own[1]))): str(own[1]) for record in situation.records if (own := own_id(record))}
    for said, known in ids.items():
        if name.lower().endswith(f"_{said}"):
            return f"{name[: -len(said) - 1].replace('_', ' ')} of {known}"
    return name.replace("_", " ")


def _format_money(value: Decimal) -> str:
    """Without the zeros behind the cents that a quotient carries."""
    cents = value.quantize(Decimal("0.01"))
    exponent = value.as_tuple().exponent
    return format(cents if value == cents and isinstance(exponent, int) and exponent < -2 else value, "f")


def _describe_subjects(situation: Situation) -> list[str]:
    told = [record for record in subjects(situation) if _may_be_told(record, situation.text, situation)]
    return [_describe_record(record) for record in told[:3]]


_BE = re.compile(
    r"^(?:is|are|was|were|has|have)\s+(?P<subject>.+?)\s+(?:(?:already|still|yet|now|currently|ever|been|a|an|the)\s+)*"
    r"(?P<state>[\w-]+)\s*\?*$",
    re.I,
)
_COMPARES = re.compile(
    r"\b(?:over|above|below|under|within|less|more|at least|at most|exceed|fit|cover|suffic|enough)", re.I
)
_ASKS = re.compile(r"^(?:is|are|was|were|has|have|does|do|did|can|could|will|would)\b", re.I)


def answer_yes_or_no(question: str, situation: Situation) -> str:
    """``Yes: 120.00 is within 200.00.``; empty if this is no such question, or nothing known decides it."""
    if not _ASKS.match(question):
        return ""
    judged = judge_statement(_as_condition(question), situation)
    return "" if judged.holds is None else f"{'Yes' if judged.holds else 'No'}: {judged.why}."


def _as_condition(question: str) -> str:
    """``Is X open?`` as ``X is open``; a comparison stays, for its words decide."""
    match = _BE.match(question.strip())
    if match and not _COMPARES.search(question):
        return f"{match['subject']} is {match['state']}"
    return _ASKS.sub("", question).strip(" ?")


_SHOWN = 20
_OF_ROWS = frozenset({"count", "average", "maximum", "minimum", "sum"})
_HOW_MUCH = re.compile(r"\bhow much\b", re.I)
_HOW_MANY = re.compile(r"\W*how (?:many|much)\b", re.I)
_NAMES_SEVERAL = re.compile(r"\W*(?:which|who|whom|list|name|show)\b", re.I)
_WHICH = re.compile(r"\b(?:which|what|list|show|name|all|every|each)\b", re.I)


def answer_names(question: str, situation: Situation) -> str:
    """One line that names the things a question is after; empty where it asks for no list that was read."""
    meant = with_antecedent(question, situation)
    if not _WHICH.search(question) or not _was_listed(meant, situation):
        return ""
    if find_uninterpreted_words(meant, situation):
        return ""
    found = [said for record in matching_records(meant, situation) if (said := _record_name(record))]
    if not found:
        return "None of those that were read fits."
    rest = ", and others" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{rest}."


def _was_listed(question: str, situation: Situation) -> bool:
    said = text_stems(question)
    return any(record.in_list and record.noun & said for record in situation.records)


def _record_name(record: FactRecord) -> str:
    known = own_id(record)
    if known is None:
        return ""
    field = amount_field(record, "amount")
    return f"{known[1]} ({' '.join(parts(field))} {record.fields[field]})" if field else str(known[1])


def compose_artifact(request: Request) -> str:
    """What became of each write by its status, then what was asked, from ``facts`` and ``values`` alone; as a list if
    one is wanted.
    """
    as_a_list = is_list_wanted(request)
    said = [_tell_write(write) for write in objects(request.section("writes"))]
    situation = observe_situation(request)
    reading = situation.reading
    if not said:
        return compose_answer(situation, ToldAnswer(), as_a_list=as_a_list)
    if reading.questions:
        said.append(compose_answer(situation, ToldAnswer()))
    return dumps([*said]) if as_a_list else " ".join(said)


def is_list_wanted(request: Request) -> bool:
    """Whether who asks reads a list and nothing else, as the section of that name says."""
    return request.sections.get("answer_format", "").strip().strip('"') == "list"


def _tell_write(write: JsonObject) -> str:
    given = write.get("arguments")
    told = given.items() if isinstance(given, dict) else ()
    shown = ", ".join(f"{name} {value if isinstance(value, str) else dumps(value)}" for name, value in told)
    status, note = str(write.get("status")), str(write.get("note") or "")
    done = "Done and" if status in ("verified", "sent") else "Not confirmed, status"
    return f"{done} {status}: {' '.join(parts(str(write.get('tool'))))} ({shown}){'; ' + note if note else ''}."
