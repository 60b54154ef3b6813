"""A user's wishes carried out on messages and appointments that were read: the calls that are due, and what is left."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from services.planner.core.correspondence import Correspondence, ReadAppointment, ReadMessage, read_correspondence
from services.planner.core.phrases import ANY_NUMBER
from services.planner.core.request import Call, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.spoken_times import find_time, read_count
from services.planner.core.tending import REPLYING_VERBS, ReadRow
from services.planner.core.wanted_facts import FoundFact, find_fact, is_from, list_most, said_topic
from services.planner.core.wishes import PersonalWish, WishKind
from services.planner.core.words import nouns, parts, text_stems
from shared.domain.exact_json import Json, JsonObject

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
    return _PLANNERS[wish.kind](wish, correspondence, writers, now)


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
    theirs = [one for one in correspondence.incoming if name and _is_by(one, name)]
    theirs = [message for message in theirs if wish.by_mail in (None, message.by_mail)]
    about = [message for message in theirs if wish.topic_stems & message.stems]
    return _find_latest_of_one_sender(about) if _is_answer(wish) else None, _find_latest_of_one_sender(theirs)


def _find_latest_of_one_sender(messages: Sequence[ReadMessage]) -> ReadMessage | None:
    is_one = len({message.sender for message in messages}) == 1
    return max(messages, key=lambda message: message.sent_at) if is_one else None


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
    if not addresses:
        return "", f"no {kind} of {name} is known"
    return "", f"several {kinds} may be {name}'s: {', '.join(sorted(addresses))}"


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
    row = question.row
    for tool in (one for one in writers if parts(one.name)[0] in REPLYING_VERBS and nouns(one.name) & row.noun):
        words = [name for name in tool.required if name != row.id_field and _is_text_field(name)]
        if words and {*tool.required} == {row.id_field, words[0]}:
            return tool.name, {row.id_field: row.identifier, words[0]: body}
    return None


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
        subjects: JsonObject = {name: subject for name in tool.required if "subject" in parts(name)}
        if {*tool.required} == {to[0], words[0], *subjects}:
            return tool.name, {to[0]: _as_recipient(address, tool, to[0]), **subjects, words[0]: body}
    return None


def _takes_mail(tool: ToolSpec, field: str) -> bool:
    word_stems = text_stems(f"{field.replace('_', ' ')} {' '.join(parts(tool.name))} {tool.description}")
    return bool(word_stems & text_stems("email mail address")) and not word_stems & text_stems("sms telephone phone")


def _plan_forwarding(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], _now: datetime
) -> DueWish:
    address, reason = _find_address(wish, correspondence, None, by_mail=True)
    if not address:
        return DueWish(wish, why=reason)
    mails = [mail for mail in correspondence.incoming if mail.by_mail]
    mails = [mail for mail in mails if (is_from(mail, wish.source) if wish.source else wish.topic_stems & mail.stems)]
    best = list_most(mails, lambda mail: (len(wish.topic_stems & mail.stems),))
    if len(best) != 1:
        return DueWish(wish, why=f"{len(best)} mails may be the one that is to be forwarded")
    mail = best[0]
    own = [message for message in correspondence.messages if message.own and address in message.to]
    if any(mail.body.strip() in message.body for message in own):
        return DueWish(wish, is_done=True)
    body, subject = f"Forwarded from {mail.sender}:\n\n{mail.body}", f"Fwd: {mail.subject}"
    call = _forward_call(mail, address, writers) or _send_call(address, subject, body, writers, by_mail=True)
    return DueWish(wish, (call,)) if call else DueWish(wish, why="no tool forwards mail")


def _forward_call(mail: ReadMessage, address: str, writers: Sequence[ToolSpec]) -> Call | None:
    for tool in writers:
        to = [name for name in tool.required if parts(name)[0] == "to"]
        if parts(tool.name)[0] == "forward" and len(to) == 1 and {*tool.required} == {mail.row.id_field, to[0]}:
            return tool.name, {mail.row.id_field: mail.row.identifier, to[0]: _as_recipient(address, tool, to[0])}
    return None


def _as_recipient(address: str, tool: ToolSpec, field: str) -> Json:
    """The address as a tool's field takes it: alone, or as a list of one."""
    return [address] if tool.properties[field].get("type") == "array" else address


def _find_appointment(wish: PersonalWish, correspondence: Correspondence) -> tuple[ReadAppointment | None, str]:
    """The one appointment that the words of a wish are most about, people's names among them, and an empty text.

    Or None, and why there is not just one.
    """
    wanted_stems = text_stems(wish.topic)
    about = [entry for entry in correspondence.appointments if wanted_stems & entry.stems]
    best = list_most(about, lambda entry: (len(wanted_stems & entry.stems),))
    return (best[0], "") if len(best) == 1 else (None, f"{len(best)} appointments may be {wish.topic.strip()}")


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
    id_field, times_taken = entry.row.id_field, {"start", "end"}
    moving = [one for one in writers if id_field in one.required and times_taken <= {*one.properties}]
    tool = next((one for one in moving if {*one.required} <= {id_field, *times_taken}), None)
    if tool is None:
        return DueWish(wish, why="no tool changes when an appointment is")
    end = start + (_parse_length(wish.quote) or entry.end - entry.start)
    times: JsonObject = {"start": start.isoformat(), "end": end.isoformat()}
    return DueWish(wish, ((tool.name, {entry.row.id_field: entry.row.identifier, **times}),))


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


def _plan_cancelling(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], _now: datetime
) -> DueWish:
    entry, reason = _find_appointment(wish, correspondence)
    if entry is None:
        return DueWish(wish, is_done="0 appointments" in reason, why=reason)
    removing = [tool for tool in writers if parts(tool.name)[0] in ("delete", "cancel", "remove")]
    for tool in removing:
        if tool.required == (entry.row.id_field,):
            return DueWish(wish, ((tool.name, {entry.row.id_field: entry.row.identifier}),))
    return DueWish(wish, why="no tool takes an appointment out of the calendar")


def _plan_responses(
    wish: PersonalWish, correspondence: Correspondence, writers: Sequence[ToolSpec], _now: datetime
) -> DueWish:
    """Each open invitation by the clause that speaks of it: what collides, what leaves others alone, or all."""
    entries = correspondence.appointments
    invited = [entry for entry in entries if entry.answer and _is_by_person(entry, wish.source)]
    open_ones = [entry for entry in invited if entry.is_unanswered]
    if not open_ones:
        return DueWish(wish, is_done=bool(invited), why="" if invited else "no invitation is open")
    own = [entry for entry in entries if entry not in open_ones and entry.answer != "declined"]
    answers = ((entry.row, _answer_to(entry, wish, own)) for entry in open_ones)
    calls = (_answer_call(row, response, writers) for row, response in answers if response)
    due = tuple(call for call in calls if call)
    return DueWish(wish, due, "" if due else "what to answer does not follow from its words")


_PLANNERS: Mapping[WishKind, Callable[[PersonalWish, Correspondence, Sequence[ToolSpec], datetime], DueWish]] = {
    WishKind.TELL: _plan_telling,
    WishKind.FORWARD: _plan_forwarding,
    WishKind.MOVE: _plan_move,
    WishKind.CREATE: _plan_appointment,
    WishKind.CANCEL: _plan_cancelling,
    WishKind.RESPOND: _plan_responses,
}


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


def _answer_call(row: ReadRow, response: str, writers: Iterable[ToolSpec]) -> Call | None:
    """The call of a tool that answers an invitation and has a field whose ``enum`` contains the answer; None if there
    is none.
    """
    for tool in (one for one in writers if row.id_field in one.required):
        for name in tool.required:
            listed = tool.properties[name].get("enum")
            if isinstance(listed, list) and response in listed:
                return tool.name, {row.id_field: row.identifier, name: response}
    return None
