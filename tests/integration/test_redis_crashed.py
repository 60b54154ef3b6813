"""A server that comes back without having been stopped may lack the end of its log: what shows already is not sent."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.executor.ports.turns import LedgerConflict
from shared.domain.words import WriteStatus
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.integration.state_stage import accepted, an_entry, begin, sessions_of

pytestmark = pytest.mark.promise("redis.tail_lost")
_SHOWN = an_entry().model_copy(update={"shown_before": True})


@pytest.fixture
def server() -> Iterator[EmbeddedRedis]:
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        yield server


async def _accept_a_turn(server: EmbeddedRedis) -> None:
    redis = connect(server.url)
    async with Live(redis) as live:
        await accepted(TaskStore(redis, live))
    await redis.aclose()


async def test_a_write_that_a_read_already_shows_is_in_doubt_after_a_crash(server: EmbeddedRedis) -> None:
    await _accept_a_turn(server)
    server.kill()
    server.start()
    redis = connect(server.url)
    begun = await begin(sessions_of(redis, "one"))
    with pytest.raises(LedgerConflict, match="may have been sent"):
        await begun.store.open_write(_SHOWN, 1.0)
    entry = (await begun.store.ledger())[_SHOWN.key]
    assert (entry.status, entry.before_json) == (WriteStatus.SENDING, None)
    await redis.aclose()


async def test_a_write_that_no_read_shows_yet_is_sent_after_a_crash(server: EmbeddedRedis) -> None:
    await _accept_a_turn(server)
    server.kill()
    server.start()
    redis = connect(server.url)
    begun = await begin(sessions_of(redis, "one"))
    await begun.store.open_write(an_entry(), 1.0)
    await redis.aclose()


async def test_after_a_stop_nothing_is_missing(server: EmbeddedRedis) -> None:
    await _accept_a_turn(server)
    server.stop()
    server.start()
    redis = connect(server.url)
    begun = await begin(sessions_of(redis, "one"))
    await begun.store.open_write(_SHOWN, 1.0)
    await redis.aclose()


async def test_whoever_began_the_turn_and_still_has_it_knows_what_it_sent(server: EmbeddedRedis) -> None:
    await _accept_a_turn(server)
    redis = connect(server.url)
    begun = await begin(sessions_of(redis, "one", lease_seconds=30.0))
    server.kill()
    server.start()
    await begun.store.open_write(_SHOWN, 1.0)
    await redis.aclose()
