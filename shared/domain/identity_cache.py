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


class SameTuples(Generic[Key]):
    """Of tuples that have the very same members, one: what is computed of it is found again, whoever made the tuple."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[tuple[int, ...], tuple[Key, ...]] = OrderedDict()

    def __call__(self, members: tuple[Key, ...]) -> tuple[Key, ...]:
        """A held tuple holds its members, so no other object has one of their ids."""
        key = tuple(map(id, members))
        held = self._held.setdefault(key, members)
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return held
