"""The console's pages of learning, memory, operations and evidence, behind a gateway on a real store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.adapters.redis_idle import Archiver
from services.gateway.features.tenants import DailySpending, TenantStates
from shared.contracts.knowledge import EntityLinks, EntityMention, KnownEntity, KnownFact
from shared.infra import keys
from shared.infra.archive_open import ArchiveSettings, generate_encryption_key
from tests.doubles.redis_tasks import NOON
from tests.http_client import open_http
from tests.integration.approval_stage import Office, asks, office
from tests.integration.gateway_stage import Locked, Stage
from tests.integration.test_console import Reader
from tests.integration.test_gateway_dead_letters import _dead_turn, _record
from tests.unit.executor.stage import Stage as ExecutorStage
from tests.unit.learner.makers import a_case

OPERATORS_ONLY = (
    "/console/learning/cases",
    "/console/learning/facts",
    "/console/learning/entities",
    "/console/operations",
    "/console/operations/dead-letters",
)


class House(NamedTuple):
    """A gateway that checks keys, and readers who are signed in."""

    play: Stage
    olga: Reader
    clara: Reader


@pytest_asyncio.fixture
async def house(locked: Locked) -> AsyncIterator[House]:
    url = locked.play.url
    async with open_http(base_url=url) as one, open_http(base_url=url) as other:
        olga, clara = Reader(one), Reader(other)
        await olga.sign_in(key=locked.operator)
        await clara.sign_in(key=await locked.key("clara"))
        yield House(locked.play, olga, clara)


async def learn(redis: Redis, tenant: str) -> None:
    """What a learner leaves after some tasks."""
    names = keys.learned_keys(tenant)
    await redis.hset(names.counts, mapping={"events": 3, "success": 2, "failure": 1, "quality_units": 21_000})  # type: ignore[misc]  # sync or async
    arms = {"expense_approval:fsm:n": 3, "expense_approval:fsm:units": 21_000}
    await redis.hset(names.arms, mapping=arms)  # type: ignore[misc]  # sync or async
    points = "1:8000:1795341937115 2:17000:1795341938115 3:21000:1795341939115"
    trends = {"quality": points, "arm:expense_approval:fsm": points}
    await redis.hset(names.trends, mapping=trends)  # type: ignore[misc]  # sync or async
    await redis.hset(names.days, mapping={"2026-11-22:events": 3, "2026-11-22:quality_units": 21_000})  # type: ignore[misc]  # sync or async
    await redis.lpush(names.cases, a_case(7, "Approve claim 7", quality=0.5).model_dump_json())  # type: ignore[misc]  # sync or async
    fact = KnownFact(text="Acme pays in 30 days", domain="procurement", quality=0.8, at=NOON, task_id="t7")
    await redis.lpush(names.knowledge, fact.model_dump_json())  # type: ignore[misc]  # sync or async
    entity = KnownEntity(kind="vendor", value="Acme Ltd", seen=2, last_seen=NOON)
    links = EntityLinks(tasks=(EntityMention(task_id="t7", session_id="s", at=NOON),))
    await redis.hset(names.entities, "vendor:acme ltd", entity.model_dump_json())  # type: ignore[misc]  # sync or async
    await redis.hset(names.entity_links, "vendor:acme ltd", links.model_dump_json())  # type: ignore[misc]  # sync or async


@pytest.mark.promise("console.learning", "console.memory")
async def test_what_was_learned_is_shown_and_can_be_looked_through(redis: Redis, house: House) -> None:
    await learn(redis, "acme")
    await house.olga.go("/console/learning")
    assert all(text in house.olga.page for text in ("Quality over time", "Expense approval", "State machine", "0.70"))
    await house.olga.go("/console/learning/cases?q=claim+7&kind=success")
    assert 'href="/console/tasks/t7">Approve claim 7</a>' in house.olga.page
    await house.olga.go("/console/learning/facts?q=nothing+like+it")
    assert "No fact is like that" in house.olga.page
    await house.olga.go("/console/learning/entities")
    assert 'href="/console/tasks/t7">this task</a>' in house.olga.page


@pytest.mark.promise("console.memory", "console.operations", "console.walls")
async def test_memory_and_operations_are_for_operators_of_the_tenant_alone(redis: Redis, house: House) -> None:
    await learn(redis, "globex")
    refused = [(await house.clara.go(path)).status_code for path in OPERATORS_ONLY]
    shown = [(await house.olga.go(path)).status_code for path in (*OPERATORS_ONLY, "/console/learning", "/console/")]
    assert (refused, set(shown)) == ([403] * len(OPERATORS_ONLY), {200})
    for path in (*OPERATORS_ONLY, "/console/learning"):
        await house.olga.go(path)
        assert not any(text in house.olga.page for text in ("Acme", "Approve claim 7", "Expense approval")), path
    await house.clara.go("/console/")
    assert "Is it getting better?" in house.clara.page
    assert "What does it cost?" not in house.clara.page


@pytest.mark.promise("console.dead_letters")
async def test_an_operator_puts_a_dead_letter_back_and_repeats_writes_only_on_purpose(
    redis: Redis, house: House
) -> None:
    write: dict[str, JsonValue] = {"tool": "create_refund", "arguments": {"order_id": "ORD-1"}, "status": "verified"}
    name = await _dead_turn(redis, _record("acme"), writes=[write])
    await house.olga.go("/console/operations/dead-letters")
    assert "create_refund" in house.olga.page
    path = f"/console/operations/dead-letters/{name}"
    refused = await house.olga.send(f"{path}/requeue")
    begun = await house.olga.send(f"{path}/requeue", again="yes")
    await house.play.worker.has_begun(1)
    again = await house.olga.send(f"{path}/drop")
    assert (refused.status_code, begun.status_code, again.status_code) == (409, 200, 409)
    assert begun.url.path.startswith("/console/tasks/")


@pytest.mark.promise("console.operations")
async def test_days_are_told_as_the_executor_has_paid_for_them(redis: Redis) -> None:
    await redis.hset(keys.spend_key("acme", "2026-11-22"), mapping={"tokens": 5, "nanos": 7, "calls": 1})  # type: ignore[misc]  # sync or async
    found = await TenantStates(redis).read_spending("acme", ["2026-11-21", "2026-11-22"])
    assert found == [DailySpending("2026-11-21"), DailySpending("2026-11-22", 5, 7, 1)]


@pytest.mark.promise("console.operations")
async def test_spending_is_shown_of_thirty_days_with_today(redis: Redis, house: House) -> None:
    today = datetime.now(UTC).date()
    for days_ago, calls in ((29, 7_777), (30, 8_888)):
        key = keys.spend_key("acme", (today - timedelta(days=days_ago)).isoformat())
        await redis.hset(key, mapping={"tokens": 5, "nanos": 7, "calls": calls})  # type: ignore[misc]  # sync or async
    await house.olga.go("/console/operations")
    assert ("7,777" in house.olga.page, "8,888" in house.olga.page) == (True, False)


async def test_spoiled_statistics_spoil_no_page_but_their_own(redis: Redis, house: House) -> None:
    await redis.hset(keys.learned_keys("acme").trends, "quality", "1:x:y")  # type: ignore[misc]  # sync or async
    assert (await house.olga.go("/console/approvals")).status_code == 200
    assert (await house.olga.go("/console/learning")).status_code == 503


RESTS_ON = (
    "approve_claim",
    "from the request",
    "What get_claim showed",
    "LIMIT",
    "as agreed",
    "Model calls",
    "How quality was scored",
)
STEPS = ("Called get_claim", "The policy asks for more", "Verified: approve_claim")


def world() -> ExecutorStage:
    made = ExecutorStage()
    asks(made)
    return made


async def page_of(here: Office, who: str, task: str = "t1") -> str:
    async with open_http(base_url=here.client.base_url, timeout=20, trust_env=False) as http:
        reader = Reader(http)
        await reader.sign_in(key=here.key_of(who)["X-API-Key"])
        await reader.go(f"/console/tasks/{task}")
        return reader.page


async def written(here: Office) -> None:
    await here.ask()
    await here.answer(str((await here.asked())["approval_id"]), "approve", "mia", "as agreed")


async def forget(redis: Redis, *suffixes: str) -> None:
    for name in [str(key) async for key in redis.scan_iter("*")]:
        if name.endswith(suffixes):
            await redis.delete(name)


def spoil(folder: Path) -> None:
    for file in filter(Path.is_file, folder.rglob("*")):
        file.write_bytes(b"spoiled")


@pytest.mark.promise("console.evidence", "console.walls")
async def test_a_tasks_page_tells_what_its_end_rests_on(redis: Redis, redis_url: str) -> None:
    """To who asked, to who approved, and to operators; another tenant's are told nothing."""
    async with office(redis, redis_url, world()) as here:
        await written(here)
        pages = [await page_of(here, who) for who in ("anna", "mia", "olga")]
        outside = await page_of(here, "eve")
    assert [text for text in (*RESTS_ON, *STEPS) for page in pages if text not in page] == []
    assert ("There is no task" in outside, "approve_claim" in outside) == (True, False)


@pytest.mark.promise("console.evidence")
async def test_it_tells_the_same_once_all_but_the_record_is_archived(
    redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    kept = ArchiveSettings(archive_url=tmp_path.as_uri(), archive_key=generate_encryption_key())
    archive = {"archive_url": kept.archive_url, "archive_key": kept.archive_key}
    async with office(redis, redis_url, world(), **archive) as here:
        await written(here)
        assert await Archiver(redis, kept.open_task_archive()).archive_once() == 1
        await forget(redis, ":ledger", ":approvals", ":events")
        archived = await page_of(here, "olga")
        spoil(tmp_path)
        spoiled = await page_of(here, "olga")
    assert [text for text in (*RESTS_ON, *STEPS) if text not in archived] == []
    assert all(text in spoiled for text in ("approve_claim", "LIMIT", "The steps have left the store"))
