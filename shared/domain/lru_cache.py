"""Values by key, of which a bounded number is kept."""

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(OrderedDict[K, V]):
    """The ``most`` values that were used last; the one used longest ago is forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def use(self, key: K) -> V | None:
        """The value, which counts as used now; None if there is none."""
        if key not in self:
            return None
        self.move_to_end(key)
        return self[key]

    def keep(self, key: K, value: V) -> V:
        """Keeps the value as the one used last, and returns it."""
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
        return value
