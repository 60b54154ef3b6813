"""A whole stack whose durable state lies on a Redis Cluster of three primaries."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.embedded_redis import EmbeddedRedis
from tests.e2e.archived import archived_tasks
from tests.e2e.whole_stack import WholeStack, whole_stack
from tests.integration.redis_nodes import cluster_url, join_nodes, three_primaries
from tests.redis_server import short_folder

_CHANGE = "Update the phone of employee EMP-{0} to +1 555 40{0}."
_EMPLOYEES = (219, 352, 447, 451)


async def _count_learned(whole: WholeStack) -> int:
    status = loads_object((await whole.http.get("/rl/status")).content)
    return cast(int, cast(JsonObject, status["case_log"])["total"])


@pytest.mark.promise("redis.cluster")
async def test_tasks_of_many_partitions_are_done_learned_and_archived_on_three_primaries() -> None:
    with three_primaries() as nodes, short_folder() as folder, EmbeddedRedis(Path(folder)) as queue:
        await join_nodes(nodes)
        async with whole_stack(REDIS_URL=cluster_url(nodes), QUEUE_REDIS_URL=queue.url) as whole:
            names = [f"phone-{number}" for number in _EMPLOYEES]
            texts = map(_CHANGE.format, _EMPLOYEES)
            await asyncio.gather(*(whole.send(text, name) for text, name in zip(texts, names, strict=True)))
            records = [await whole.record(name) for name in names]
            async with asyncio.timeout(20):
                while await _count_learned(whole) < len(names):
                    await asyncio.sleep(0.02)
            archived = await archived_tasks(whole.stack.options.folder, len(names))
        kept = [await node.say("DBSIZE") for node in nodes]
    assert {str(record.state.value) for record in records} == {"completed"}
    assert all(record.metadata["writes"] for record in records)
    assert archived.keys() >= set(names)
    assert all(kept)
