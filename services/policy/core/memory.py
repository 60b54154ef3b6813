"""What was worked out before, within a bound."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Held = TypeVar("Held")


class BoundedMemory(Generic[Key, Held]):
    """What was not used for longest is forgotten when the weights exceed ``limit``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: OrderedDict[Key, tuple[Held, int]] = OrderedDict()
        self._weight = 0

    def __len__(self) -> int:
        return len(self._held)

    def find(self, key: Key) -> Held | None:
        found = self._held.get(key)
        if found is None:
            return None
        self._held.move_to_end(key)
        return found[0]

    def keep(self, key: Key, held: Held, weight: int) -> None:
        self._weight += weight - self._held.pop(key, (held, 0))[1]
        self._held[key] = (held, weight)
        while self._weight > self._limit:
            _, (_, forgotten) = self._held.popitem(last=False)
            self._weight -= forgotten
