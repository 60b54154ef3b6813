"""Carries out standing instructions, such as "archive newsletters", on the rows that were read, and tells the user
of them.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from services.planner.core.mentions import MentionKind, find_of_kind
from services.planner.core.request import Call, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.spoken_times import SENTENCE_END, find_end_time, find_interval
from services.planner.core.tending_rules import StandingRule, TendingStep, find_standing_rules
from services.planner.core.words import concept, family, is_identifier, parts, stem, stems, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject

_AT_PATTERN = re.compile(r"\b(?:to|into|as|under|in)\s+(?:the\s+)?(?P<word>\w[\w-]*)", re.I)
_PRONOUN_WORDS = frozenset("it them that this the my".split())
_READ_TEXT = 4_000  # characters of one row
REPLYING_VERBS = ("reply", "answer", "respond")


class ReadRow(NamedTuple):
    """One row of a list that was read. ``id_field``: the field that identifies it; ``noun``: what its tool calls it."""

    id_field: str
    fields: JsonObject
    noun: frozenset[str]
    ref: str

    @property
    def identifier(self) -> Json:
        return self.fields[self.id_field]

    @property
    def text(self) -> str:
        words = [str(value) for value in self.fields.values() if isinstance(value, str)]
        return " ".join(words)[:_READ_TEXT].casefold()

    @property
    def sender(self) -> str:
        return " ".join(str(value) for name, value in self.fields.items() if "from" in parts(name)).casefold()


class DueCall(NamedTuple):
    """A call, and the words of the task that ask for it; those of its tool's name, if they are not known."""

    call: Call
    clause: str


class TendedRows(NamedTuple):
    """The ``calls`` that carry out standing instructions. ``undone``: what an instruction asks and no tool does."""

    calls: tuple[DueCall, ...] = ()
    undone: tuple[str, ...] = ()


def tend_rows(situation: Situation, writers: Sequence[ToolSpec]) -> TendedRows:
    """The calls that each row's standing instruction asks for. If several instructions match a row, there are none,
    unless one protects it.
    """
    rules = find_standing_rules(situation.text)
    calls = list[DueCall]()
    not_done = list[str]()
    for row in _rows_arrived(situation):
        rules_of_row = [rule for rule in rules if _speaks_of(rule, row)]
        guarding = [rule for rule in rules_of_row if rule.guards]
        chosen = guarding[:1] or (rules_of_row if len(rules_of_row) == 1 else [])
        if len(rules_of_row) > 1 and not chosen:
            not_done.append(f"{row.identifier}: more than one instruction speaks of it")
        for rule in chosen:
            for step in rule.steps:
                call, reason = _step_call(step, row, writers)
                calls += [DueCall(call, rule.piece)] if call else []
                not_done += [reason] if reason else []
    return TendedRows(tuple(calls), tuple(dict.fromkeys(not_done)))


def rows_of(situation: Situation) -> Iterator[ReadRow]:
    """The rows of every list that was read, each once by its identifier."""
    seen_ids: set[str] = set()
    for fact in situation.facts:
        noun = tuple(stem(word) for word in parts(fact.tool)[1:])
        for name, rows in _find_lists(fact.result):
            key = _find_key_field(rows, noun)
            for index, row in enumerate(rows):
                if key in row and f"{key} {row[key]}" not in seen_ids:
                    seen_ids.add(f"{key} {row[key]}")
                    yield ReadRow(key, row, frozenset(noun), f"{fact.ref}.{name}[{index}].{key}")


def _find_lists(result: Json) -> Iterator[tuple[str, list[JsonObject]]]:
    for name, value in result.items() if isinstance(result, dict) else ():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            yield name, [row for row in value if isinstance(row, dict)]


def _find_key_field(rows: Sequence[JsonObject], noun: tuple[str, ...]) -> str:
    """The field that tells the rows apart: one that differs in all of them, best one that is called as they are."""
    names = {name for row in rows for name, value in row.items() if is_identifier(name) and isinstance(value, str)}

    def rank_name(name: str) -> tuple[bool, bool]:
        differs = len({str(row.get(name)) for row in rows}) == len(rows)
        return differs, concept(name, frozenset()) <= {*noun[-1:]}

    return max(sorted(names), key=rank_name, default="")


def _rows_arrived(situation: Situation) -> list[ReadRow]:
    """The received rows that are still in the inbox, without the user's own messages."""
    rows = [row for row in rows_of(situation) if row.sender]
    return [row for row in rows if row.fields.get("folder") in ("inbox", None) and not _is_own(row)]


def _is_own(row: ReadRow) -> bool:
    return row.fields.get("direction") == "outgoing" or row.fields.get("role") == "assistant"


def _speaks_of(rule: StandingRule, row: ReadRow) -> bool:
    if rule.sender and not all(word in row.sender for word in text_words(rule.sender)):
        return False
    said = [sign for sign in rule.signs if re.search(rf"\b{re.escape(sign.casefold())}", row.text)]
    return not rule.signs or any(not rule.is_strict or _is_thing_itself(sign, row.text) for sign in said)


def _is_thing_itself(sign: str, text: str) -> bool:
    """Whether a text is itself a thing of that noun, such as an invoice, and does not only speak of one: the noun has a
    number, or stands behind ``our`` or ``attached``.
    """
    noun = re.escape(sign.casefold())
    numbered = rf"\b{noun}\s+(?:no\.?|number|nr\.?|#)?\s*[a-z]{{0,4}}-?\d"
    return re.search(rf"{numbered}|\b(?:our|attached|enclosed)\s+{noun}\b", text) is not None


def _step_call(step: TendingStep, row: ReadRow, writers: Sequence[ToolSpec]) -> tuple[Call | None, str]:
    """The call that does a step to a row, and an empty text; or None, and why there is none.

    The reason is empty, too, if the step is done already.
    """
    suiting = [tool for tool in writers if _fits_step(tool, step, row)]
    if not suiting:
        return None, f'no tool does "{step.clause}"'
    tool = max(suiting, key=lambda one: (len(_state_words(one, row) & text_stems(step.clause)), -len(parts(one.name))))
    arguments: JsonObject = {row.id_field: row.identifier}
    for name in tool.required:
        if name != row.id_field:
            value = _named_value(step)
            if value is None:
                return None, f'"{step.clause}" does not say which {name}'
            arguments[name] = value
    if _is_done(tool, arguments, row):
        return None, ""
    return (tool.name, arguments), ""


def _fits_step(tool: ToolSpec, step: TendingStep, row: ReadRow) -> bool:
    """Whether a tool does the step to the row: it has the step's verb, needs the row's identifier and at most one more
    argument, and its name has no other words.
    """
    is_same_verb = stem(parts(tool.name)[0]) == stem(step.verb)
    is_of_row = row.id_field in tool.required and len(tool.required) <= 2
    return is_same_verb and is_of_row and _state_words(tool, row) <= text_stems(step.clause)


def _state_words(tool: ToolSpec, row: ReadRow) -> frozenset[str]:
    """The stems in a tool's name beside its verb and the row's noun: ``read`` of ``mark_mail_read``."""
    return frozenset(stem(word) for word in parts(tool.name)[1:]) - row.noun


def _named_value(step: TendingStep) -> str | None:
    """The value that a step gives: in quotation marks, or after ``to``, ``as`` or ``under``; None if there is none."""
    if quoted := find_of_kind(step.clause, MentionKind.QUOTE):
        return quoted[0].value
    named = [match["word"] for match in _AT_PATTERN.finditer(step.clause)]
    return next((word for word in reversed(named) if word.lower() not in _PRONOUN_WORDS), None)


def _is_done(tool: ToolSpec, arguments: JsonObject, row: ReadRow) -> bool:
    verb = stem(parts(tool.name)[0])
    values = [value for name, value in arguments.items() if name != row.id_field]
    for name, held in row.fields.items():
        has_value = any(value == held or (isinstance(held, list) and value in held) for value in values)
        is_flagged = held is True and verb in stems(parts(name))
        if has_value or is_flagged or (isinstance(held, str) and not values and stem(held) == verb):
            return True
    return False


_ME_PATTERN = re.compile(r"\b(?:tell|let) me\b(?P<what>.+)", re.I | re.S)
_WAITING_PATTERN = re.compile(r"\bwhich\b.*\b(?:wait|waits|waiting|need|needs|open|left)\b", re.I | re.S)
_AT_THE_END = re.compile(r"\b(?:afternoon|evening|at the end|in the end|finally|nothing more|before I)\b", re.I)
_CONDITION_PATTERN = re.compile(
    r"\b(?:if|unless|once|as soon as|when (?:all|everybody|everyone|it|he|she|they))\b", re.I
)


def telling_calls(
    situation: Situation, writers: Sequence[ToolSpec], now: datetime, tended: Sequence[DueCall]
) -> TendedRows:
    """The calls that tell the user what they asked for, such as when something is that somebody asks for, and sentences
    on what cannot be told. ``tended``: the calls that the plan has already.
    """
    sentences = [*map(str.strip, SENTENCE_END.split(situation.text))]
    asked = [(one, wish["what"]) for one in sentences if (wish := _ME_PATTERN.search(one))]
    told = [_message_to_user(one, what, situation, writers, now, tended) for one, what in asked]
    calls = (DueCall(call, " ".join(parts(call[0]))) for call, _ in told if call)
    return TendedRows(tuple(calls), tuple(why for _, why in told if why))


def _message_to_user(
    sentence: str,
    topic: str,
    situation: Situation,
    writers: Sequence[ToolSpec],
    now: datetime,
    tended: Sequence[DueCall],
) -> tuple[Call | None, str]:
    """The call that tells the user what a sentence asks, and an empty text; or None, and why there is none: that is
    empty, too, if it is told later or already.
    """
    if _CONDITION_PATTERN.search(sentence) or not _WAITING_PATTERN.search(topic):
        return None, f'"{sentence}" is not for rules alone to say'
    if _AT_THE_END.search(sentence) and not _is_last_turn(situation.text, now):
        return None, ""
    tool = next((writer for writer in writers if _is_plain_messenger(writer, sentence)), None)
    if tool is None:
        return None, f'no tool does "{sentence}"'
    waiting = [_row_title(row) for row in rows_of(situation) if row.sender and _is_starred(row, tended)]
    words = f"These wait for you: {'; '.join(waiting)}." if waiting else "Nothing waits for you."
    is_told = any(words in row.fields.values() for row in rows_of(situation))
    return (None if is_told else (tool.name, {tool.required[0]: words})), ""


def _is_last_turn(text: str, now: datetime) -> bool:
    until = find_end_time(text, now)
    return now.hour >= 12 if until is None else now + (find_interval(text) or timedelta(hours=1)) >= until


def _is_plain_messenger(tool: ToolSpec, sentence: str) -> bool:
    """Whether a tool sends a text, needs nothing but the text, and has a word of the sentence in its name."""
    verb = parts(tool.name)[0]
    is_sending = family(verb) == "send" or verb in REPLYING_VERBS
    return is_sending and len(tool.required) == 1 and not text_stems(sentence).isdisjoint(stems(parts(tool.name)))


def _is_starred(row: ReadRow, tended: Sequence[DueCall]) -> bool:
    """Whether a row is starred or flagged, now or by this plan."""
    if any(row.fields.get(name) is True for name in ("is_starred", "starred", "is_flagged", "flagged")):
        return True
    marking = [arguments for (name, arguments), _ in tended if parts(name)[0] in ("star", "flag")]
    return any(row.identifier in arguments.values() for arguments in marking)


def _row_title(row: ReadRow) -> str:
    titles = (row.fields.get(name) for name in ("subject", "title", "body"))
    title = next(filter(None, titles), row.identifier)
    return f"{title} (from {row.fields.get('from_address') or row.sender})"
