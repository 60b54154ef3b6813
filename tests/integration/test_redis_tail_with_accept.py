"""What a power cut takes whole, accept and write, Redis has never heard of: the message sent again is a new task."""

import tempfile
from pathlib import Path

import pytest

from shared.domain.words import WriteStatus
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import a_record, a_turn
from tests.integration.state_stage import an_entry, begin, sessions_of


@pytest.mark.promise("redis.tail_lost")
async def test_a_message_whose_accept_was_lost_with_its_write_is_a_new_task_whose_write_is_sent() -> None:
    """The loss that docs/security.md names: neither the resend nor the write is recognised."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        log = next((Path(folder) / "appendonlydir").glob("*.incr.aof"))
        before = log.stat().st_size
        first = await _accept_and_open(server)
        server.kill()
        with log.open("rb+") as cut:
            cut.truncate(before)
        server.start()
        second = await _accept_and_open(server)

    assert first == second == (True, WriteStatus.SENDING)


async def _accept_and_open(server: EmbeddedRedis) -> tuple[bool, WriteStatus]:
    """Whether the message "m1" was new, and what its task's write is once its intent is stored."""
    redis = connect(server.url)
    try:
        async with Live(redis) as live:
            record = a_record()
            accepted = await TaskStore(redis, live).accept(record, a_turn(record), dedupe="m1")
            begun = await begin(sessions_of(redis, "one"))
            await begun.store.open_write(an_entry(), 1.0)
            (entry,) = (await begun.store.ledger()).values()
            return accepted.fresh, entry.status
    finally:
        await redis.aclose()
