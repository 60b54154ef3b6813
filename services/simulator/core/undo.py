"""The undo history: executed actions, the newest last, and those that were taken back."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from services.simulator.core.records import TableChange

MOST_ENTRIES = 50_000  # older actions can no longer be taken back one by one; a reset still takes back everything


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """One executed event, and its changes."""

    event_id: str
    modality: str
    action: str
    changes: tuple[TableChange, ...]


class UndoHistory:
    def __init__(self) -> None:
        self._done: deque[UndoEntry] = deque(maxlen=MOST_ENTRIES)
        self._undone: list[UndoEntry] = []  # never longer than what was done

    def record(self, entry: UndoEntry) -> None:
        """Records a new action; actions that were taken back before can no longer be redone."""
        self._done.append(entry)
        self._undone.clear()

    def pop_newest(self) -> UndoEntry | None:
        """The newest action, which the caller now takes back; None if there is none."""
        if not self._done:
            return None
        self._undone.append(entry := self._done.pop())
        return entry

    def pop_undone(self) -> UndoEntry | None:
        """The action taken back last, which the caller now does again; None if there is none."""
        if not self._undone:
            return None
        self._done.append(entry := self._undone.pop())
        return entry

    def drop_undone(self) -> None:
        """Forgets the actions that were taken back, so that they cannot be redone."""
        self._undone.clear()

    def clear(self) -> None:
        self._done.clear()
        self._undone.clear()

    @property
    def done(self) -> Iterator[UndoEntry]:
        return iter(self._done)

    @property
    def undone(self) -> Iterator[UndoEntry]:
        return iter(self._undone)

    def fill(self, done_entries: list[UndoEntry], undone_entries: list[UndoEntry]) -> None:
        """Fills the history of a restored world."""
        self._done.extend(done_entries)
        self._undone.extend(undone_entries)

    def counts(self) -> tuple[int, int]:
        """How many actions can be taken back, and how many done again."""
        return len(self._done), len(self._undone)
