"""``/approvals``: who may see and answer which approvals, how answers reach waiting tasks; and notices that are due."""

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import JsonValue
from redis.asyncio import Redis
from starlette.responses import JSONResponse, Response

from services.gateway.edge import fields
from services.gateway.edge.errors import DecisionNotCounted, InvalidField, MissingRole, NotFound
from services.gateway.edge.ids import derive_id
from services.gateway.features.approvals.views import ApprovalRequest, build_approval_view
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller, may_read
from services.gateway.features.tasks.intake import TimeAndFreshId, build_signal
from services.gateway.features.tasks.listing import parse_list_position
from services.gateway.features.tasks.message import DECISION_WORDS, MessageDecision
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.credential import parse_secret_reference, why_not_own_secret
from shared.contracts.task import Principal, TaskRecord, Turn, TurnKind
from shared.domain.exact_json import JsonObject
from shared.domain.partition import PARTITIONS
from shared.domain.words import Role, TaskState
from shared.infra import keys
from shared.infra.lua import ScriptedStore, parse_readable_rows, parse_scores
from shared.infra.stored_tasks import parse_task_record

MOST_LISTED_APPROVALS = 500
_READ_AT_ONCE = 100  # approvals with whole records: a round trip that other commands share has five seconds


class ApprovalListPage(NamedTuple):
    """Waiting approvals, the nearest deadline first. ``next_token``: for the next page; empty on the last page."""

    requests: Sequence[ApprovalRequest]
    next_token: str = ""


_WaitingPosition = tuple[int, str]  # a waiting approval's: its deadline in milliseconds, and its id


class Approvals(ScriptedStore):
    """Reads tenants' approvals: their ids in all partitions in one round trip, then their contents.

    Both methods may raise ``StoreUnavailable``.
    """

    async def list_waiting(self, caller: Caller, limit: int | None = None, page_token: str = "") -> ApprovalListPage:
        """The undecided approvals that the caller may see and that can be read, the nearest deadline first.

        At most ``limit`` of them, all if it is None. ``page_token``: of the page before; empty for the first. Raises
        ``InvalidField`` for a wrong token.
        """
        last_position = parse_list_position("token", *fields.decode_page_token(page_token)) if page_token else (0, "")
        positions = [row for row in await self._list_positions(caller.tenant) if row[0] > last_position]
        requests: list[ApprovalRequest] = []
        for start in range(0, len(positions), _READ_AT_ONCE):
            rows = await self._read_rows(member for _, member in positions[start : start + _READ_AT_ONCE])
            requests += (
                request
                for request in parse_readable_rows(_parse_request, rows)
                if request.approval.status is ApprovalStatus.WAITING and not request.record.state.is_terminal
                if may_read(caller.principal, request.record)
            )
            if limit is not None and len(requests) > limit:
                last_id = requests[limit - 1].approval.approval_id
                deadline = next(deadline for (deadline, approval_id), _ in positions if approval_id == last_id)
                return ApprovalListPage(requests[:limit], fields.encode_page_token(str(deadline), last_id))
        return ApprovalListPage(requests)

    async def _list_positions(self, tenant: str) -> list[tuple[_WaitingPosition, keys.WaitingApprovalMember]]:
        """The tenant's entries in all partitions by position, the nearest deadline first."""
        names = (keys.waiting_approvals_key(partition, tenant) for partition in range(PARTITIONS))
        replies = await self._scripts.execute_commands(*(("ZRANGE", name, 0, -1, "WITHSCORES") for name in names))
        members = [
            (int(score), keys.unpack_member(keys.WaitingApprovalMember, member))
            for reply in replies
            for member, score in parse_scores(reply).items()
        ]
        return sorted(((deadline, member.approval_id), member) for deadline, member in members)

    async def find_approval(self, tenant: str, approval_id: str) -> ApprovalRequest | None:
        """The approval, decided or not; None if it does not exist, or is no longer stored."""
        names = (keys.approval_key(partition, tenant, approval_id) for partition in range(PARTITIONS))
        rows = cast("list[str | None]", await self._scripts.execute_commands(*(("GET", name) for name in names)))
        tasks = [keys.unpack_member(keys.EndedTaskMember, row) for row in rows if row is not None]
        members = [keys.WaitingApprovalMember(approval_id, *task) for task in tasks if task.tenant == tenant]
        return next(map(_parse_request, await self._read_rows(members)), None)

    async def _read_rows(self, members: Iterable[keys.WaitingApprovalMember]) -> list[tuple[str, str]]:
        """The rows of the named approvals, as far as they still exist, with those of their tasks."""
        commands = []
        for approval_id, *task in members:
            names = keys.task_keys(*task)
            commands += [("HGET", names.approvals, approval_id), ("HGET", names.record, "json")]
        if not commands:
            return []
        answers = cast("list[str | None]", await self._scripts.execute_commands(*commands))
        pairs = zip(answers[::2], answers[1::2], strict=True)
        return [(approval, record) for approval, record in pairs if approval and record]


def _parse_request(rows: tuple[str, str]) -> ApprovalRequest:
    return ApprovalRequest(Approval.model_validate_json(rows[0]), parse_task_record(rows[1]))


_LONGEST_COMMENT = 2000


def parse_answer(body: JsonObject) -> MessageDecision:
    """Parse ``{"decision": "approve" | "reject", "comment"}``; raises ``InvalidField``."""
    word = fields.required_id_at(body, "decision").strip().lower()
    if word not in DECISION_WORDS:
        raise InvalidField("decision", f"must be {' or '.join(DECISION_WORDS)}")
    return MessageDecision(word, fields.short_text_at(body, "comment", _LONGEST_COMMENT))


# Puts a turn ahead of its session's messages, waits a little for its end, and returns the task.
SendSignal = Callable[[TaskRecord, Turn], Awaitable[TaskRecord]]


class ApprovalService(Approvals):
    """Lists, shows and answers a tenant's approvals. All methods may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, send_signal: SendSignal, clock: Callable[[], datetime]) -> None:
        super().__init__(redis)
        self._send_signal, self._clock = send_signal, clock

    def show_request(self, request: ApprovalRequest, caller: Caller) -> dict[str, JsonValue]:
        """The approval as JSON; it also says whether the caller's answer would count."""
        return build_approval_view(request, caller.principal, self._clock())

    async def get_approval(self, approval_id: str, caller: Caller) -> ApprovalRequest:
        """One approval; decided ones too, as long as their tasks are stored. Raises ``NotFound``."""
        request = await self.find_approval(caller.tenant, approval_id)
        if request is None or not may_read(caller.principal, request.record):
            raise NotFound(f"approval {approval_id!r} that you may see")
        return request

    async def submit_answer(
        self, approval_id: str, answer: MessageDecision, caller: Caller
    ) -> tuple[ApprovalRequest, bool]:
        """Send an answer to the waiting task, and wait a little; returns the approval, and whether it took effect.

        The same answer by the same person counts once, however often it is sent. Raises ``MissingRole``,
        ``NotFound``, and ``DecisionNotCounted`` with the reason.
        """
        if Role.APPROVER not in caller.principal.roles:
            raise MissingRole("you do not have the role approver")
        request = await self.get_approval(approval_id, caller)
        if _has_answered(request.approval, answer, caller.principal):
            return request, True
        _require_waiting_approval(request)
        turn = _build_answer_turn(request, answer, caller, self._clock())
        record = await self._send_signal(request.record, turn)
        answered = await self.find_approval(caller.tenant, approval_id) or request
        if _has_answered(answered.approval, answer, caller.principal):
            return answered._replace(record=record), True
        _require_waiting_approval(answered._replace(record=record))
        if turn.turn_id in record.turns_done:
            reason = (record.reason or f"the task is {record.state.value}").partition("\n\n")[0]  # the question follows
            raise DecisionNotCounted(approval_id, reason)
        return answered, False


def _require_waiting_approval(request: ApprovalRequest) -> None:
    approval = request.approval
    if approval.status is ApprovalStatus.SUPERSEDED:
        raise DecisionNotCounted(approval.approval_id, _why_superseded(request))
    if approval.status is not ApprovalStatus.WAITING:
        by = ", ".join(decision.by.id for decision in approval.decisions)
        raise DecisionNotCounted(approval.approval_id, f"it is {approval.status.value}{f' by {by}' if by else ''}")


def _why_superseded(request: ApprovalRequest) -> str:
    """Why an approval was superseded, as a sentence for its approver."""
    current_id = request.record.metadata.get("approval_id")
    if request.record.state is not TaskState.INPUT_REQUIRED or current_id in (None, request.approval.approval_id):
        return "it is superseded: its task ended, or goes on without it"
    return f"it is superseded: what it rested on has changed, and approval {current_id!r} is asked instead"


def _has_answered(approval: Approval, answer: MessageDecision, principal: Principal) -> bool:
    """Whether the principal has given that answer to an approval that is not superseded."""
    if approval.status is ApprovalStatus.SUPERSEDED:
        return False
    approves = answer.decision == "approve"
    return any(decision.by.id == principal.id and decision.approve is approves for decision in approval.decisions)


def _build_answer_turn(request: ApprovalRequest, answer: MessageDecision, caller: Caller, now: datetime) -> Turn:
    """The turn that carries an answer to its task. Equal answers with equal rights at one level have the same id."""
    approval, rights = request.approval, (*caller.principal.roles, *caller.principal.levels)
    subject = (caller.tenant, approval.timer_subject, answer.decision, caller.principal.id)
    moment = TimeAndFreshId(now, derive_id("answer", *subject, *rights))
    data: dict[str, JsonValue] = {"decision": answer.decision, "comment": answer.comment}
    record, decision = request.record, answer.decision
    return build_signal(record, caller, TurnKind.DECISION, moment, decision, **data, approval_id=approval.approval_id)


class UnreadableReference(Exception):
    """A notice target refers to a variable that is not set or not permitted; the message names it, but no secret."""


ResolveEnvReference = Callable[[str, str], str]  # of a target's field and its tenant; may raise ``UnreadableReference``


_MOST_CLAIMED = 20  # of one partition, in one look
_CLAIM_MS = 30_000


class DueNotices(ScriptedStore):
    """The notices about approvals that have not been queued yet. Every method may raise ``StoreUnavailable``."""

    async def claim_due_notices(self) -> Sequence[keys.NoticeMember]:
        """Claim the due notices for a while; if this process dies, another claims them afterwards."""
        calls = [([partition.notices], [_MOST_CLAIMED, _CLAIM_MS]) for partition in keys.all_partitions()]
        rows = cast("list[list[str]]", await self._scripts.run_many("claim_due", calls))
        return [keys.unpack_member(keys.NoticeMember, member) for row in rows for member in row]

    async def remove_notice(self, notice: keys.NoticeMember) -> None:
        notices = keys.partition_keys_of(notice.tenant, notice.session_id).notices
        await self._scripts.execute("ZREM", notices, keys.pack_member(notice))


_ENV_PREFIX = "env:"


def resolve_env_reference(text: str, tenant: str, environ: Mapping[str, str] = os.environ) -> str:
    """The value of the environment variable that a target's field refers to (``env:NAME``); a field that refers to none
    is returned as it is.

    Raises ``UnreadableReference``.
    """
    if not text.startswith(_ENV_PREFIX):
        return text
    reference = parse_secret_reference(text)
    if refusal := why_not_own_secret(reference, tenant):
        raise UnreadableReference(f"{text} may not be used: {refusal}")
    value = environ.get(reference.name, "").strip()
    if not value:
        raise UnreadableReference(f"{text} is not set in the gateway's environment")
    return value


class ApprovalEndpoints(ApiEndpoints[ApprovalService]):
    @api_path("GET", "/approvals")
    async def list_all(self, call: ApiCall) -> JsonValue:
        """List the approvals that wait for a decision and that the caller may see, the nearest deadline first.

        Parameters: ``limit`` (approvals a page; all without it), ``token`` (of the page before).
        """
        parameters = call.request.query_params
        limit = fields.parse_limit(parameters["limit"], MOST_LISTED_APPROVALS) if "limit" in parameters else None
        page = await self._service.list_waiting(call.caller, limit, parameters.get("token", ""))
        views: list[JsonValue] = [self._service.show_request(request, call.caller) for request in page.requests]
        return {"approvals": views, "token": page.next_token}

    @api_path("GET", "/approvals/{approval_id}")
    async def show_one(self, call: ApiCall) -> JsonValue:
        """Show one approval: its calls, reasons and deadline, and the decisions so far.

        404 if there is none of that id that the caller may see.
        """
        return self._service.show_request(
            await self._service.get_approval(call.path_value("approval_id"), call.caller), call.caller
        )

    @api_path("POST", "/approvals/{approval_id}")
    async def answer(self, call: ApiCall) -> Response:
        """Approve or reject the calls of one approval: ``{"decision", "comment"}``.

        200 once the decision has taken effect, 202 if it will later, 409 if it does not count, 403 without the role to
        decide, 404 if there is no such approval that the caller may see. The answer contains the approval and the state
        of its task.
        """
        approval_id, answer = call.path_value("approval_id"), parse_answer(call.body)
        request, has_effect = await self._service.submit_answer(approval_id, answer, call.caller)
        return JSONResponse(self._service.show_request(request, call.caller), status_code=200 if has_effect else 202)
