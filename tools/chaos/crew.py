"""The processes of a chaos run: struck at will, and started again at once whenever one of them ends."""

import asyncio
import math
import os
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from cli.stack.child import Child
from cli.stack.plan import ProcessSpec, build_local_url
from shared.infra.embedded_redis import EmbeddedRedis, NoRedisServer

_LOOK_EVERY = 0.02
_AGAIN_AFTER = 0.3  # seconds between two starts of a process that ends by itself


class ProcessCrew:
    """Use ``supervise`` as a context around the load. Everything runs in the main thread: children die with it."""

    def __init__(self, specs: Sequence[ProcessSpec], logs: Path, servers: dict[str, EmbeddedRedis]) -> None:
        self._logs = logs
        self._specs = {spec.name: spec for spec in specs}
        self._children = {spec.name: Child.start(spec, logs) for spec in specs}
        self._servers = servers
        self._held: set[str] = set()  # dead, and not to be started
        self._rests_until: dict[str, float] = {}
        self.killed: Counter[str] = Counter()
        self.started_again: Counter[str] = Counter()
        self.ended_by_themselves: list[str] = []
        self._struck: set[int] = set()

    @property
    def processes(self) -> tuple[str, ...]:
        return tuple(self._children)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._children, *self._servers)

    @property
    def children(self) -> tuple[Child, ...]:
        return tuple(self._children.values())

    def url(self, name: str) -> str:
        return self._specs[name].url

    def pid(self, name: str) -> int | None:
        if name in self._servers:
            return self._servers[name].pid
        return self._children[name].pid

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal; False if the process was dead already, or not yet started again."""
        pid = self.pid(name)
        if pid is None or self._is_dead(name):
            return False
        os.kill(pid, number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self._struck.add(pid)
        return True

    def child(self, name: str) -> Child:
        return self._children[name]

    async def terminate(self, name: str, patience: float) -> tuple[float, int | None]:
        """SIGTERM; started again once it has ended. Seconds to its end and exit code: None if it had to be killed."""
        self._rests_until[name] = math.inf
        ended = await self._end_child(self._children[name], patience)
        self._start_again(name)
        return ended

    def start_beside(self, name: str, port: int) -> Child:
        """Another process of the same kind on that port; who is called under the name is still the old one."""
        spec = self._specs[name]
        told = {**spec.environ, "PORT": str(port)}
        return Child.start(replace(spec, url=build_local_url(port), environ=told), self._logs)

    async def hand_over(self, name: str, successor: Child, patience: float) -> tuple[float, int | None]:
        """The name is the successor's from now on, and the old process is asked to leave."""
        old, self._children[name] = self._children[name], successor
        self._specs[name] = successor.spec
        return await self._end_child(old, patience)

    async def _end_child(self, child: Child, patience: float) -> tuple[float, int | None]:
        self._struck.add(child.pid)
        began = time.monotonic()
        await child.stop(patience)
        code = child.exit_code
        return time.monotonic() - began, None if code == -signal.SIGKILL else code

    def kill(self, name: str, rest: float = 0.0) -> bool:
        """SIGKILL; started again after ``rest`` seconds. False if it was dead already."""
        self._rests_until[name] = time.monotonic() + rest
        if not self.signal(name, signal.SIGKILL):
            return False
        self.killed[name] += 1
        return True

    async def kill_for_good(self, name: str) -> bool:
        """SIGKILL, and return once it is dead; it is started again when ``let_start`` says so. False if it was dead."""
        self._held.add(name)
        if not self.kill(name):
            self.let_start(name)
            return False
        while self._exit_code(name) is None:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(_LOOK_EVERY / 4)
        return True

    def let_start(self, name: str) -> None:
        self._held.discard(name)

    def replace_server(self, name: str, server: EmbeddedRedis) -> None:
        """Another server goes by that name from now on, and is started again when it ends."""
        self._servers[name] = server
        self.let_start(name)

    @asynccontextmanager
    async def supervise(self) -> AsyncIterator[None]:
        """Whatever ends inside is started again."""
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            yield
            watch.cancel()

    async def stop(self) -> None:
        """SIGTERM to all processes, those first that accept work; the servers stop with whoever started them."""
        for rank in sorted({child.spec.stop_rank for child in self.children}):
            await asyncio.gather(*(child.stop() for child in self.children if child.spec.stop_rank == rank))

    async def _watch(self) -> None:
        while True:
            for name in self.names:
                if (
                    name not in self._held
                    and self._is_dead(name)
                    and time.monotonic() >= self._rests_until.get(name, 0.0)
                ):
                    self._start_again(name)
            await asyncio.sleep(_LOOK_EVERY)

    def _is_dead(self, name: str) -> bool:
        return self._exit_code(name) is not None or self.pid(name) is None

    def _exit_code(self, name: str) -> int | None:
        return (self._servers.get(name) or self._children[name]).exit_code

    def _start_again(self, name: str) -> None:
        if self.pid(name) not in self._struck:
            self.ended_by_themselves.append(f"{name} ended with exit code {self._exit_code(name)}")
        self._rests_until[name] = time.monotonic() + _AGAIN_AFTER
        self.started_again[name] += 1
        if name in self._servers:
            _start(self._servers[name])
        else:
            self._children[name] = Child.start(self._specs[name], self._logs)


def _start(server: EmbeddedRedis) -> None:
    """Start a server again; one that cannot start yet is tried at the next look. Nobody waits: all lines pass here."""
    with suppress(NoRedisServer):
        server.launch()
