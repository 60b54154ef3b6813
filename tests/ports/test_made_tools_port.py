"""What every ``MadeTools`` promises, on the double and on Redis."""

import asyncio
from datetime import UTC, datetime

import pytest
from redis.asyncio import Redis

from services.executor.adapters.made_tools import RedisMadeTools
from services.executor.ports.services import MadeTools
from shared.contracts.made_tool import MadeTool
from tests.doubles.memory_made import MemoryMade

TOOL = MadeTool(
    name="net_margin",
    purpose="p",
    arguments=("a",),
    result="ratio",
    code="c",
    code_sha256="1",
    cases=(),
    made_at=datetime(2026, 1, 2, tzinfo=UTC),
    task_id="t1",
)


@pytest.fixture(params=["memory", "redis"])
def made(request: pytest.FixtureRequest, redis: Redis) -> MadeTools:
    return MemoryMade() if request.param == "memory" else RedisMadeTools(redis)


@pytest.mark.promise("made.kept")
async def test_the_same_code_kept_again_is_the_same_version(made: MadeTools) -> None:
    first = await made.store_version("acme", TOOL)
    again = await made.store_version("acme", TOOL)
    other = await made.store_version("acme", TOOL.model_copy(update={"code_sha256": "2"}))

    assert (first.version, again.version, other.version) == (1, 1, 2)
    assert await made.list_versions("acme") == (first, other)


@pytest.mark.promise("made.kept")
async def test_no_tenant_sees_the_tools_of_another(made: MadeTools) -> None:
    await made.store_version("acme", TOOL)

    assert await made.list_versions("globex") == ()


@pytest.mark.promise("made.kept")
async def test_tools_kept_at_the_same_time_have_versions_of_their_own(made: MadeTools) -> None:
    codes = [TOOL.model_copy(update={"code_sha256": str(number)}) for number in range(5)]

    kept = await asyncio.gather(*(made.store_version("acme", one) for one in codes))

    assert sorted(tool.version for tool in kept) == [1, 2, 3, 4, 5]
    assert len(await made.list_versions("acme")) == 5
