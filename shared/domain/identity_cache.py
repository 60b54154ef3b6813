"""Caches results computed from immutable objects that recur, such as the tools of a compiled catalogue."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """Caches ``compute(object)`` for the ``most`` most recently used objects, by identity.

    A look-up takes the same time for an object of any size. The cache holds the object, so its id is not reused. The
    object must not change, since the first computed value is returned.
    """

    def __init__(self, compute: Callable[[Key], Value], most: int) -> None:
        self._compute, self._most = compute, most
        self._held: OrderedDict[int, tuple[Key, Value]] = OrderedDict()

    def __call__(self, key: Key) -> Value:
        held = self._held.get(id(key))
        if held is None:
            held = self._held[id(key)] = key, self._compute(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
        else:
            self._held.move_to_end(id(key))
        return held[1]


def cached_by_identity(most: int) -> Callable[[Callable[[Key], Value]], IdentityCache[Key, Value]]:
    """A decorator that turns a function into an ``IdentityCache``."""
    return lambda compute: IdentityCache(compute, most)


class InternedTuples(Generic[Key]):
    """Returns the same tuple object for all tuples of the same member objects, so that an ``IdentityCache`` recognises
    it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[int, ...], tuple[Key, ...]] = OrderedDict()

    def __call__(self, members: tuple[Key, ...]) -> tuple[Key, ...]:
        """The first tuple seen with these member objects. It holds them, so their ids are not reused."""
        key = tuple(map(id, members))
        held = self._held.setdefault(key, members)
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return held
