"""The brake on guessing: an address from which too many were turned away lately waits before it may try again."""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

_KEPT = 10_000  # addresses, and credentials; whoever was longest unheard of is forgotten first


class Strictness(NamedTuple):
    """So many failures within so many seconds; 0 failures is without a brake."""

    failures: int = 20
    window: float = 60.0


class Brake:
    """Of this process alone: it spares the store the guesses, and a secret of 256 bits needs no more.

    A credential that was good lately is never held off, so that a neighbour behind the same address goes on.
    """

    def __init__(self, clock: Callable[[], float], strictness: Strictness) -> None:
        self._clock, self._strictness = clock, strictness
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()  # address -> since when, how many
        self._good: OrderedDict[int, None] = OrderedDict()

    def wait(self, address: str, credential: int) -> float:
        """Seconds until somebody there may try; 0 if now. Nobody is held off for an address that is not known."""
        since, failures = self._failures.get(address, (0.0, 0))
        if not self._strictness.failures or failures < self._strictness.failures or credential in self._good:
            return 0.0
        return max(0.0, since + self._strictness.window - self._clock())

    def failed(self, address: str, credential: int) -> bool:
        """Whether it is this failure that sets the brake."""
        self._good.pop(credential, None)
        if not address:
            return False
        now = self._clock()
        since, failures = self._failures.pop(address, (now, 0))
        if now - since >= self._strictness.window:
            since, failures = now, 0
        self._failures[address] = since, failures + 1
        _trim(self._failures)
        return failures + 1 == self._strictness.failures

    def passed(self, credential: int) -> None:
        self._good[credential] = None
        self._good.move_to_end(credential)
        _trim(self._good)


def _trim(kept: "OrderedDict[str, tuple[float, int]] | OrderedDict[int, None]") -> None:
    while len(kept) > _KEPT:
        kept.popitem(last=False)
