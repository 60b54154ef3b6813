"""What was computed of objects that come again and never change, such as the tools of a compiled catalogue."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class IdentityCache(Generic[Key, Value]):
    """``compute`` of an object, once for each of the latest ``most`` objects.

    An object is known by itself, not by what is equal to it, so that looking costs the same however large it is. It
    is held while its value is, so another never has its id. Who changes an object gets what was computed before.
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
