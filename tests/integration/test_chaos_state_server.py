"""The server of a chaos run's state forgets what it is told to forget, and nothing that was written before."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import Redis

from tools.chaos.state_server import StateServer


@pytest.fixture
def state() -> Iterator[StateServer]:
    with TemporaryDirectory(prefix="pa-") as folder:
        server = StateServer(Path(folder) / "redis")
        server.server.start()
        yield server
        server.stop()


def _client(state: StateServer) -> "Redis":
    return Redis(unix_socket_path=state.server.url.removeprefix("unix://"), decode_responses=True)


@pytest.mark.promise("chaos.tail_counted")
def test_a_cut_log_lacks_what_was_written_after_the_mark(state: StateServer) -> None:
    with _client(state) as client:
        client.set("before", "1")
        end = state.log_end()
        assert end is not None
        client.set("after", "1")
    state.server.kill()
    assert state.cut_log(end) > 0
    state.server.start()
    with _client(state) as client:
        assert (client.get("before"), client.get("after")) == ("1", None)


@pytest.mark.promise("chaos.tail_counted")
async def test_a_promoted_replica_lacks_what_its_primary_wrote_while_their_line_stood_still(state: StateServer) -> None:
    with _client(state) as client:
        client.set("before", "1")
        replica = await state.replicate()
        assert replica is not None
        assert await state.catch_up(replica)
        replica.line.answers.pause()
        await asyncio.to_thread(client.set, "after", "1")
    state.server.kill()
    assert await state.promote(replica)
    with _client(state) as client:
        assert (client.get("before"), client.get("after")) == ("1", None)
