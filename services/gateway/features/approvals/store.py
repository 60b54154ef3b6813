"""Approvals, and notices about them that are due, in Redis."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from services.gateway.features.approvals import service as approvals
from services.gateway.features.approvals.views import ApprovalRequest
from shared.contracts.approval import Approval, ApprovalStatus, NoticeEvent
from shared.contracts.credential import parse_reference, why_not_own_secret
from shared.domain.partition import PARTITIONS, partition_of
from shared.infra import keys
from shared.infra.lua import ScriptedStore
from shared.infra.stored_tasks import read_record


class RedisApprovals(ScriptedStore, approvals.Approvals):
    """Reads approvals in two round trips: their names in each partition, then their contents."""

    async def waiting(self, tenant: str) -> Sequence[ApprovalRequest]:
        asked = (("ZRANGE", keys.waiting_approvals_key(partition, tenant), 0, -1) for partition in range(PARTITIONS))
        rows = cast("list[list[str]]", await self._scripts.execute_many(*asked))
        found = await self._read_requests(
            keys.unpack(keys.WaitingApprovalMember, member) for row in rows for member in row
        )
        return [
            one for one in found if one.approval.status is ApprovalStatus.WAITING and not one.record.state.is_terminal
        ]

    async def find(self, tenant: str, approval_id: str) -> ApprovalRequest | None:
        names = (keys.approval_key(partition, tenant, approval_id) for partition in range(PARTITIONS))
        rows = cast("list[str | None]", await self._scripts.execute_many(*(("GET", name) for name in names)))
        tasks = [keys.unpack(keys.EndedMember, row) for row in rows if row is not None]
        asked = [keys.WaitingApprovalMember(approval_id, *task) for task in tasks if task.tenant == tenant]
        return next(iter(await self._read_requests(asked)), None)

    async def _read_requests(self, asked: Iterable[keys.WaitingApprovalMember]) -> list[ApprovalRequest]:
        """Read the named approvals, as far as they still exist, with their tasks."""
        wanted = [(one.approval_id, keys.task_keys(one.tenant, one.session_id, one.task_id)) for one in asked]
        if not wanted:
            return []
        fields = [
            field for approval, names in wanted for field in ((names.approvals, approval), (names.record, "json"))
        ]
        found = cast("list[str | None]", await self._scripts.execute_many(*(("HGET", *field) for field in fields)))
        return [
            ApprovalRequest(Approval.model_validate_json(approval), read_record(record))
            for approval, record in zip(found[::2], found[1::2], strict=True)
            if approval and record
        ]


_MOST = 20  # of one partition, in one look
_AGAIN_MS = 30_000


class RedisDueNotices(ScriptedStore, approvals.DueNotices):
    async def claim_due(self) -> Sequence[approvals.DueNotice]:
        calls = [([one.notices], [_MOST, _AGAIN_MS]) for one in keys.all_partitions()]
        rows = cast("list[list[str]]", await self._scripts.run_many("claim_due", calls))
        return [_parse_due_notice(member) for row in rows for member in row]

    async def mark_done(self, due: approvals.DueNotice) -> None:
        member = keys.unpack(keys.NoticeMember, due.name)
        notices = keys.partition_keys(partition_of(member.tenant, member.session_id)).notices
        await self._scripts.execute("ZREM", notices, due.name)


def _parse_due_notice(name: str) -> approvals.DueNotice:
    member = keys.unpack(keys.NoticeMember, name)
    return approvals.DueNotice(name, NoticeEvent(member.event), int(member.step), member.tenant, member.approval_id)


_ENV = "env:"


def read_reference(text: str, tenant: str, environ: Mapping[str, str] = os.environ) -> str:
    """The value of the variable that a target's field refers to (``env:NAME``), else the field itself.

    Raises ``UnreadableReference``.
    """
    if not text.startswith(_ENV):
        return text
    named = parse_reference(text)
    if wall := why_not_own_secret(named, tenant):
        raise approvals.UnreadableReference(f"{text} may not be used: {wall}")
    found = environ.get(named.name, "").strip()
    if not found:
        raise approvals.UnreadableReference(f"{text} is not set in the gateway's environment")
    return found
