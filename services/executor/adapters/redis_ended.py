"""Ended tasks in Redis, until they are archived and for a while afterwards."""

import json
from collections.abc import Collection, Sequence
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import ResponseError
from typing_extensions import override

from services.executor.ports.ended import EndedTask, EndedTasks
from shared.contracts.archive import VERSION
from shared.infra import keys
from shared.infra.lua import Argument, Call, Scripts

log = structlog.get_logger()

_AGAIN_MS = 30_000
_Row = tuple[str, list[str]]  # a stream's entry: its id, and names and values by turns


class RedisEndedTasks(EndedTasks):
    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis)

    @override
    async def take(self, partitions: Collection[int], most: int) -> tuple[EndedTask, ...]:
        each = max(1, most // max(1, len(partitions)))
        calls = [([keys.partition_keys(number).unarchived], [each, _AGAIN_MS]) for number in partitions]
        found = cast("list[list[str]]", await self._scripts.run_many("take_unarchived", calls))
        return tuple(EndedTask(*keys.unpack_ended(member)) for members in found for member in members)

    @override
    async def read(self, task: EndedTask) -> bytes | None:
        found = await self._scripts.run("read_ended", _names(task), ["1"])
        return None if found is None else _envelope(cast("list[object]", found))

    @override
    async def let_go(self, tasks: Sequence[EndedTask], *, archived: bool) -> None:
        found = await self._scripts.run_each("read_ended", [(_names(task), ["0"]) for task in tasks])
        known_as = [str(reply[1]) if isinstance(reply, list) else "" for reply in found]
        named = [(task, name) for task, other in zip(tasks, known_as, strict=True) for name in {task.task_id, other}]
        aliases = [_alias(task, name) for task, name in named if name]
        await self._on_each("alias_leaves", aliases)
        seconds = [0, keys.DETAIL_SECONDS] if archived else [keys.TASK_RETENTION_SECONDS] * 2
        calls: list[tuple[list[str], list[Argument]]] = [
            ([_mark(task), *_names(task), _push(task)], [_member(task), *seconds, keys.TASK_RETENTION_SECONDS])
            for task in tasks
        ]
        await self._on_each("archived", calls)

    async def _on_each(self, script: str, calls: Sequence[Call]) -> None:
        """What the server refuses for one task is said, and keeps no other from leaving."""
        for reply in await self._scripts.run_each(script, calls):
            if isinstance(reply, ResponseError):
                log.warning("ended_task_stays", script=script, error=str(reply))


def _names(task: EndedTask) -> list[str]:
    names = keys.task_keys(*task)
    return [names.record, names.journal, names.ledger, names.events, names.approvals]


def _push(task: EndedTask) -> str:
    return keys.task_keys(*task).push


def _mark(task: EndedTask) -> str:
    return keys.partition_keys_of(task.tenant, task.session_id).unarchived


def _member(task: EndedTask) -> str:
    return keys.pack(keys.EndedMember(*task))


def _alias(task: EndedTask, name: str) -> tuple[list[str], list[Argument]]:
    value = f"{task.task_id}\n{task.session_id}"
    return [keys.alias_key(task.tenant, name)], [value, keys.TASK_RETENTION_SECONDS]


def _envelope(found: list[object]) -> bytes:
    """The ``ArchivedTask`` as JSON; what is JSON already is put together as it is, and not read."""
    record, _, journal, ledger, approvals, events = found
    steps = [json.dumps(_step(row), ensure_ascii=False) for row in cast("list[_Row]", journal)]
    writes = [f"{json.dumps(key)}:{row.partition(chr(10))[2]}" for key, row in _pairs(ledger).items()]
    asked = [row for key, row in _pairs(approvals).items() if key != "latest"]
    told = [_fields(row)["e"] for row in cast("list[_Row]", events)]
    parts = [f'"v":{VERSION}', f'"record":{record}', f'"journal":[{",".join(steps)}]']
    parts += [f'"ledger":{{{",".join(writes)}}}', f'"approvals":[{",".join(asked)}]', f'"events":[{",".join(told)}]']
    return ("{" + ",".join(parts) + "}").encode()


def _step(row: _Row) -> dict[str, str | int]:
    fields = _fields(row)
    at_ms = int(row[0].partition("-")[0])
    return {"key": fields["key"], "kind": fields["kind"], "data": fields["data"], "at_ms": at_ms}


def _fields(row: _Row) -> dict[str, str]:
    return _pairs(row[1])


def _pairs(flat: object) -> dict[str, str]:
    listed = cast("list[str]", flat)
    return dict(zip(listed[::2], listed[1::2], strict=True))
