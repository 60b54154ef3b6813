"""The audit export: each write with its requester, approvals, arguments, rules, status and proof."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, cast

from redis.asyncio import Redis
from starlette.responses import Response, StreamingResponse

from services.gateway.edge.errors import InvalidField, NoVisibleTask
from services.gateway.edge.fields import decode_page_token, encode_page_token, parse_limit, parse_time
from services.gateway.features.approvals.views import build_decisions_view, list_argument_sources
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller, require_operator_role
from services.gateway.features.tasks.listing import TaskLists, TaskQuery, parse_list_position
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.archive import ArchivedTask, parse_archived_task
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, loads, objects_in
from shared.domain.lru_cache import LruCache
from shared.domain.protected_values import ProtectedKind, find_protected_values
from shared.domain.redaction import redact_json
from shared.infra import keys
from shared.infra.ledger_rows import parse_ledger_entry
from shared.infra.lua import ScriptedStore, parse_row_or_log
from shared.infra.stored_tasks import parse_task_events
from shared.ports.archive import Archive, ArchiveUnavailable, UnreadableArchivedContent
from shared.ports.store import StoreUnavailable
from shared.ports.tasks import Tasks

_NEVER_SENT = datetime.max.replace(tzinfo=UTC)  # what was never sent comes last


def build_audit_rows(task: ArchivedTask, kept_in: str) -> list[JsonObject]:
    """A row for each write in the task's ledger, in the order of sending. ``kept_in``: ``store`` or ``archive``.

    What the privacy guard marks is masked; digests are of the unmasked values.
    """
    known_values = find_protected_values(task.record.request.text)
    entries = sorted(task.ledger.values(), key=lambda entry: entry.sending_at or _NEVER_SENT)
    return [_mask_row(_build_audit_row(task, entry, kept_in), known_values) for entry in entries]


def build_rows_from_record(record: TaskRecord) -> list[JsonObject]:
    """A row with fewer fields for each write, from the task's record alone, if ledger and archive are gone."""
    known_values = find_protected_values(record.request.text)
    rows = (_build_row_without_ledger(record, write) for write in objects_in(record.metadata.get("writes")))
    return [_mask_row(row, known_values) for row in rows]


def _build_audit_row(task: ArchivedTask, entry: LedgerEntry, kept_in: str) -> JsonObject:
    approvals = [approval for approval in task.approvals if approval.plan_hash == entry.plan_hash]
    return {
        **_describe_task(task.record),
        "call_id": entry.call.call_id,
        "connection": entry.call.connection_id,
        "tool": entry.call.tool,
        "class": entry.call.tool_class.value,
        "arguments": loads(entry.arguments_json),
        "arguments_sha256": _hash_text(entry.arguments_json),
        "provenance": [
            source.model_dump(exclude={"v", "call_id"}) for source in list_argument_sources(entry.call, *approvals)
        ],
        "figures": _describe_figures(task.record, approvals),
        "approvals": [_describe_approval(approval) for approval in approvals],
        "allowed_by": _get_metadata_text(task.record, "approval"),
        "policy": _describe_policy(task.record, approvals),
        "plan_hash": entry.plan_hash,
        "status": entry.status.value,
        "proof": _describe_proof(entry),
        "sent_at": _format_iso_time(entry.sending_at),
        "attempt": entry.attempt,
        "earlier": [
            {
                "number": attempt.number,
                "status": attempt.status.value,
                "sent_at": _format_iso_time(attempt.sending_at),
                "note": attempt.note,
            }
            for attempt in entry.earlier
        ],
        "compensates": entry.compensates,
        "operators": [
            {
                "resolution": resolution.resolution.value,
                "by": resolution.by.id,
                "at": resolution.at.isoformat(),
                "comment": resolution.comment,
            }
            for resolution in entry.resolutions
        ],
        "kept_in": kept_in,
    }


def _describe_task(record: TaskRecord) -> JsonObject:
    return {
        "task_id": record.task_id,
        "session_id": record.session_id,
        "task_state": record.state.value,
        "task_updated_at": record.updated_at.isoformat(),
        "process_type": _get_metadata_text(record, "process_type"),
        "asked_by": {"id": record.requester.id, "verified": record.requester.verified},
        "asked_at": record.accepted_at.isoformat(),
    }


def _build_row_without_ledger(record: TaskRecord, write: JsonObject) -> JsonObject:
    copied_fields = ("call_id", "connection", "tool", "arguments", "status", "attempt", "compensates")
    return {
        **_describe_task(record),
        **{name: write.get(name) for name in copied_fields},
        "allowed_by": _get_metadata_text(record, "approval"),
        "policy": _describe_policy(record, []),
        "plan_hash": _get_metadata_text(record, "plan_hash"),
        "proof": {"note": write.get("note")},
        "kept_in": "record",
    }


def _describe_figures(record: TaskRecord, approvals: Sequence[Approval]) -> list[Json]:
    """The computed figures, with operation and operands if an approval recorded them, else only names and values."""
    figures = next((approval.grounds.figures for approval in reversed(approvals) if approval.grounds.figures), ())
    if figures:
        return [figure.model_dump(mode="json", exclude={"v"}) for figure in figures]
    values = as_object(record.metadata.get("values"))
    return [{"name": name, "value": str(value)} for name, value in values.items()]


def _describe_approval(approval: Approval) -> Json:
    return {
        "approval_id": approval.approval_id,
        "status": approval.status.value,
        "level": approval.level,
        "needed": approval.needed,
        "asked_at": approval.asked_at.isoformat(),
        "deadline": approval.deadline.isoformat(),
        "escalated_from": [escalation.level for escalation in approval.escalations],
        "confirmation": approval.confirmation.about if approval.confirmation else None,
        "decisions": cast(Json, build_decisions_view(approval)),
    }


def _describe_policy(record: TaskRecord, approvals: Sequence[Approval]) -> Json:
    """The policy verdict on the plan, with rules from the granted approval, else from the task's record."""
    granted = next((approval for approval in reversed(approvals) if approval.status is ApprovalStatus.APPROVED), None)
    verdict = as_object(record.metadata.get("verdict"))
    passed = {"passed": verdict.get("passed"), "requires_approval": verdict.get("requiresApproval")}
    if granted is not None and granted.grounds.policy_hash:
        grounds = granted.grounds
        rules: list[Json] = [
            {"rule": rule.rule_id, "policy": rule.policy_id, "reason": rule.reason} for rule in grounds.rules
        ]
        versions: list[Json] = [*grounds.policy_versions]
        return {**passed, "rules": rules, "policy_hash": grounds.policy_hash, "versions": versions}
    triggered_rules: list[Json] = [
        {"rule": rule.get("ruleId"), "policy": rule.get("policyId"), "reason": rule.get("reason")}
        for rule in objects_in(verdict.get("triggeredRules"))
    ]
    return {**passed, "rules": triggered_rules, "policy_hash": verdict.get("policyHash"), "versions": []}


def _describe_proof(entry: LedgerEntry) -> JsonObject:
    """Why the write has its status, and what the read that is to prove it showed."""
    read_back = entry.call.read_back
    return {
        "note": entry.note,
        "refusal": entry.refusal,
        "read_back": read_back.tool if read_back else None,
        "shows": loads(entry.proof_json) if entry.proof_json else None,
        "shows_sha256": _hash_text(entry.proof_json) if entry.proof_json else None,
        "answer_sha256": _hash_text(entry.result_json) if entry.result_json else None,
    }


def _get_metadata_text(record: TaskRecord, name: str) -> Json:
    text = record.metadata.get(name)
    return text if isinstance(text, str) else None


def _format_iso_time(moment: datetime | None) -> Json:
    return moment.isoformat() if moment else None


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_UNMASKED_FIELDS = frozenset(
    {"task_id", "session_id", "plan_hash", "policy_hash", "approval_id", "sent_at", "at", "asked_at"}
)


def _mask_row(row: JsonObject, known_values: Mapping[str, ProtectedKind]) -> JsonObject:
    """The row with its values masked, except ids, times and digests: a digest may look like a card number."""
    return {
        name: value if name in _UNMASKED_FIELDS or name.endswith("_sha256") else _mask_value(name, value, known_values)
        for name, value in row.items()
    }


def _mask_value(name: str, value: Json, known_values: Mapping[str, ProtectedKind]) -> Json:
    """A value with personal data masked; in ``arguments`` and ``shows``, field names also say what is personal."""
    if name in ("arguments", "shows") or not isinstance(value, dict | list):
        return redact_json(value, known_values)
    if isinstance(value, dict):
        return _mask_row(value, known_values)
    return [_mask_value("", item, known_values) for item in value]


MOST_AUDITED_TASKS = 500
_USUAL_AUDITED_TASKS = 100
_FROM_STORE, _FROM_ARCHIVE = "live", "archive"


class AuditQuery(NamedTuple):
    """Which writes to export: those sent from ``since`` until before ``until``, of one task or session. ``size``: how
    many tasks a page covers.
    """

    since: datetime | None = None
    until: datetime | None = None
    task_id: str | None = None
    session_id: str | None = None
    size: int = _USUAL_AUDITED_TASKS
    page_token: str = ""


class AuditPage(NamedTuple):
    """A page of writes. ``next_token``: for the next page, empty on the last. Other pages may have no writes, too."""

    writes: Sequence[JsonObject]
    next_token: str
    has_archive: bool  # whether ended tasks are still found after they have left the store


def is_in_period(row: JsonObject, query: AuditQuery) -> bool:
    """Whether a write was sent in the query's period or, if it was not sent, whether its task last changed then."""
    time = row.get("sent_at") or row.get("task_updated_at")
    if not isinstance(time, str):
        return "problem" in row or (query.since is None and query.until is None)
    moment = datetime.fromisoformat(time)
    return (query.since is None or moment >= query.since) and (query.until is None or moment < query.until)


def _parse_page_token(token: str) -> tuple[str, str]:
    """Parse a page's token: whether the page begins in the store or the archive, and its position there.

    Raises ``InvalidField``.
    """
    where, position = decode_page_token(token) if token else (_FROM_STORE, "")
    if where not in (_FROM_STORE, _FROM_ARCHIVE):
        raise InvalidField("token", "is none that this server gave")
    return where, position


LISTING_CACHE_SECONDS = 60.0  # a task is asked for here only once it has left the store, days after it came here
_MOST_LISTINGS = 16


class _ArchiveListing(NamedTuple):
    """The ids of a tenant's archived tasks, and when they were listed."""

    until: float
    task_ids: Sequence[str]


class ArchivedTaskReader:
    """Reads archived tasks. A tenant's listing is cached for a minute, since listing a bucket is slow.

    Both methods may raise ``ArchiveUnavailable``.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._listed = LruCache[str, _ArchiveListing](_MOST_LISTINGS)

    async def list_task_ids(self, tenant: str) -> Sequence[str]:
        """The ids of the tenant's archived tasks, sorted, as they were at most ``LISTING_CACHE_SECONDS`` ago.

        Raises ``ArchiveUnavailable``.
        """
        now, listing = asyncio.get_running_loop().time(), self._listed.get(tenant)
        if listing is None or now >= listing.until:
            listing = _ArchiveListing(now + LISTING_CACHE_SECONDS, await self._archive.list(tenant))
        return self._listed.put(tenant, listing).task_ids

    async def find_task(self, tenant: str, task_id: str) -> ArchivedTask | None:
        """The archived task, None if there is none. Raises ``UnreadableArchivedContent`` if it cannot be parsed."""
        content = await self._archive.get(tenant, task_id)
        if content is None:
            return None
        try:
            task = parse_archived_task(content)
        except ValueError as error:
            raise UnreadableArchivedContent(
                f"the archived task {task_id!r} cannot be read: {type(error).__name__}"
            ) from error
        return task if task.record.tenant == tenant else None


class AuditExport(ScriptedStore):
    """The audit export. Its pages are for operators: they raise ``NotAnOperator`` and ``InvalidField``.

    All methods may raise ``StoreUnavailable`` and, except ``read_events``, ``ArchiveUnavailable``.
    """

    def __init__(self, redis: Redis, tasks: Tasks, lists: TaskLists, archive: ArchivedTaskReader | None) -> None:
        super().__init__(redis)
        self._tasks = tasks
        self._lists = lists
        self._archive = archive

    async def read_page(self, query: AuditQuery, caller: Caller) -> AuditPage:
        """One page of the export. Also raises ``NoVisibleTask`` if a single task is asked for and does not exist."""
        if caller.principal.verified:
            require_operator_role(caller)
        rows, token = await self._build_rows_of_page(query, caller)
        return AuditPage([row for row in rows if is_in_period(row, query)], token, self._archive is not None)

    async def read_all_pages(self, query: AuditQuery, caller: Caller) -> AsyncIterator[AuditPage]:
        """Yields the page of the query's token, and all later ones."""
        page = await self.read_page(query, caller)
        yield page
        while page.next_token:
            page = await self.read_page(query._replace(page_token=page.next_token), caller)
            yield page

    async def read_details(self, record: TaskRecord, *, includes_events: bool) -> ArchivedTask | None:
        """A task with its ledger and approvals, from the store or else the archive; None if neither has them.

        ``includes_events``: with journal and events, too, if the task is archived. Checks no rights: whoever calls this
        has checked that the task may be read.
        """
        (details,) = await self._read_stored_details([record])
        if details is not None and not includes_events:
            return details
        return await self._find_archived(record.tenant, record.task_id) or details

    async def read_events(self, record: TaskRecord) -> Sequence[tuple[str, TaskEvent]]:
        """The task's events so far, with their ids; empty once they have left the store."""
        stream = keys.task_keys(record.tenant, record.session_id, record.task_id).events
        rows = cast("list[tuple[str, dict[str, str]]]", await self._scripts.execute("XRANGE", stream, "-", "+"))
        return [row for entry_id, fields in rows for row in parse_task_events(entry_id, fields["e"])]

    async def _build_rows_of_page(self, query: AuditQuery, caller: Caller) -> tuple[list[JsonObject], str]:
        if query.task_id is not None:
            return await self._build_rows_of_task(caller, query.task_id), ""
        where, position = _parse_page_token(query.page_token)
        if where == _FROM_ARCHIVE and self._archive is not None:
            return await self._read_rows_from_archive(self._archive, query, caller.tenant, position)
        return await self._read_rows_from_store(query, caller.tenant, position)

    async def _build_rows_of_task(self, caller: Caller, task_id: str) -> list[JsonObject]:
        record = await self._tasks.get_record(caller.tenant, task_id)
        if record is not None:
            return await self._build_rows_of_stored([record])
        archived, rows = await self._build_rows_of_archived(caller.tenant, task_id)
        if archived is None and not rows:
            raise NoVisibleTask(task_id)
        return rows

    async def _read_rows_from_store(self, query: AuditQuery, tenant: str, place: str) -> tuple[list[JsonObject], str]:
        position = parse_list_position("token", *place.partition(" ")[::2]) if place else None
        listed = TaskQuery(session_id=query.session_id, since=query.since, size=query.size)
        page = await self._lists.read_page(tenant, listed, position)
        rows = await self._build_rows_of_stored(page.records)
        rows += [
            _build_problem_row(task_id, "store", "its record cannot be read here") for task_id in page.unreadable_ids
        ]
        if page.next_position:
            return rows, encode_page_token(_FROM_STORE, f"{page.next_position.micros} {page.next_position.member}")
        return rows, encode_page_token(_FROM_ARCHIVE, "") if self._archive else ""

    async def _build_rows_of_stored(self, records: Sequence[TaskRecord]) -> list[JsonObject]:
        """The rows of the tasks' writes, each task's from the store or the archive, else from its record."""
        rows: list[JsonObject] = []
        for record, details in zip(records, await self._read_stored_details(records), strict=True):
            if details is not None:
                rows += build_audit_rows(details, "store")
                continue
            archived, archived_rows = await self._build_rows_of_archived(record.tenant, record.task_id)
            rows += archived_rows if archived else [*build_rows_from_record(record), *archived_rows]
        return rows

    async def _build_rows_of_archived(self, tenant: str, task_id: str) -> tuple[TaskRecord | None, list[JsonObject]]:
        """The record of an archived task and the rows of its writes.

        The record is None if there is no such task, or it cannot be read: then one row says so.
        """
        try:
            task = await self._find_archived(tenant, task_id)
        except UnreadableArchivedContent as error:
            return None, [_build_problem_row(task_id, "archive", str(error))]
        return (task.record, build_audit_rows(task, "archive")) if task else (None, [])

    async def _read_rows_from_archive(
        self, archive: ArchivedTaskReader, query: AuditQuery, tenant: str, place: str
    ) -> tuple[list[JsonObject], str]:
        """A page of the writes of archived tasks that have left the store's list; earlier pages have the others.

        ``place``: the id of the last task of the page before. Also returns the next page's token, empty for the last
        page.
        """
        later_ids = [task_id for task_id in await archive.list_task_ids(tenant) if task_id > place]
        found = [await self._build_rows_of_archived(tenant, task_id) for task_id in later_ids[: query.size]]
        listed_ids = await self._lists.find_listed_ids([record for record, _ in found if record], query.session_id)
        rows = [
            row
            for record, task_rows in found
            if record is None or (query.session_id in (None, record.session_id) and record.task_id not in listed_ids)
            for row in task_rows
        ]
        return rows, encode_page_token(_FROM_ARCHIVE, later_ids[query.size - 1]) if len(later_ids) > query.size else ""

    async def _find_archived(self, tenant: str, task_id: str) -> ArchivedTask | None:
        return await self._archive.find_task(tenant, task_id) if self._archive else None

    async def _read_stored_details(self, records: Sequence[TaskRecord]) -> list[ArchivedTask | None]:
        """Each task with its ledger and approvals; None if the store no longer has them, or they cannot be read."""
        if not records:
            return []
        task_keys = [keys.task_keys(record.tenant, record.session_id, record.task_id) for record in records]
        commands = (("HGETALL", name) for names in task_keys for name in (names.ledger, names.approvals))
        answers = cast("list[dict[str, str]]", await self._scripts.execute_commands(*commands))
        return [parse_row_or_log(_parse_details, row) for row in zip(records, answers[::2], answers[1::2], strict=True)]


def _parse_details(row: tuple[TaskRecord, dict[str, str], dict[str, str]]) -> ArchivedTask | None:
    """The task with its ledger and approvals; None if the ledger is gone although the record names writes."""
    record, ledger, approvals = row
    if not ledger and record.metadata.get("writes"):
        return None
    entries = {key: parse_ledger_entry(row) for key, row in ledger.items()}
    asked_approvals = [Approval.model_validate_json(row) for key, row in approvals.items() if key != "latest"]
    ordered = tuple(sorted(asked_approvals, key=lambda approval: approval.asked_at))
    return ArchivedTask(record=record, ledger=entries, approvals=ordered)


def _build_problem_row(task_id: str, kept_in: str, problem: str) -> JsonObject:
    """A row in place of a task's writes that cannot be read, since an export without it would seem complete."""
    return {"task_id": task_id, "kept_in": kept_in, "problem": problem}


_NDJSON_TYPE = "application/x-ndjson"
_LONGEST_PARAMETER = 512
LONGEST_TOKEN = 4_608  # it has a task's id of at most 256 characters, percent-quoted and in base64: 16 for one


class AuditEndpoints(ApiEndpoints[AuditExport]):
    @api_path("GET", "/audit")
    async def export_audit(self, call: ApiCall) -> Response:
        """List each write with its requester, its approvers, what was sent, the rules that applied, and its proof.

        Parameters: ``since``, ``until`` (ISO 8601), ``task``, ``session``, ``limit`` (tasks a page), ``token``.

        Answers with one page as JSON, or with ``Accept: application/x-ndjson`` or ``format=ndjson`` with this and all
        later pages, one write a line.
        """
        request = call.request
        query = _parse_audit_query(request.query_params)
        if not (request.query_params.get("format") == "ndjson" or _NDJSON_TYPE in request.headers.get("accept", "")):
            page = await self._service.read_page(query, call.caller)
            body: JsonObject = {"writes": [*page.writes], "token": page.next_token, "archive": page.has_archive}
            return Response(dumps(body), media_type="application/json")
        pages = self._service.read_all_pages(query, call.caller)
        first = await anext(pages)
        return StreamingResponse(_stream_json_lines(first, pages), media_type=_NDJSON_TYPE)


def _parse_audit_query(parameters: Mapping[str, str]) -> AuditQuery:
    """Parse the query parameters of an export; raises ``InvalidField``."""
    for name, most in (("task", _LONGEST_PARAMETER), ("session", _LONGEST_PARAMETER), ("token", LONGEST_TOKEN)):
        if len(parameters.get(name, "")) > most:
            raise InvalidField(name, f"must be at most {most} characters")
    return AuditQuery(
        since=parse_time(parameters.get("since"), "since"),
        until=parse_time(parameters.get("until"), "until"),
        task_id=parameters.get("task") or None,
        session_id=parameters.get("session") or None,
        size=parse_limit(parameters.get("limit", str(_USUAL_AUDITED_TASKS)), MOST_AUDITED_TASKS),
        page_token=parameters.get("token", ""),
    )


async def _stream_json_lines(first: AuditPage, pages: AsyncIterator[AuditPage]) -> AsyncIterator[str]:
    """Yields the writes as JSON lines. If a page cannot be read, the last line is ``{"error": ...}``."""
    for row in first.writes:
        yield dumps(row) + "\n"
    try:
        async for page in pages:
            for row in page.writes:
                yield dumps(row) + "\n"
    except (StoreUnavailable, ArchiveUnavailable) as fault:
        yield dumps({"error": str(fault)}) + "\n"
