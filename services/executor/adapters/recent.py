"""Values by key, of which a bounded number is kept."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """The ``most`` values that were used last; the one used longest ago is forgotten."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def use(self, key: K) -> V | None:
        """The value, which counts as used now; None if there is none."""
        return self.keep(key, self[key]) if key in self else None

    def keep(self, key: K, value: V) -> V:
        """Keeps the value as the one used last, and returns it."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]
        return value
