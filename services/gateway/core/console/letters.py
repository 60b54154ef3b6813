"""Dead letters as an operator looks at them: what was given up, why, and what putting it back would do."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from services.gateway.core.console.words import Badge, counted
from services.gateway.ports.dead_letters import DeadLetter, LetterKind
from shared.contracts.dead_letter import DeadTurn

_KINDS = {
    LetterKind.TURN: Badge("Task given up", "bad"),
    LetterKind.OUTCOME: Badge("Not learned from", "warn"),
}
_AGAIN = {
    LetterKind.TURN: "Begin its task anew",
    LetterKind.OUTCOME: "Hand it to the learner again",
}


class LetterRow(NamedTuple):
    """``writes``: what the task made, or may have made, and would make once more. ``again`` is the button's word."""

    letter_id: str
    kind: Badge
    title: str
    why: str
    error: str
    tries: str
    task_id: str
    at: datetime
    writes: tuple[str, ...]
    again: str


def letter_rows(letters: Sequence[DeadLetter]) -> tuple[LetterRow, ...]:
    return tuple(_row(letter) for letter in letters)


def _row(letter: DeadLetter) -> LetterRow:
    dead = _turn(letter)
    return LetterRow(
        letter_id=letter.letter_id,
        kind=_KINDS[letter.kind],
        title=dead.request.text if dead else letter.task_id or "A letter that cannot be read",
        why=letter.reason,
        error=letter.error,
        tries=f"tried {counted(letter.tries, 'time')}" if letter.tries else "",
        task_id=letter.task_id,
        at=letter.at,
        writes=dead.writes if dead else (),
        again=_AGAIN[letter.kind] if letter.content else "",
    )


def _turn(letter: DeadLetter) -> DeadTurn | None:
    if letter.kind is not LetterKind.TURN or not letter.content:
        return None
    try:
        return DeadTurn.model_validate_json(letter.content)
    except ValidationError:
        return None
