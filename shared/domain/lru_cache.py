"""Mappings that keep what was used last: a bounded number of values, or values up to a sum of weights."""

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_WEIGHT_OF_ENTRY = 1_000  # what an entry takes besides the characters of its text


class LruCache(OrderedDict[K, V]):
    """Keeps the ``capacity`` values that were used last, and drops the one used longest ago."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity

    def look_up(self, key: K) -> V | None:
        """The value, which now counts as used last; None if there is none."""
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]

    def put(self, key: K, value: V) -> V:
        """Stores the value as used last, and returns it."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._capacity:
            self.popitem(last=False)
        return value


class WeightedCache(Generic[K, V]):
    """Keeps the values used last; once their weights together exceed ``max_weight``, drops those used longest ago."""

    def __init__(self, max_weight: int) -> None:
        self._max_weight = max_weight
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._entries)

    def look_up(self, key: K) -> V | None:
        """The value, which now counts as used last; None if there is none."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def put(self, key: K, value: V, weight: int) -> None:
        self._weight += weight - self._entries.pop(key, (value, 0))[1]
        self._entries[key] = value, weight
        while self._weight > self._max_weight:
            self._weight -= self._entries.popitem(last=False)[1][1]

    def clear(self) -> None:
        self._entries.clear()
        self._weight = 0


def cached_by_text(max_characters: int) -> Callable[[Callable[[str], V]], Callable[[str], V]]:
    """A decorator that caches results for the texts used last, which have at most ``max_characters`` in all."""

    def decorate(function: Callable[[str], V]) -> Callable[[str], V]:
        cache = WeightedCache[str, tuple[V]](max_characters)

        @wraps(function)
        def look_up_or_call(text: str) -> V:
            found = cache.look_up(text)
            if found is None:
                found = (function(text),)
                cache.put(text, found, len(text) + _WEIGHT_OF_ENTRY)
            return found[0]

        return look_up_or_call

    return decorate
