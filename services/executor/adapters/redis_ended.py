"""Ended tasks in Redis: they stay until they are archived, and for a fixed time after that."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import cast

import structlog
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from services.executor.adapters.shared_texts import SharedTexts
from services.executor.ports.upkeep import ClaimedTasks, EndedContent, EndedTask, EndedTasks
from shared.contracts.archive import ARCHIVE_VERSION
from shared.infra import keys
from shared.infra.journal_rows import TEXT_KIND, StoredStep, parse_rows
from shared.infra.ledger_rows import entry_json
from shared.infra.lua import Argument, Scripts, read_pairs
from shared.infra.redis_cluster import ClusterRedis
from shared.infra.signatures import keys_for
from shared.infra.stored_tasks import events_json, record_json
from shared.ports.store import StoreUnavailable

log = structlog.get_logger()

_AGAIN_MS = 30_000
_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: making it costs more than a use
_LOST_TEXT = "null"  # stands in an envelope for a text that nobody has any more
_Taken = tuple[str, str, list[object]]  # a task, "ok" or why it cannot be read, and what was read
_Row = tuple[str, list[str]]  # a stream's entry: its id, and names and values by turns


class RedisEndedTasks(EndedTasks):
    def __init__(self, redis: Redis, shared: SharedTexts | None = None) -> None:
        """``shared``: the shared texts that this process has already stored or read."""
        self._redis, self._scripts = redis, Scripts(redis)
        self._shared = shared or SharedTexts(redis)

    async def claim(self, partitions: Collection[int], most: int, *, with_content: bool) -> ClaimedTasks:
        each = max(1, most // max(1, len(partitions)))
        calls = [
            ([keys.partition_keys(number).unarchived], [each, _AGAIN_MS, int(with_content)]) for number in partitions
        ]
        rows = cast("list[list[_Taken]]", await self._scripts.run_many("take_ended", calls))
        found = [await self._read_content(*row) for taken in rows for row in taken]
        tasks = tuple(one for one in found if one is not None)
        more = [number for number, taken in zip(partitions, rows, strict=True) if len(taken) >= each]
        return ClaimedTasks(tasks, more)

    async def _read_content(self, member: str, problem: str, found: list[object]) -> EndedContent | None:
        """The task's content for the archive; None if it cannot be read."""
        task = EndedTask(*keys.unpack_member(keys.EndedMember, member))
        if problem != "ok":
            log.warning("not_archived", task=task.task_id, error=problem)
            return None
        if not found:
            return EndedContent(task)
        try:
            return EndedContent(task, await self._build_envelope(task.tenant, found))
        except StoreUnavailable:
            raise
        except Exception as error:  # the outer edge of one task: one that cannot be read must not hold up the others
            log.exception("not_archived", task=task.task_id, error=repr(error))
            return None

    async def set_expiry(self, tasks: Sequence[EndedContent], *, are_archived: bool) -> None:
        seconds = [0, keys.DETAIL_SECONDS] if are_archived else [keys.TASK_RETENTION_SECONDS] * 2
        calls: list[tuple[str, list[str], list[Argument]]] = []
        for task, _ in tasks:
            alias, named = keys.alias_key(task.tenant, task.task_id), f"{task.task_id}\n{task.session_id}"
            names = keys_for("archived", keys.task_keys(*task), keys.partition_keys_of(task.tenant, task.session_id))
            if isinstance(self._redis, ClusterRedis):  # there the name lies in another slot
                calls.append(("let_go", [alias], [named, keys.TASK_RETENTION_SECONDS]))
            else:
                names.append(alias)
            member = keys.pack_member(keys.EndedMember(*task))
            calls.append(("archived", names, [member, *seconds, keys.TASK_RETENTION_SECONDS, named]))
        for (script, *_), reply in zip(calls, await self._scripts.run_all(calls), strict=True):
            if isinstance(reply, ResponseError):  # what the server refuses for one task keeps no other from leaving
                log.warning("ended_task_stays", script=script, error=str(reply))

    async def _build_envelope(self, tenant: str, found: list[object]) -> bytes:
        """The task as ``ArchivedTask`` JSON. Parts that are stored as JSON are joined without being parsed."""
        record, journal, ledger, approvals, events = found
        read = parse_rows((row_id, read_pairs(flat)) for row_id, flat in cast("list[_Row]", journal))
        own = {step.key: step.join_data({}) for step in read if step.kind == TEXT_KIND}
        texts = {**await self._shared.read(tenant, {name for step in read for name in step.names} - own.keys()), **own}
        steps = _encode([_fill_step(step, texts) for step in read if step.kind != TEXT_KIND])
        writes = [f"{_encode(key)}:{entry_json(row)}" for key, row in read_pairs(ledger).items()]
        asked = [row for key, row in read_pairs(approvals).items() if key != "latest"]
        told = [events_json(read_pairs(flat)["e"])[1:-1] for _, flat in cast("list[_Row]", events)]
        parts = [f'"v":{ARCHIVE_VERSION}', f'"record":{record_json(str(record))}', f'"journal":{steps}']
        parts += [f'"ledger":{{{",".join(writes)}}}', f'"approvals":[{",".join(asked)}]']
        return ("{" + ",".join((*parts, f'"events":[{",".join(told)}]')) + "}").encode()


def _fill_step(step: StoredStep, texts: Mapping[str, str]) -> dict[str, str | int | list[str]]:
    """A journal step with its shared texts filled in. ``lost`` lists the names of texts that no longer exist."""
    lost = [name for name in step.names if name not in texts]
    every = {**texts, **dict.fromkeys(lost, _LOST_TEXT)}
    said: dict[str, str | int | list[str]] = {"key": step.key, "kind": step.kind, "data": step.join_data(every)}
    return {**said, "at_ms": step.at_ms, **({"lost": lost} if lost else {})}
