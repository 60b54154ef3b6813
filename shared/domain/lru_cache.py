"""A mapping that keeps a bounded number of values."""

from collections import OrderedDict
from typing import TypeVar

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
