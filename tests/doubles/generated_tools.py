"""Tool worlds generated from a seed: nouns, naming styles and result shapes that nobody wrote code for.

A world has a state, tools with real effects on it, one task and a check of the end.
"""

from decimal import Decimal

from shared.domain.exact_json import Json, JsonObject, dumps, loads
from tests.doubles.generated_scene import Scene
from tests.doubles.generated_tasks import make_task


class World(Scene):
    """One generated world and what is to be done in it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.task = make_task(self, seed)

    def problems(self, answer: str) -> list[str]:
        """In what the end differs from what the task asked; empty if it was carried out exactly, once."""
        found = [] if len(self.writes) == self.task.writes else [f"{len(self.writes)} writes"]
        for noun, expected in self.task.expected.items():
            own = self.id_field(noun)
            if _comparable(self.state[noun], own) != _comparable(expected, own):
                found.append(f"the {noun}s are not as asked")
        if self.task.answer is not None and not _is_list(answer, self.task.answer):
            found.append(f"the answer is {answer[:80]}")
        return found


def _is_list(answer: str, wanted: tuple[str, ...]) -> bool:
    """Whether an answer is one JSON list of these, in any order, none twice."""
    try:
        given = loads(answer)
    except ValueError:
        return False
    return isinstance(given, list) and sorted(map(str, given)) == sorted(wanted)


def _comparable(rows: dict[str, JsonObject], id_field: str) -> list[str]:
    """Rows without their own identifiers, which a write invents; figures by value."""
    kept = [{key: _figure(value) for key, value in row.items() if key != id_field} for row in rows.values()]
    return sorted(dumps(row) for row in kept)


def _figure(value: Json) -> Json:
    return Decimal(str(value)).normalize() if isinstance(value, Decimal | int) else value
