"""How the world stands after each turn, and what has changed in it since the last look."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import JsonValue

from services.assessor.core.differences import Difference, differences, tables_of
from services.assessor.core.summary import read_all_states
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.messages import JsonObject
from shared.contracts.assessment.results import WorldAfterTurn, WorldChange

State: TypeAlias = Mapping[str, JsonValue]
By: TypeAlias = Literal["participant", "others"]

MOST_CHANGES = 60  # of one turn; what a page can show, and a bound to what is kept
_MOST_CHARACTERS = 160
_NAMES = ("subject", "title", "name", "body", "body_text", "content", "named_location")
_NOT_COUNTED = "update_count"
_FOLLOWING = frozenset({"conversations", "calendars"})  # tables whose rows change when others do


class WorldWatch:
    """Records the world's changes after each look. Call ``begin`` before the first turn, then ``record_changes`` any
    number of times; the changes of one turn are merged.
    """

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._last: State = {}
        self._looks: dict[int, WorldAfterTurn] = {}

    @property
    def looks(self) -> tuple[WorldAfterTurn, ...]:
        return tuple(self._looks[turn] for turn in sorted(self._looks))

    async def begin(self) -> State:
        """Takes the first look, and returns the state of the world."""
        self._last = await read_all_states(self._world)
        self._looks[0] = WorldAfterTurn(turn=0, time=_time_of(self._last), counts=_counts_by_modality(self._last))
        return self._last

    async def record_changes(self, turn: int, by: By) -> None:
        """Records the changes since the last look as made by ``by`` in that turn."""
        now = await read_all_states(self._world)
        looks_of_turn = self._looks.get(turn)
        earlier = looks_of_turn.changes if looks_of_turn else ()
        changes, left_out = changes_between(self._last, now, by, MOST_CHANGES - len(earlier))
        self._looks[turn] = WorldAfterTurn(
            turn=turn,
            time=_time_of(now),
            counts=_counts_by_modality(now),
            changes=(*earlier, *changes),
            left_out=(looks_of_turn.left_out if looks_of_turn else 0) + left_out,
        )
        self._last = now


def changes_between(before: State, after: State, by: By, most: int) -> tuple[Sequence[WorldChange], int]:
    """The first ``most`` changes, and how many there are besides."""
    found = [difference for difference in differences(before, after) if difference.table not in _FOLLOWING]
    return [_build_change(difference, before, after, by) for difference in found[:most]], len(found[most:])


def _build_change(difference: Difference, before: State, after: State, by: By) -> WorldChange:
    old, new = _find_row(before, difference), _find_row(after, difference)
    return WorldChange(
        by=by,
        kind=difference.kind,
        modality=difference.modality,
        table=difference.table,
        key=difference.key,
        title=_row_title(new or old),
        before={name: _shorten_value(old.get(name)) for name in difference.fields},
        after={name: _shorten_value(new.get(name)) for name in difference.fields},
    )


def _find_row(state: State, difference: Difference) -> JsonObject:
    return tables_of(state.get(difference.modality)).get(difference.table, {}).get(difference.key, {})


def _row_title(row: JsonObject) -> str:
    """A short name of a row for people: its subject or title, or the beginning of its text."""
    title = next((row[name] for name in _NAMES if row.get(name)), "")
    return _cut_text(" ".join(str(title).split()))


def _shorten_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _cut_text(value)
    if not isinstance(value, dict | list):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _MOST_CHARACTERS else _cut_text(text)


def _cut_text(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _counts_by_modality(state: State) -> dict[str, dict[str, int]]:
    """By modality, what the simulator itself counts there."""
    counts = {
        name: _stated_counts(modality_state)
        for name, modality_state in state.items()
        if isinstance(modality_state, dict)
    }
    return {name: numbers for name, numbers in sorted(counts.items()) if numbers}


def _stated_counts(state: JsonObject) -> dict[str, int]:
    named = {name: value for name, value in state.items() if name.endswith("_count") and name != _NOT_COUNTED}
    return {name: value for name, value in named.items() if isinstance(value, int)}


def _time_of(state: State) -> datetime:
    time = state["time"]
    return datetime.fromisoformat(str(time["current_time"] if isinstance(time, dict) else time))
