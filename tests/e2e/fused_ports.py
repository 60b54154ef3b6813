"""The worker's ports, each real one behind the turn's fuse: whatever stores something or leaves the process is a step.

What only reads the store is none: nothing has changed since the step before it.
"""

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast

from services.executor.core.session.context import Ports
from services.executor.ports.turns import JournalEntry, TurnStore
from shared.contracts.ledger import LedgerEntry
from tests.e2e.fuse import FUSE

P = TypeVar("P")
_READS = frozenset(
    read.__name__
    for read in (
        TurnStore.read_journal,
        TurnStore.read_ledger,
        TurnStore.read_approval,
        TurnStore.read_session,
        TurnStore.get_stop_state,
    )
)


def fused_ports(ports: Ports) -> Ports:
    """The ports that reach another process. What is learned and who the tenant is are read only."""
    return ports._replace(model=_fused(ports.model), tools=_fused(ports.tools), policy=_fused(ports.policy))


def fused_store(store: TurnStore) -> TurnStore:
    return _fused(store, _READS)


def _fused(port: P, reads: frozenset[str] = frozenset()) -> P:
    return cast(P, _Fused(port, reads))


class _Fused:
    """Passes everything on; each awaited method that is no read is a step, whatever the port has or will have."""

    def __init__(self, real: object, reads: frozenset[str]) -> None:
        self._real = real
        self._reads = reads

    def __getattr__(self, name: str) -> object:
        member: object = getattr(self._real, name)
        if name in self._reads or not inspect.iscoroutinefunction(member):
            return member
        return partial(_step, name, member)


def _step(name: str, member: Callable[..., Awaitable[object]], *given: object, **named: object) -> Awaitable[object]:
    words = [word for word in map(_told, given) if word]
    return FUSE.get().step(" ".join([name, *words[:1]]), member(*given, **named))


def _told(argument: object) -> str:
    """What the log says of an argument: journal keys, a write and its status, the name of a tool."""
    match argument:
        case LedgerEntry(call=call, status=status):
            return f"{call.call_id} {status.value}"
        case [JournalEntry(), *_]:
            return ",".join(entry.key for entry in cast("list[JournalEntry]", argument))
        case str():
            return argument
        case _:
            return ""
