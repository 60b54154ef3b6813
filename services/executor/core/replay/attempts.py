"""An archived journal as the attempts that wrote it: what each began with, found, and was given."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from services.executor.core.session.journal import INPUT, NO_STEPS, TURN
from services.executor.core.turn.notes import Begun, EndedBefore, read_ending, read_turn
from services.executor.ports.turns import JournalEntry
from shared.contracts.archive import ArchivedTask
from shared.contracts.ledger import LedgerEntry


class CannotReplay(Exception):
    """The archived task does not tell enough; the message says what is missing."""


class ArchivedAttempt(NamedTuple):
    """One attempt at one turn. ``steps`` are all that stood in the journal at its end, ``own`` the keys it added."""

    begun: Begun
    before: tuple[JournalEntry, ...]
    steps: Mapping[str, JournalEntry]
    own: tuple[str, ...]
    inputs: Mapping[str, str]  # the newest of each name at its end
    ledger: Mapping[str, LedgerEntry]  # at its end
    is_last: bool  # of its turn: it came to an end

    @property
    def ending(self) -> EndedBefore | None:
        """How it ended before its answer, if it did."""
        noted = read_ending(self.inputs["ended"]) if "ended" in self.inputs else None
        return noted if noted and noted.began == self.begun.began.isoformat() else None


def attempts_of(task: ArchivedTask) -> tuple[ArchivedAttempt, ...]:
    """In the order in which they were made. Raises ``CannotReplay``."""
    if lost := [step.key for step in task.journal if step.lost]:
        raise CannotReplay(f"what its journal held of {lost[0]!r} was lost before it was archived")
    entries = [JournalEntry(step.key, step.kind, step.data) for step in task.journal]
    marks = [index for index, entry in enumerate(entries) if entry.kind == TURN]
    if not marks:
        raise CannotReplay("its journal does not say what its turns were given: nothing was done, or it is too old")
    begun = [_read_beginning(entries[index]) for index in marks]
    ends = [*marks[1:], len(entries)]
    ledgers = [*(one.ledger for one in begun[1:]), task.ledger]
    turns = [*(one.turn.turn_id for one in begun[1:]), ""]
    return tuple(
        _attempt(one, entries, start, end, ledger, following != one.turn.turn_id)
        for one, start, end, ledger, following in zip(begun, marks, ends, ledgers, turns, strict=True)
    )


def _attempt(
    begun: Begun,
    entries: Sequence[JournalEntry],
    start: int,
    end: int,
    ledger: Mapping[str, LedgerEntry],
    is_last: bool,
) -> ArchivedAttempt:
    before, all_of_them = tuple(entries[:start]), entries[:end]
    known = {entry.key for entry in before}
    own = (entry.key for entry in entries[start:end] if entry.kind not in NO_STEPS and entry.key not in known)
    steps: dict[str, JournalEntry] = {}
    for entry in all_of_them:
        if entry.kind not in NO_STEPS:
            steps.setdefault(entry.key, entry)
    inputs = {entry.key.rpartition("#")[0]: entry.data_json for entry in all_of_them if entry.kind == INPUT}
    return ArchivedAttempt(begun, before, steps, tuple(dict.fromkeys(own)), inputs, ledger, is_last)


def _read_beginning(entry: JournalEntry) -> Begun:
    try:
        return read_turn(entry.data_json)
    except (ValueError, KeyError) as error:
        raise CannotReplay(f"the note of a turn cannot be read: {error}") from error
