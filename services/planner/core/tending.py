"""Carries out standing instructions, such as "archive newsletters", on the rows that were read."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.planner.core.mentions import MentionKind, find_mentions
from services.planner.core.request import Call, ToolSpec
from services.planner.core.situation import Situation
from services.planner.core.tending_rules import StandingRule, TendingStep, find_standing_rules
from services.planner.core.words import concept, family, is_identifier, parts, stem, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject

_AT_PATTERN = re.compile(r"\b(?:to|into|as|under|in)\s+(?:the\s+)?(?P<word>\w[\w-]*)", re.I)
_PRONOUN_WORDS = frozenset("it them that this the my".split())
_READ_TEXT = 4_000  # characters of one row


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


class TendedRows(NamedTuple):
    """The ``calls`` that carry out standing instructions. ``undone``: what an instruction asks and no tool does.

    ``clauses``: the words of the instruction for each call, as far as they are known.
    """

    calls: tuple[Call, ...] = ()
    undone: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()


def tend_rows(situation: Situation, writers: Sequence[ToolSpec]) -> TendedRows:
    """The calls that each row's standing instruction asks for. If several instructions match a row, there are none,
    unless one protects it.
    """
    rules, calls, not_done, clauses = find_standing_rules(situation.text), list[Call](), list[str](), list[str]()
    for row in _rows_arrived(situation):
        rules_of_row = [rule for rule in rules if _speaks_of(rule, row)]
        guarding = [rule for rule in rules_of_row if rule.guards]
        chosen = guarding[:1] or (rules_of_row if len(rules_of_row) == 1 else [])
        if len(rules_of_row) > 1 and not chosen:
            not_done.append(f"{row.identifier}: more than one instruction speaks of it")
        for rule in chosen:
            for step in rule.steps:
                call, reason = _step_call(step, row, writers)
                calls += [call] if call else []
                clauses += [rule.piece] if call else []
                not_done += [reason] if reason else []
    return TendedRows(tuple(calls), tuple(dict.fromkeys(not_done)), tuple(clauses))


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
    names = sorted(
        {name for row in rows for name, value in row.items() if is_identifier(name) and isinstance(value, str)}
    )
    ranked_names = [
        (
            len({str(row.get(name)) for row in rows}) == len(rows),
            concept(name, frozenset()) <= {*noun[-1:]},
            -index,
            name,
        )
        for index, name in enumerate(names)
    ]
    return max(ranked_names)[3] if ranked_names else ""


def _rows_arrived(situation: Situation) -> list[ReadRow]:
    """The received rows that are still in the inbox, without the user's own messages."""
    rows = [row for row in rows_of(situation) if row.sender]
    return [row for row in rows if row.fields.get("folder") in ("inbox", None) and not _is_own(row)]


def _is_own(row: ReadRow) -> bool:
    return row.fields.get("direction") == "outgoing" or row.fields.get("role") == "assistant"


def _speaks_of(rule: StandingRule, row: ReadRow) -> bool:
    if rule.sender and not all(word in row.sender for word in text_words(rule.sender)):
        return False
    return not rule.signs or any(
        (_is_thing_itself if rule.is_strict else _has_sign)(sign, row.text) for sign in rule.signs
    )


def _has_sign(sign: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(sign.casefold())}", text) is not None


def _is_thing_itself(sign: str, text: str) -> bool:
    """Whether a text is itself a thing of that noun, such as an invoice, and does not only speak of one: the noun has a
    number, or stands behind ``our`` or ``attached``.
    """
    noun = re.escape(sign.casefold())
    return (
        re.search(
            rf"\b{noun}\s+(?:no\.?|number|nr\.?|#)?\s*[a-z]{{0,4}}-?\d|\b(?:our|attached|enclosed)\s+{noun}\b", text
        )
        is not None
    )


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
    verb, clause_stems = parts(tool.name)[0], text_stems(step.clause)
    same = stem(verb) == stem(step.verb)
    if not same or row.id_field not in tool.required or len(tool.required) > 2:
        return False
    return _state_words(tool, row) <= clause_stems


def _state_words(tool: ToolSpec, row: ReadRow) -> frozenset[str]:
    """The stems in a tool's name beside its verb and the row's noun: ``read`` of ``mark_mail_read``."""
    return frozenset(stem(word) for word in parts(tool.name)[1:]) - row.noun


def _named_value(step: TendingStep) -> str | None:
    """The value that a step gives: in quotation marks, or after ``to``, ``as`` or ``under``; None if there is none."""
    quoted = [mention.value for mention in find_mentions(step.clause) if mention.kind is MentionKind.QUOTE]
    if quoted:
        return quoted[0]
    named = [
        match["word"] for match in _AT_PATTERN.finditer(step.clause) if match["word"].lower() not in _PRONOUN_WORDS
    ]
    return named[-1] if named else None


def _is_done(tool: ToolSpec, arguments: JsonObject, row: ReadRow) -> bool:
    verb = stem(parts(tool.name)[0])
    values = [value for name, value in arguments.items() if name != row.id_field]
    for name, field_value in row.fields.items():
        if isinstance(field_value, list) and any(value in field_value for value in values):
            return True
        if field_value is True and verb in {stem(part) for part in parts(name)}:
            return True
        if any(value == field_value for value in values) or (
            isinstance(field_value, str) and not values and stem(field_value) == verb
        ):
            return True
    return False


def tells_somebody(tool: ToolSpec) -> bool:
    """Whether a tool sends something to a person."""
    return family(parts(tool.name)[0]) == "send" or parts(tool.name)[0] in ("reply", "answer", "respond")
