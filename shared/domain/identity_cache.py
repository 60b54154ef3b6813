"""Caches what is computed of immutable objects that come again, such as the tools of a compiled catalogue."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """Caches ``compute(object)`` for the latest ``most`` objects, by identity.

    A look-up costs the same however large the object is. The object is held as long as its value, so no other gets its
    id. An object must not change: the value computed first is returned.
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
    """A decorator that makes an ``IdentityCache`` of a function."""
    return lambda compute: IdentityCache(compute, most)


class InternedTuples(Generic[Key]):
    """Returns one tuple for all tuples of the same members, so that an ``IdentityCache`` knows it again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[int, ...], tuple[Key, ...]] = OrderedDict()

    def __call__(self, members: tuple[Key, ...]) -> tuple[Key, ...]:
        """The first tuple seen with these very members. It holds them, so no other object gets their ids."""
        key = tuple(map(id, members))
        held = self._held.setdefault(key, members)
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return held
