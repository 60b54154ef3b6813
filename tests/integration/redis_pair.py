"""A primary and its replica, both real, and what makes one of the other."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from redis.asyncio import Redis

from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.redis_server import private_server

PATIENCE = 15.0


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


class Node(NamedTuple):
    server: EmbeddedRedis
    port: int
    bus: int = 0  # the port where nodes of a cluster talk to each other

    def client(self) -> Redis:
        """A plain client, which follows nobody."""
        return Redis(host="127.0.0.1", port=self.port, decode_responses=True)

    def following(self, query: str = "") -> Redis:
        """A client such as the services use."""
        return connect(f"redis://127.0.0.1:{self.port}/0{query}")

    async def say(self, *words: str | int) -> object:
        client = self.client()
        try:
            return await client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py
        finally:
            await client.aclose()

    async def until(self, word: str, value: str) -> None:
        """Until a line of the server's replication report says so."""
        async with asyncio.timeout(PATIENCE):
            while await self.report(word) != value:
                await asyncio.sleep(0.01)  # between two looks

    async def report(self, word: str) -> str:
        client = self.client()
        found = await client.info("replication")
        await client.aclose()
        return str(found.get(word))


class Pair(NamedTuple):
    first: Node
    second: Node

    async def replicate(self) -> None:
        """The second follows the first, and has everything it has."""
        await self.second.say("REPLICAOF", "127.0.0.1", self.first.port)
        await self.second.until("master_link_status", "up")

    async def catch_up(self) -> None:
        """Until the second has everything that the first has now."""
        written = int(await self.first.report("master_repl_offset"))
        async with asyncio.timeout(PATIENCE):
            while int(await self.second.report("slave_repl_offset")) < written:
                await asyncio.sleep(0.01)  # between two looks

    async def fail_over(self) -> None:
        """The second becomes the primary, the first its replica: nothing was written that the second lacks."""
        await self.catch_up()
        await self.promote()

    async def promote(self) -> None:
        """The same at once: what the second has not heard of is lost."""
        await self.second.say("REPLICAOF", "NO", "ONE")
        await self.first.say("REPLICAOF", "127.0.0.1", self.second.port)
        await self.first.until("master_link_status", "up")


@contextmanager
def pair_of_servers() -> Iterator[Pair]:
    ports = free_ports(2)
    with ExitStack() as held:
        nodes = [held.enter_context(_node(port)) for port in ports]
        yield Pair(*nodes)


@contextmanager
def _node(port: int) -> Iterator[Node]:
    quickly = ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"]
    more = ["--port", str(port), "--bind", "127.0.0.1", *quickly]
    with private_server(more=more) as server:
        yield Node(server, port)
