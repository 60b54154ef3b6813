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

_RETRY_MS = 30_000
_encode = json.JSONEncoder(ensure_ascii=False).encode  # made once: making it costs more than a use
_LOST_TEXT = "null"  # stands in an envelope for a text that nobody has any more
_ClaimedRow = tuple[str, str, list[object]]  # a task, "ok" or why it cannot be read, and what was read
_Row = tuple[str, list[str]]  # a stream's entry: its id, and names and values by turns


class RedisEndedTasks(EndedTasks):
    def __init__(self, redis: Redis, shared: SharedTexts | None = None) -> None:
        """``shared``: the shared texts that this process has already stored or read."""
        self._redis, self._scripts = redis, Scripts(redis)
        self._shared = shared or SharedTexts(redis)

    async def claim(self, partitions: Collection[int], limit: int, *, with_content: bool) -> ClaimedTasks:
        share = max(1, limit // max(1, len(partitions)))
        calls = [
            ([keys.partition_keys(number).unarchived], [share, _RETRY_MS, int(with_content)]) for number in partitions
        ]
        batches = cast("list[list[_ClaimedRow]]", await self._scripts.run_many("take_ended", calls))
        contents = [await self._read_content(*row) for batch in batches for row in batch]
        tasks = tuple(content for content in contents if content is not None)
        numbers = [number for number, batch in zip(partitions, batches, strict=True) if len(batch) >= share]
        return ClaimedTasks(tasks, numbers)

    async def _read_content(self, member: str, problem: str, parts: list[object]) -> EndedContent | None:
        """The task's content for the archive; None if it cannot be read."""
        task = EndedTask(*keys.unpack_member(keys.EndedMember, member))
        if problem != "ok":
            log.warning("not_archived", task=task.task_id, error=problem)
            return None
        if not parts:
            return EndedContent(task)
        try:
            return EndedContent(task, await self._build_envelope(task.tenant, parts))
        except StoreUnavailable:
            raise
        except Exception as error:  # the outer edge of one task: one that cannot be read must not hold up the others
            log.exception("not_archived", task=task.task_id, error=repr(error))
            return None

    async def set_expiry(self, tasks: Sequence[EndedContent], *, are_archived: bool) -> None:
        seconds = [0, keys.DETAIL_SECONDS] if are_archived else [keys.TASK_RETENTION_SECONDS] * 2
        calls: list[tuple[str, list[str], list[Argument]]] = []
        for task, _ in tasks:
            alias, alias_value = keys.task_location_key(task.tenant, task.task_id), f"{task.task_id}\n{task.session_id}"
            names = keys_for("archived", keys.task_keys(*task), keys.partition_keys_of(task.tenant, task.session_id))
            if isinstance(self._redis, ClusterRedis):  # there the name lies in another slot
                calls.append(("let_go", [alias], [alias_value, keys.TASK_RETENTION_SECONDS]))
            else:
                names.append(alias)
            member = keys.pack_member(keys.EndedMember(*task))
            calls.append(("archived", names, [member, *seconds, keys.TASK_RETENTION_SECONDS, alias_value]))
        for (script, *_), reply in zip(calls, await self._scripts.run_all(calls), strict=True):
            if isinstance(reply, ResponseError):  # what the server refuses for one task keeps no other from leaving
                log.warning("ended_task_stays", script=script, error=str(reply))

    async def _build_envelope(self, tenant: str, parts: list[object]) -> bytes:
        """The task as ``ArchivedTask`` JSON. Parts that are stored as JSON are joined without being parsed."""
        record, journal, ledger, approvals, events = parts
        steps_stored = parse_rows((row_id, read_pairs(flat)) for row_id, flat in cast("list[_Row]", journal))
        own_texts = {step.key: step.join_data({}) for step in steps_stored if step.kind == TEXT_KIND}
        shared_names = {name for step in steps_stored for name in step.names} - own_texts.keys()
        texts = {**await self._shared.read(tenant, shared_names), **own_texts}
        steps = _encode([_fill_step(step, texts) for step in steps_stored if step.kind != TEXT_KIND])
        writes = [f"{_encode(key)}:{entry_json(row)}" for key, row in read_pairs(ledger).items()]
        decisions = [row for key, row in read_pairs(approvals).items() if key != "latest"]
        event_texts = [events_json(read_pairs(flat)["e"])[1:-1] for _, flat in cast("list[_Row]", events)]
        members = [f'"v":{ARCHIVE_VERSION}', f'"record":{record_json(str(record))}', f'"journal":{steps}']
        members += [f'"ledger":{{{",".join(writes)}}}', f'"approvals":[{",".join(decisions)}]']
        return ("{" + ",".join((*members, f'"events":[{",".join(event_texts)}]')) + "}").encode()


def _fill_step(step: StoredStep, texts: Mapping[str, str]) -> dict[str, str | int | list[str]]:
    """A journal step with its shared texts filled in. ``lost`` lists the names of texts that no longer exist."""
    lost_names = [name for name in step.names if name not in texts]
    all_texts = {**texts, **dict.fromkeys(lost_names, _LOST_TEXT)}
    fields: dict[str, str | int | list[str]] = {"key": step.key, "kind": step.kind, "data": step.join_data(all_texts)}
    return {**fields, "at_ms": step.at_ms, **({"lost": lost_names} if lost_names else {})}
