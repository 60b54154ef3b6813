"""A user's wishes carried out on messages and appointments that were read: the calls that are due, and what is left."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from services.planner.core.correspondence import Correspondence, ReadAppointment, ReadMessage, read_correspondence
from services.planner.core.request import Call, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.spoken_times import ANY_NUMBER, find_time, read_count
from services.planner.core.tending import ReadRow
from services.planner.core.wanted_facts import FoundFact, find_fact, is_from, said_topic
from services.planner.core.wishes import PersonalWish, WishKind
from services.planner.core.words import nouns, parts, text_stems
from shared.domain.exact_json import JsonObject

_WORDS = frozenset("body text content message".split())
_ALL_OF_DAY = timedelta(hours=1)
_LENGTH_PATTERN = re.compile(
    rf"\b(?:for|lasts?|takes?)\s+(?:about\s+)?(?P<n>half an|an?|{ANY_NUMBER}|\d{{1,3}})\s+(?P<unit>hour|minute)s?\b",
    re.I,
)
_TO_TIME = re.compile(r"\s+(?:to|until|till|on)\s+", re.I)
_FREE_PATTERN = re.compile(r"\b(?:free|fits?)\b", re.I)
_LEAVES_PATTERN = re.compile(r"\b(?:leaves? my|do(?:es)? not (?:collide|clash|conflict|overlap))\b", re.I)
_TAKEN_PATTERN = re.compile(
    r"\b(?:collid|clash|conflict|overlap|busy|not free|am not|have an appointment|have something|taken\b)", re.I
)
_ANSWERS = {"accept": "accepted", "decline": "declined", "turn down": "declined"}
_ANSWER_PATTERN = re.compile(r"\b(?P<verb>accept|decline|turn down)\b\s*(?P<what>[^,;.]*)", re.I)


class DueWish(NamedTuple):
    """A wish with the ``calls`` that carry it out now. ``why``: why there are none, or not all. ``is_done``: it is
    finished.
    """

    wish: PersonalWish
    calls: tuple[Call, ...] = ()
    why: str = ""
    is_done: bool = False


def find_due_wishes(
    wishes: Sequence[PersonalWish], situation: Situation, writers: Sequence[ToolSpec], now: datetime, asked_at: datetime
) -> tuple[DueWish, ...]:
    """Each wish with the calls that are due, without what the messages and appointments that were read show as done.

    ``asked_at``: when the user asked; awaited messages count only if they came later.
    """
    correspondence = read_correspondence(situation)._replace(begun=asked_at)
    return tuple(_plan_wish(wish, correspondence, writers, now) for wish in wishes)


def _plan_wish(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], now: datetime
) -> DueWish:
    if wish.condition:
        return DueWish(wish, why=f'whether "{wish.condition}" holds is not for rules to say')
    match wish.kind:
        case WishKind.TELL:
            return _plan_telling(wish, correspondence, writers, now)
        case WishKind.FORWARD:
            return _plan_forwarding(wish, correspondence, writers)
        case WishKind.MOVE:
            return _plan_move(wish, correspondence, writers, now)
        case WishKind.CREATE:
            return _plan_appointment(wish, correspondence, writers, now)
        case WishKind.CANCEL:
            return _plan_cancelling(wish, correspondence, writers)
        case WishKind.RESPOND:
            return _plan_responses(wish, correspondence, writers)


def _plan_telling(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], now: datetime
) -> DueWish:
    question, latest = _find_their_latest_messages(wish, correspondence)
    by_mail = question.by_mail if question and wish.by_mail is None else wish.by_mail is not False
    address, reason = _find_address(wish, correspondence, question or latest, by_mail=by_mail)
    if not address:
        return DueWish(wish, why=reason)
    fact = find_fact(wish, correspondence, now)
    if not fact.sentence:
        return DueWish(wish, why=fact.why)
    if _is_told(address, fact, question or latest, correspondence):
        return DueWish(wish, is_done=True)
    greeted = (wish.who if "@" not in wish.who else "") or wish.asker
    body = _write_letter(greeted, fact.sentence, correspondence) if by_mail else _capitalize(fact.sentence)
    call = _reply_call(question, body, writers, by_mail=by_mail)
    call = call or _send_call(address, _capitalize(_mail_subject(wish)), body, writers, by_mail=by_mail)
    call = call or _reply_call(latest, body, writers, by_mail=by_mail)
    return DueWish(wish, (call,)) if call else DueWish(wish, why=f"no tool sends {'mail' if by_mail else 'texts'}")


def _find_their_latest_messages(
    wish: PersonalWish, correspondence: Correspondence
) -> tuple[ReadMessage | None, ReadMessage | None]:
    """The latest message on the topic, and the latest of all, from the person of the wish.

    Either is None if there is none, or several people may be meant; the first also if the wish waits for no answer.
    """
    name = wish.who or wish.asker
    their_messages = [
        message
        for message in correspondence.incoming
        if name and _is_by(message, name) and wish.by_mail in (None, message.by_mail)
    ]
    about = [message for message in their_messages if wish.topic_stems & message.stems]
    return _find_latest_of_one_sender(about) if _is_answer(wish) else None, _find_latest_of_one_sender(their_messages)


def _find_latest_of_one_sender(messages: Sequence[ReadMessage]) -> ReadMessage | None:
    if len({message.sender for message in messages}) != 1:
        return None
    return max(messages, key=lambda message: message.at.timestamp() if message.at else 0.0)


def _is_by(message: ReadMessage, name: str) -> bool:
    return message.sender == name.casefold() if "@" in name else is_from(message, name)


def _is_answer(wish: PersonalWish) -> bool:
    """Whether what is said answers what somebody wrote: they have asked, or the verb says so."""
    is_reply = re.match(r"(?:answer|reply|respond|tell|let|inform)\b", wish.clause, re.I) is not None
    return is_reply or (bool(wish.asker) and not wish.who)


def _find_address(
    wish: PersonalWish, correspondence: Correspondence, question: ReadMessage | None, *, by_mail: bool
) -> tuple[str, str]:
    """Where a message goes to: an address that is named, that of the question, or the one known one; and an empty text.

    Or an empty address, and why there is none. ``by_mail``: a mail address is wanted, else a telephone number.
    """
    if "@" in wish.who:
        return wish.who.casefold(), ""
    if question is not None and question.by_mail is by_mail:
        return question.sender, ""
    name = wish.who or wish.asker
    addresses = correspondence.addresses_of(name, by_mail=by_mail)
    if len(addresses) == 1:
        return addresses.pop(), ""
    kind, kinds = ("mail address", "mail addresses") if by_mail else ("telephone number", "telephone numbers")
    return (
        "",
        f"no {kind} of {name} is known"
        if not addresses
        else f"several {kinds} may be {name}'s: {', '.join(sorted(addresses))}",
    )


def _is_told(address: str, fact: FoundFact, question: ReadMessage | None, correspondence: Correspondence) -> bool:
    """Whether the user has written so to them, or has answered that message."""
    for message in correspondence.messages:
        is_other = question is not None and message.sender != question.sender
        if question is not None and is_other and message.row.fields.get("in_reply_to") == question.row.identifier:
            return True
        if message.own and address in message.to and fact.value in message.body:
            return True
    return False


def _write_letter(name: str, sentence: str, correspondence: Correspondence) -> str:
    """A greeting, the sentence, and the user's first name where the own address shows it."""
    hello = f"Hello {name.split()[0]}," if name else "Hello,"
    own = next((own_address for own_address in sorted(correspondence.own_addresses) if "@" in own_address), "")
    first = own.partition("@")[0].partition(".")[0] if "." in own.partition("@")[0] else ""
    return f"{hello}\n\n{sentence}\n\nKind regards\n{first.capitalize()}".rstrip()


def _mail_subject(wish: PersonalWish) -> str:
    topic = re.sub(r"^(?:the|our|my|your|a|an)\s+", "", said_topic(wish), flags=re.I)
    return " ".join(topic.split()[:8]) or "A note"


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _reply_call(question: ReadMessage | None, body: str, writers: Sequence[ToolSpec], *, by_mail: bool) -> Call | None:
    """The call that answers a message, by a tool that takes only the message's identifier and a text; None if there is
    no such tool for that kind of message.
    """
    if question is None or question.by_mail is not by_mail:
        return None
    for tool in writers:
        words = [name for name in tool.required if name != question.row.id_field and _is_text_field(name)]
        if (
            len(tool.required) == 2
            and question.row.id_field in tool.required
            and words
            and _replies_to_kind_of(tool, question.row)
        ):
            return tool.name, {question.row.id_field: question.row.identifier, words[0]: body}
    return None


def _replies_to_kind_of(tool: ToolSpec, row: ReadRow) -> bool:
    return bool(nouns(tool.name) & row.noun) and parts(tool.name)[0] in ("reply", "answer", "respond")


def _is_text_field(name: str) -> bool:
    return bool(_WORDS & set(parts(name)))


def _send_call(address: str, subject: str, body: str, writers: Sequence[ToolSpec], *, by_mail: bool) -> Call | None:
    """The call that sends a message, by a tool that takes recipients and a text and is for addresses of that kind; None
    if there is none.
    """
    for tool in writers:
        to = [name for name in tool.required if parts(name)[0] in ("to", "recipient", "recipients")]
        words = [name for name in tool.required if _is_text_field(name)]
        if len(to) != 1 or len(words) != 1 or _takes_mail(tool, to[0]) is not by_mail:
            continue
        arguments: JsonObject = {to[0]: [address] if tool.properties[to[0]].get("type") == "array" else address}
        arguments |= {name: subject for name in tool.required if "subject" in parts(name)}
        arguments[words[0]] = body
        if {*tool.required} <= {*arguments}:
            return tool.name, arguments
    return None


def _takes_mail(tool: ToolSpec, field: str) -> bool:
    word_stems = text_stems(f"{field.replace('_', ' ')} {' '.join(parts(tool.name))} {tool.description}")
    return bool(word_stems & text_stems("email mail address")) and not word_stems & text_stems("sms telephone phone")


def _plan_forwarding(wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec]) -> DueWish:
    address, reason = _find_address(wish, correspondence, None, by_mail=True)
    if not address:
        return DueWish(wish, why=reason)
    forwardable = [
        message
        for message in correspondence.incoming
        if message.by_mail and (not wish.source or is_from(message, wish.source))
    ]
    scored = [(len(wish.topic_stems & message.stems), message) for message in forwardable]
    most = max((score for score, _ in scored), default=0)
    best_messages = [message for score, message in scored if score == most and (score or wish.source)]
    if len(best_messages) != 1:
        return DueWish(wish, why=f"{len(best_messages)} mails may be the one that is to be forwarded")
    mail = best_messages[0]
    if any(
        message.own and address in message.to and mail.body.strip() in message.body
        for message in correspondence.messages
    ):
        return DueWish(wish, is_done=True)
    body = f"Forwarded from {mail.sender}:\n\n{mail.body}"
    call = _forward_call(mail, address, writers) or _send_call(
        address, f"Fwd: {mail.subject}", body, writers, by_mail=True
    )
    return DueWish(wish, (call,)) if call else DueWish(wish, why="no tool forwards mail")


def _forward_call(mail: ReadMessage, address: str, writers: Sequence[ToolSpec]) -> Call | None:
    for tool in writers:
        to = [name for name in tool.required if parts(name)[0] == "to"]
        if parts(tool.name)[0] == "forward" and len(to) == 1 and {*tool.required} == {mail.row.id_field, to[0]}:
            is_list = tool.properties[to[0]].get("type") == "array"
            return tool.name, {mail.row.id_field: mail.row.identifier, to[0]: [address] if is_list else address}
    return None


def _find_appointment(wish: PersonalWish, correspondence: Correspondence) -> tuple[ReadAppointment | None, str]:
    """The one appointment that the words of a wish are most about, people's names among them, and an empty text.

    Or None, and why there is not just one.
    """
    wanted_stems = text_stems(wish.topic)
    scored = [(len(wanted_stems & appointment.stems), appointment) for appointment in correspondence.appointments]
    most = max((score for score, _ in scored), default=0)
    best_appointments = [appointment for score, appointment in scored if score == most and score]
    if len(best_appointments) == 1:
        return best_appointments[0], ""
    return None, f"{len(best_appointments)} appointments may be {wish.topic.strip()}"


def _plan_move(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], now: datetime
) -> DueWish:
    time_text = _TO_TIME.split(wish.clause.removeprefix(wish.topic), maxsplit=1)[-1]
    entry, reason = _find_appointment(wish, correspondence)
    when = find_time(time_text, now)
    if entry is None:
        return DueWish(wish, why=reason)
    start = datetime.combine(when.day or entry.start.date(), when.hour or entry.start.timetz(), entry.start.tzinfo)
    if start == entry.start:
        return DueWish(wish, is_done=True)
    tool = _find_changing_tool(entry.row, writers, ("start", "end"))
    if tool is None:
        return DueWish(wish, why="no tool changes when an appointment is")
    end = start + (_parse_length(wish.quote) or entry.end - entry.start)
    arguments: JsonObject = {
        entry.row.id_field: entry.row.identifier,
        "start": start.isoformat(),
        "end": end.isoformat(),
    }
    return DueWish(wish, ((tool.name, arguments),))


def _find_changing_tool(row: ReadRow, writers: Iterable[ToolSpec], fields: Sequence[str]) -> ToolSpec | None:
    """A tool that changes a row of that kind, and takes these fields besides its identifier; None if there is none."""
    for tool in writers:
        if (
            {*tool.required} <= {row.id_field, *fields}
            and row.id_field in tool.required
            and {*fields} <= {*tool.properties}
        ):
            return tool
    return None


def _parse_length(text: str) -> timedelta | None:
    match = _LENGTH_PATTERN.search(text)
    if match is None:
        return None
    unit = timedelta(hours=1) if match["unit"].lower() == "hour" else timedelta(minutes=1)
    word = match["n"].lower()
    return unit / 2 if word == "half an" else unit * (1 if word in ("a", "an") else read_count(word))


def _plan_appointment(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], now: datetime
) -> DueWish:
    when = find_time(wish.clause, now)
    tool = next((writer for writer in writers if {"title", "start", "end"} <= {*writer.required}), None)
    if tool is None or not when.day or not when.hour:
        return DueWish(wish, why="day and hour are not both said" if tool else "no tool enters appointments")
    title = _appointment_title(wish)
    people = re.findall(r"\bwith\s+(.+?)(?=$|\s+(?:on|at|for|from|in|tomorrow|today)\b|[.;,])", wish.topic)
    if any(re.search(r"\b(?:her|him|them)\b", person) for person in people):
        return DueWish(wish, why=f'whom "{people[0]}" means does not follow from its words')
    start = datetime.combine(when.day, when.hour, now.tzinfo)
    end = start + (_parse_length(wish.quote) or _parse_time_range(wish.clause, when.hour, now) or _ALL_OF_DAY)
    if any(entry.start == start and text_stems(title) <= entry.stems for entry in correspondence.appointments):
        return DueWish(wish, is_done=True)
    arguments: JsonObject = {"title": title, "start": start.isoformat(), "end": end.isoformat()}
    return DueWish(wish, ((tool.name, arguments),))


def _parse_time_range(clause: str, begins: object, now: datetime) -> timedelta | None:
    """The duration that a clause gives as in ``from 11:00 to 11:30``; None unless that begins at ``begins``."""
    match = re.search(r"(?P<a>\d{1,2}[:.]\d\d)\s*(?:to|until|till|-|–)\s*(?P<b>\d{1,2}[:.]\d\d)", clause)
    if match is None:
        return None
    first, last = find_time(match["a"], now).hour, find_time(match["b"], now).hour
    if first is None or last is None or first != begins or last <= first:
        return None
    return datetime.combine(now.date(), last) - datetime.combine(now.date(), first)


def _appointment_title(wish: PersonalWish) -> str:
    """A wish's title for the calendar: its quoted words, else its topic without the time: ``lunch with Ann Lee``."""
    quoted = re.search(r"[\"“'‘](?P<title>[^\"”'’]+)[\"”'’]", wish.topic)
    bare = re.split(r"\s+(?:on|at|for|from|in|into|tomorrow|today|next|this)\b", wish.topic.strip(), maxsplit=1)[0]
    return _capitalize(quoted["title"] if quoted else re.sub(r"^(?:an?|the|my)\s+", "", bare).strip(" ,;"))


def _plan_cancelling(wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec]) -> DueWish:
    entry, reason = _find_appointment(wish, correspondence)
    if entry is None:
        return DueWish(wish, is_done="0 appointments" in reason, why=reason)
    verbs = ("delete", "cancel", "remove")
    named = [
        writer for writer in writers if parts(writer.name)[0] in verbs and writer.required == (entry.row.id_field,)
    ]
    call = (named[0].name, {entry.row.id_field: entry.row.identifier}) if named else None
    return DueWish(wish, (call,)) if call else DueWish(wish, why="no tool takes an appointment out of the calendar")


def _plan_responses(wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec]) -> DueWish:
    """Each open invitation by the clause that speaks of it: what collides, what leaves others alone, or all."""
    invited = [
        appointment
        for appointment in correspondence.appointments
        if appointment.answer and _is_by_person(appointment, wish.source)
    ]
    open_ones = [appointment for appointment in invited if appointment.is_unanswered]
    if not open_ones:
        return DueWish(wish, is_done=bool(invited), why="" if invited else "no invitation is open")
    own = [
        appointment
        for appointment in correspondence.appointments
        if appointment not in open_ones and appointment.answer != "declined"
    ]
    calls: list[Call] = []
    for entry in open_ones:
        response = _answer_to(entry, wish, own)
        tool = _find_answering_tool(entry.row, response, writers) if response else None
        calls += [(tool[0].name, {entry.row.id_field: entry.row.identifier, tool[1]: response})] if tool else []
    return DueWish(wish, tuple(calls), "" if calls else "what to answer does not follow from its words")


def _is_by_person(entry: ReadAppointment, name: str) -> bool:
    return not name or text_stems(name) <= text_stems(re.sub(r"[^A-Za-z]+", " ", entry.organizer))


def _answer_to(entry: ReadAppointment, wish: PersonalWish, own: Iterable[ReadAppointment]) -> str:
    collides = any(entry.overlaps(appointment) for appointment in own)
    for match in _ANSWER_PATTERN.finditer(wish.clause):
        response, objective = _ANSWERS[match["verb"].lower()], match["what"]
        if _TAKEN_PATTERN.search(objective) and not _LEAVES_PATTERN.search(objective):
            if collides:
                return response
        elif _FREE_PATTERN.search(objective) or _LEAVES_PATTERN.search(objective):
            if not collides:
                return response
        elif not text_stems(objective) - text_stems("all every invitation meeting appointment other rest") or (
            text_stems(entry.title) & text_stems(objective)
        ):
            return response
    return ""


def _find_answering_tool(row: ReadRow, response: str, writers: Iterable[ToolSpec]) -> tuple[ToolSpec, str] | None:
    """The tool that answers an invitation, and its field for the answer, whose ``enum`` contains it; None if there is
    none.
    """
    for tool in writers:
        for name in tool.required:
            listed = tool.properties[name].get("enum")
            if row.id_field in tool.required and isinstance(listed, list) and response in listed:
                return tool, name
    return None
