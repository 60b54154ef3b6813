"""Mappings that keep what was used last: a bounded number of values, or values up to a sum of weights."""

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(OrderedDict[K, V]):
    """Keeps the ``most`` values that were used last, and drops the one used longest ago."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

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
        if len(self) > self._most:
            self.popitem(last=False)
        return value


class WeightedCache(Generic[K, V]):
    """Keeps the values used last; once their weights together exceed ``most``, drops those used longest ago."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._held)

    def look_up(self, key: K) -> V | None:
        """The value, which now counts as used last; None if there is none."""
        if key not in self._held:
            return None
        self._held.move_to_end(key)
        return self._held[key][0]

    def put(self, key: K, value: V, weight: int) -> None:
        self._weight += weight - self._held.pop(key, (value, 0))[1]
        self._held[key] = value, weight
        while self._weight > self._most:
            self._weight -= self._held.popitem(last=False)[1][1]

    def clear(self) -> None:
        self._held.clear()
        self._weight = 0
