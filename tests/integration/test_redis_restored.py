"""A server that was restored from a backup lacks what came after it: no write is taken for never sent."""

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.restored import note_restored
from services.executor.ports.turns import LedgerConflict
from shared.domain.exact_json import loads_object
from shared.domain.words import WriteStatus
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.lineage import lineage_of
from shared.infra.live import Live
from shared.infra.redis import connect
from shared.infra.task_store import TaskStore
from tests.doubles.redis_tasks import a_record, a_turn
from tests.each_row import each_row
from tests.integration.state_stage import accepted, an_entry, begin, sessions_of

pytestmark = pytest.mark.promise("operations.restored_in_doubt")


@pytest.fixture
def url() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="pa-") as folder, EmbeddedRedis(Path(folder)) as server:
        yield server.url


@pytest.mark.promise("operations.backup")
@pytest.mark.parametrize("query", ["", "?confirm_replicas=1"])
async def test_a_write_of_a_turn_accepted_before_a_restore_is_in_doubt(url: str, query: str) -> None:
    """Also where replicas confirm intents: the backup is older than what they confirmed. Its first owner knows too."""
    before = connect(url)
    async with Live(before) as live:
        await accepted(TaskStore(before, live))
    await note_restored(url)
    after = connect(f"{url}{query}")
    begun = await begin(sessions_of(after, "one"))
    with pytest.raises(LedgerConflict, match="may have been sent"):
        await begun.store.open_write(an_entry(), 1.0)
    entry = (await begun.store.ledger())[an_entry().key]
    assert (entry.status, entry.before_json) == (WriteStatus.SENDING, None)
    await before.aclose()
    await after.aclose()


async def test_a_write_under_a_key_that_the_server_honours_is_sent_all_the_same(url: str) -> None:
    redis = connect(url)
    async with Live(redis) as live:
        await accepted(TaskStore(redis, live))
    await note_restored(url)
    later = connect(url)
    begun = await begin(sessions_of(later, "one"))
    await begun.store.open_write(an_entry().model_copy(update={"idempotency_field": "key"}), 1.0)
    assert (await begun.store.ledger())[an_entry().key].status is WriteStatus.SENDING
    await redis.aclose()
    await later.aclose()


async def test_a_turn_accepted_after_a_restore_sends_its_writes(url: str) -> None:
    await note_restored(url)
    redis = connect(url)
    async with Live(redis) as live:
        record = a_record()
        turn = a_turn(record).model_copy(update={"received_at": datetime.now(UTC) + timedelta(seconds=5)})
        await TaskStore(redis, live).accept(record, turn, dedupe=None)
        await (await begin(sessions_of(redis, "one"))).store.open_write(an_entry(), 1.0)
    await redis.aclose()


async def test_the_moment_is_that_of_the_servers_clock(url: str) -> None:
    moment = await note_restored(url)
    redis = connect(url)
    seconds, _ = await redis.time()
    noted = lineage_of(redis).restored
    await redis.aclose()
    assert noted is not None
    assert round(noted.timestamp() * 1_000_000) == moment
    assert abs(noted.timestamp() - seconds) < 60


def test_the_command_says_what_it_has_noted(url: str) -> None:
    done = CliRunner().invoke(app, ["restored", "--json"], env={"REDIS_URL": url})

    assert done.exit_code == 0
    assert cast(int, loads_object(done.stdout)["restored_us"]) > 0


@each_row(
    ("url", "says"), [("", "REDIS_URL"), ("redis+cluster://127.0.0.1:1", "cluster"), ("redis://127.0.0.1:1", "answer")]
)
def test_where_it_cannot_be_noted_it_is_said(url: str, says: str) -> None:
    done = CliRunner().invoke(app, ["restored"], env={"REDIS_URL": url})

    assert done.exit_code == 2
    assert says in done.output
