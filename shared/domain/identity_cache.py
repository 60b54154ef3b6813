"""Caches results computed from immutable objects that recur, such as the tools of a compiled catalogue."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """Caches ``compute(object)`` for the ``capacity`` most recently used objects, by identity.

    A look-up takes the same time for an object of any size. The cache holds the object, so its id is not reused. The
    object must not change, since the first computed value is returned.
    """

    def __init__(self, compute: Callable[[Key], Value], capacity: int) -> None:
        self._compute, self._capacity = compute, capacity
        self._entries: OrderedDict[int, tuple[Key, Value]] = OrderedDict()

    def __call__(self, key: Key) -> Value:
        entry = self._entries.get(id(key))
        if entry is None:
            entry = self._entries[id(key)] = key, self._compute(key)
            if len(self._entries) > self._capacity:
                self._entries.popitem(last=False)
        else:
            self._entries.move_to_end(id(key))
        return entry[1]


def cached_by_identity(capacity: int) -> Callable[[Callable[[Key], Value]], IdentityCache[Key, Value]]:
    """A decorator that turns a function into an ``IdentityCache``."""
    return lambda compute: IdentityCache(compute, capacity)


class InternedTuples(Generic[Key]):
    """Returns one tuple object for all tuples of the same members, which an ``IdentityCache`` then recognises."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[tuple[int, ...], tuple[Key, ...]] = OrderedDict()

    def __call__(self, members: tuple[Key, ...]) -> tuple[Key, ...]:
        """The first tuple seen with these member objects. It holds them, so their ids are not reused."""
        key = tuple(map(id, members))
        entry = self._entries.setdefault(key, members)
        self._entries.move_to_end(key)
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
        return entry
