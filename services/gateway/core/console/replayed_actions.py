"""What an agent did in a turn, one row after another; reads that follow each other are one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.core.console.shown_values import NOTHING, shown
from services.gateway.core.console.words import Badge, counted, title_of
from shared.contracts.assessment.base import JsonObject
from shared.contracts.assessment.results import ActionLogEntry

_GIST = 120
_READ = Badge("Read", "mute")
_TELLING = ("subject", "title", "body", "content", "body_text")
_AS_WELL = ("folder", "labels", "response")


class ActionRow(NamedTuple):
    """``gist``: what of it tells most, such as a mail's subject; of several reads what was read how often."""

    title: str
    gist: str
    badge: Badge
    said: tuple[tuple[str, str], ...] = ()
    error: str = ""


def action_rows(entries: Sequence[ActionLogEntry], titles: Mapping[str, str]) -> tuple[ActionRow, ...]:
    """``titles``: what rows of the world are called, by their ids."""
    rows: list[ActionRow] = []
    for are_reads, group in groupby(entries, _is_read):
        found = [*group]
        rows += [_reads(found)] if are_reads else [_action(entry, titles) for entry in found]
    return tuple(rows)


def _is_read(entry: ActionLogEntry) -> bool:
    return entry.kind == "read" and entry.success


def _reads(entries: Sequence[ActionLogEntry]) -> ActionRow:
    if len(entries) == 1:
        return ActionRow(_title(entries[0]), "", _READ)
    found = Counter(_title(entry) for entry in entries)
    gist = ", ".join(f"{name} × {count}" if count > 1 else name for name, count in found.items())
    return ActionRow(counted(len(entries), "read"), gist, _READ)


def _action(entry: ActionLogEntry, titles: Mapping[str, str]) -> ActionRow:
    said = tuple((name, text) for name, value in entry.parameters.items() if (text := shown(value)) != NOTHING)
    return ActionRow(_title(entry), _gist(entry.parameters, titles), _badge(entry), said, entry.error_message or "")


def _title(entry: ActionLogEntry) -> str:
    modality, _, operation = entry.action.partition(".")
    return f"{title_of(modality)}: {title_of(operation).lower()}"


def _gist(said: JsonObject, titles: Mapping[str, str]) -> str:
    told = [value for name in _TELLING if isinstance(value := said.get(name), str) and value][:1]
    named = told or list(_named(said, titles))
    more = [text for name in _AS_WELL if (text := shown(said.get(name))) != NOTHING]
    line = " ".join(" · ".join([*named, *more]).split())
    return line if len(line) <= _GIST else f"{line[:_GIST]}…"


def _named(said: JsonObject, titles: Mapping[str, str]) -> Iterator[str]:
    """What the rows are called whose ids were said; an id where nobody told that."""
    for name, value in said.items():
        if name.endswith(("_id", "_ids")):
            ids: list[JsonValue] = value if isinstance(value, list) else [value]
            yield from (titles.get(one, one) for one in ids if isinstance(one, str) and one)


def _badge(entry: ActionLogEntry) -> Badge:
    if entry.kind == "refused":
        return Badge("Refused", "bad")
    if not entry.success:
        return Badge("Failed", "bad")
    return _READ if entry.kind == "read" else Badge("Done", "good")
