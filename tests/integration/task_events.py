"""Waiting for what a task tells."""

import asyncio
from contextlib import aclosing

from shared.contracts.task import TaskRecord
from shared.infra.task_store import TaskStore

PATIENCE = 30.0


async def times(store: TaskStore, record: TaskRecord, kind: str, count: int) -> None:
    """Wait until an event of that kind was seen so often."""
    async with asyncio.timeout(PATIENCE), aclosing(store.watch(record.tenant, record.task_id)) as events:
        async for _, event in events:
            count -= event.kind == kind
            if not count:
                return
