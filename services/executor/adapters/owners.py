"""The names by which executors own leases, and which of them are known to be dead."""

import os
import socket
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

_BOOT, _PROCESSES = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
_ENDED = "ZX"  # states of a process that runs no more, though its parent has not asked for its end yet


class OwnerPlace(NamedTuple):
    """Where a process runs, and its number there; ``machine`` is empty where that cannot be told."""

    machine: str
    pid: int


def name_owner(pid: int | None = None) -> str:
    """No two processes ever have the same name, not even one after the other."""
    return f"{socket.gethostname()}:{os.getpid() if pid is None else pid}:{uuid4().hex[:8]}{_machine()}"


def place_of(owner: str) -> OwnerPlace:
    parts = owner.split(":")
    if len(parts) != 3 or not parts[1].isdecimal():
        return OwnerPlace("", 0)
    return OwnerPlace(parts[2][8:], int(parts[1]))


def is_dead(owner: str, own: str) -> bool:
    """Whether the owner is known to have ended: it ran on the machine of ``own``, this process, and runs no more."""
    machine, pid = place_of(owner)
    if owner == own or not machine or machine != place_of(own).machine:
        return False
    return pid == os.getpid() or not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state.rpartition(")")[2].split()[0] not in _ENDED


@cache
def _machine() -> str:
    """One start of a machine and one space of numbers of processes: each container has its own. Empty without /proc."""
    try:
        where = f"{_BOOT.read_text('utf-8')}{_PROCESSES.readlink()}"
    except OSError:
        return ""
    return sha256(where.encode()).hexdigest()[:8]
