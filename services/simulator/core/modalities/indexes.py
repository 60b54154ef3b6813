"""What tables keep up to date beside their rows, so that queries need not look at every row."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Generic

from services.simulator.core.records import R, Table

_Entry = tuple[datetime, int, str]
_NONE: Collection[str] = ()


class GroupIndex(Generic[R]):
    """The keys of the rows under each name that ``names_of`` gives them (folder, thread, label ...)."""

    def __init__(self, table: Table[R], names_of: Callable[[R], Iterable[str]]) -> None:
        self._names_of = names_of
        self._groups: dict[str, dict[str, None]] = {}
        table.watch(self)

    def __getitem__(self, name: str) -> Collection[str]:
        """The keys under that name, in no promised order; none if nobody has it."""
        return self._groups.get(name, _NONE)

    def names(self) -> Collection[str]:
        return self._groups.keys()

    def replace(self, key: str, before: R | None, after: R | None) -> None:
        old = set(self._names_of(before)) if before is not None else set()
        new = set(self._names_of(after)) if after is not None else set()
        for name in old - new:
            self._remove_from_group(name, key)
        for name in new - old:
            self._groups.setdefault(name, {})[key] = None

    def _remove_from_group(self, name: str, key: str) -> None:
        del self._groups[name][key]
        if not self._groups[name]:
            del self._groups[name]


class TimeIndex(Generic[R]):
    """The keys of all rows by a time of theirs; rows of one time as they came."""

    def __init__(self, table: Table[R], time_of: Callable[[R], datetime]) -> None:
        self._table = table
        self._time_of = time_of
        self._entries: list[_Entry] = []
        self._entry_of: dict[str, _Entry] = {}
        table.watch(self)

    def __len__(self) -> int:
        return len(self._entries)

    def sort_key(self, key: str) -> tuple[datetime, int, str]:
        """A row's sort key, which brings keys into the order of this index."""
        return self._entry_of[key]

    def find_between(self, after: datetime | None, before: datetime | None) -> Sequence[str]:
        """The keys of the rows from ``after`` to ``before``, both included, in order."""
        low = 0 if after is None else bisect_left(self._entries, after, key=_time)
        high = len(self._entries) if before is None else bisect_right(self._entries, before, key=_time)
        return [key for _, _, key in self._entries[low:high]]

    def page(self, start: int, count: int, *, descending: bool) -> Sequence[str]:
        """One page of all keys, in the order of time or, if ``descending``, the reverse."""
        return _page(self._entries, start, count, descending)

    def replace(self, key: str, before: R | None, after: R | None) -> None:
        entry = None if after is None else (self._time_of(after), self._table.position(key), key)
        old = self._entry_of.pop(key, None) if before is not None else None
        if entry is not None:
            self._entry_of[key] = entry
        if entry == old:
            return
        if old is not None:
            del self._entries[bisect_left(self._entries, old)]
        if entry is not None:
            insort(self._entries, entry)


class OrderedGroupIndex(Generic[R]):
    """The keys of the rows under each name that ``names_of`` gives them, each lot in the order of ``order``.

    To be made after that order, which has to be told of a change first.
    """

    def __init__(self, table: Table[R], names_of: Callable[[R], Iterable[str]], order: TimeIndex[R]) -> None:
        self._names_of = names_of
        self._order = order
        self._groups: dict[str, list[_Entry]] = {}
        self._held: dict[str, tuple[_Entry, frozenset[str]]] = {}
        table.watch(self)

    def size(self, name: str) -> int:
        return len(self._groups.get(name, ()))

    def page(self, name: str, start: int, count: int, *, descending: bool) -> Sequence[str]:
        """One page of a group's keys, in the index's order or, if ``descending``, the reverse."""
        return _page(self._groups.get(name, []), start, count, descending)

    def replace(self, key: str, before: R | None, after: R | None) -> None:  # noqa: ARG002  the shape of an index
        old = self._held.pop(key, None)
        new = None if after is None else (self._order.sort_key(key), frozenset(self._names_of(after)))
        if old is not None:
            for name in old[1]:
                group = self._groups[name]
                del group[bisect_left(group, old[0])]
        if new is not None:
            self._held[key] = new
            for name in new[1]:
                insort(self._groups.setdefault(name, []), new[0])


def _page(entries: Sequence[_Entry], start: int, count: int, descending: bool) -> Sequence[str]:
    if not descending:
        return [key for _, _, key in entries[start : start + count]]
    high = max(len(entries) - start, 0)
    return [key for _, _, key in reversed(entries[max(high - count, 0) : high])]


def _time(entry: _Entry) -> datetime:
    return entry[0]
