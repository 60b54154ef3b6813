"""A Redis Cluster of three real primaries."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.integration.redis_pair import PATIENCE, Node, free_ports
from tests.redis_server import private_server

_SLOTS = 16_384


@contextmanager
def three_primaries() -> Iterator[list[Node]]:
    """They do not know each other yet."""
    ports = free_ports(6)
    with ExitStack() as held:
        nodes: list[Node] = []
        for port, bus in zip(ports[::2], ports[1::2], strict=True):
            more = ["--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--cluster-port", str(bus)]
            nodes.append(Node(held.enter_context(private_server(more=more)), port, bus))
        yield nodes


async def join_nodes(nodes: list[Node]) -> None:
    """Each takes its part of the slots, and all know each other. Once more, it changes nothing."""
    each = _SLOTS // len(nodes) + 1
    for number, node in enumerate(nodes):
        if f"cluster_slots_assigned:{_SLOTS}" not in str(await node.say("CLUSTER", "INFO")):
            last = min(_SLOTS, (number + 1) * each) - 1
            await node.say("CLUSTER", "ADDSLOTSRANGE", number * each, last)
            await node.say("CLUSTER", "MEET", "127.0.0.1", nodes[0].port, nodes[0].bus)
    async with asyncio.timeout(PATIENCE):
        while not all([await _is_joined(node, len(nodes)) for node in nodes]):
            await asyncio.sleep(0.02)  # between two looks


async def _is_joined(node: Node, count: int) -> bool:
    told = str(await node.say("CLUSTER", "INFO"))
    return f"cluster_known_nodes:{count}" in told and "cluster_state:ok" in told


def cluster_url(nodes: list[Node]) -> str:
    return f"redis+cluster://127.0.0.1:{nodes[0].port}"
