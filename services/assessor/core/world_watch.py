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
_LONGEST = 160
_NAMES = ("subject", "title", "name", "body", "body_text", "content", "named_location")
_NOT_COUNTED = "update_count"
_FOLLOWING = frozenset({"conversations", "calendars"})  # tables whose rows change when others do


class WorldWatch:
    """``begin`` before the first turn, ``record_changes`` as often as wanted; those of one turn are one in the end."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._last: State = {}
        self._looks: dict[int, WorldAfterTurn] = {}

    @property
    def looks(self) -> tuple[WorldAfterTurn, ...]:
        return tuple(self._looks[turn] for turn in sorted(self._looks))

    async def begin(self) -> State:
        """The world as it then is."""
        self._last = await read_all_states(self._world)
        self._looks[0] = WorldAfterTurn(turn=0, time=_time_of(self._last), counts=_counts_by_modality(self._last))
        return self._last

    async def record_changes(self, turn: int, by: By) -> None:
        """What differs from the last look is told as done by them, in that turn."""
        now = await read_all_states(self._world)
        known = self._looks.get(turn)
        changes = (*(known.changes if known else ()), *changes_between(self._last, now, by))
        self._looks[turn] = WorldAfterTurn(
            turn=turn,
            time=_time_of(now),
            counts=_counts_by_modality(now),
            changes=changes[:MOST_CHANGES],
            left_out=(known.left_out if known else 0) + max(0, len(changes) - MOST_CHANGES),
        )
        self._last = now


def changes_between(before: State, after: State, by: By) -> Sequence[WorldChange]:
    return [_build_change(one, before, after, by) for one in differences(before, after) if one.table not in _FOLLOWING]


def _build_change(one: Difference, before: State, after: State, by: By) -> WorldChange:
    old, new = _find_row(before, one), _find_row(after, one)
    return WorldChange(
        by=by,
        kind=one.kind,
        modality=one.modality,
        table=one.table,
        key=one.key,
        title=_row_title(new or old),
        before={name: _shorten_value(old.get(name)) for name in one.fields},
        after={name: _shorten_value(new.get(name)) for name in one.fields},
    )


def _find_row(state: State, one: Difference) -> JsonObject:
    return tables_of(state.get(one.modality)).get(one.table, {}).get(one.key, {})


def _row_title(row: JsonObject) -> str:
    """What people call it: its subject, its title, or how it begins."""
    said = next((row[name] for name in _NAMES if row.get(name)), "")
    return _cut_text(" ".join(str(said).split()))


def _shorten_value(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return _cut_text(value)
    if not isinstance(value, dict | list):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _LONGEST else _cut_text(text)


def _cut_text(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _counts_by_modality(state: State) -> dict[str, dict[str, int]]:
    """By modality, what the simulator itself counts there."""
    found = {name: _stated_counts(shown) for name, shown in state.items() if isinstance(shown, dict)}
    return {name: numbers for name, numbers in sorted(found.items()) if numbers}


def _stated_counts(shown: JsonObject) -> dict[str, int]:
    named = {name: value for name, value in shown.items() if name.endswith("_count") and name != _NOT_COUNTED}
    return {name: value for name, value in named.items() if isinstance(value, int)}


def _time_of(state: State) -> datetime:
    time = state["time"]
    return datetime.fromisoformat(str(time["current_time"] if isinstance(time, dict) else time))
