"""Caches results computed from immutable objects that recur, such as the tools of a compiled catalogue."""

from collections.abc import Callable
from typing import Generic, TypeVar

from shared.domain.lru_cache import LruCache

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """Caches ``compute(object)`` for the ``capacity`` most recently used objects, by identity.

    A look-up takes the same time for an object of any size. The cache holds the object, so its id is not reused. The
    object must not change, since the first computed value is returned.
    """

    def __init__(self, compute: Callable[[Key], Value], capacity: int) -> None:
        self._compute = compute
        self._entries = LruCache[int, tuple[Key, Value]](capacity)

    def __call__(self, key: Key) -> Value:
        entry = self._entries.look_up(id(key)) or self._entries.put(id(key), (key, self._compute(key)))
        return entry[1]


def cached_by_identity(capacity: int) -> Callable[[Callable[[Key], Value]], IdentityCache[Key, Value]]:
    """A decorator that turns a function into an ``IdentityCache``."""
    return lambda compute: IdentityCache(compute, capacity)


class InternedTuples(Generic[Key]):
    """Returns the same tuple object for each tuple of the same members, so that an ``IdentityCache``, which compares by
    identity, finds it again.
    """

    def __init__(self, capacity: int) -> None:
        self._entries = LruCache[tuple[int, ...], tuple[Key, ...]](capacity)

    def __call__(self, members: tuple[Key, ...]) -> tuple[Key, ...]:
        """The first tuple seen with these member objects. The cache holds it, so that no member's id is reused."""
        key = tuple(map(id, members))
        return self._entries.look_up(key) or self._entries.put(key, members)
