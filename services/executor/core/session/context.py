"""The context of one turn (task, files, ports, limits, journal), and helpers that run independent steps in parallel."""

import asyncio
import base64
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Never, TypeVar, cast
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from services.executor.core.session.budget import Ceilings
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.journal import Journal, JournalLimits
from services.executor.core.session.ledger import compute_ledger_key
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import (
    BUILT_IN_TEMPLATES,
    GENERAL_TEMPLATE,
    PERMITTED_CLASSES,
    Processes,
    ProcessTemplate,
    Rejected,
)
from services.executor.core.states.prompts import Prompts
from services.executor.core.tools.listing import ListBounds
from services.executor.core.tools.toolbox import Toolbox
from services.executor.ports.services import (
    Experience,
    FileReadResult,
    LearnedStore,
    MadeTools,
    NoFiles,
    NoMadeTools,
    NoSandbox,
    Orchestrator,
    OrchestratorName,
    PolicyService,
    Sandbox,
    TaskFiles,
    Tenants,
)
from services.executor.ports.tools import Tool, ToolServers
from services.executor.ports.turns import SessionState, TurnStore
from shared.contracts.outcome import Threshold
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Policy
from shared.contracts.task import SentFile, TaskRecord, Turn
from shared.contracts.tenant import TenantRecord
from shared.domain import span_names as names
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.outgoing import is_below_any_server
from shared.domain.quality import QualityFormula
from shared.domain.words import FsmState, PlanAuditScope, Strategy
from shared.ports.archive import ArchiveUnavailable
from shared.ports.daily_spend import DailySpend, UnlimitedSpend
from shared.ports.meter import Meter, NoMeter
from shared.ports.models import ImageBlock, Model
from shared.ports.tracing import NO_TRACER, Span, Tracer


class AnswerRules(NamedTuple):
    """How answers are scored, and whether they end with a footer about the run."""

    formula: QualityFormula = QualityFormula.SIGNALS
    footer: bool = False


class Limits(NamedTuple):
    """The limits of a run, in seconds and counts, and of what a task's journal may hold."""

    tool_seconds: float = 10.0
    task_seconds: float = 120.0
    rest_seconds: float = 3600.0  # how long a task rests while no model answers, before it fails
    settle_margin_seconds: float = 1.0
    verdict_seconds: float = 30.0  # how old a verdict may be when a call goes out
    iterations: int = 20
    tool_calls: int = 18
    plans: int = 8  # of one task, each through its own states
    strategies: tuple[Strategy, ...] = tuple(Strategy)  # that the bandit chooses among; the first one begins
    orchestrators: tuple[OrchestratorName, ...] = (OrchestratorName.LOCAL,)  # in the order in which they are tried
    translator: str = ""  # the model that makes rules of policies' prose: for another one they are made anew
    audit: PlanAuditScope = PlanAuditScope.RISKY
    trusts_requests: bool = True  # whether a value that only the request gives can keep a rule from acting
    journal: JournalLimits = JournalLimits()
    lists: ListBounds = ListBounds()
    ceilings: Ceilings = Ceilings()
    answers: AnswerRules = AnswerRules()
    file_characters: int = 12_000  # of the texts of a task's files, that its first message quotes
    practice_servers: tuple[str, ...] = ()  # addresses of tool servers for practice: see ``with_practice_rules``


class Ports(NamedTuple):
    """What a run reaches outside of its process, apart from the store of its turn."""

    model: Model
    tools: ToolServers
    policy: PolicyService
    tenants: Tenants
    learned: LearnedStore
    daily: DailySpend = UnlimitedSpend()
    sandbox: Sandbox = NoSandbox()
    made_tools: MadeTools = NoMadeTools()
    brainos: Orchestrator | None = None
    tracer: Tracer = NO_TRACER
    files: TaskFiles = NoFiles()
    meter: Meter = NoMeter()


@dataclass(frozen=True)
class TurnContext:
    """Everything that one turn works with. ``sections``: the prompt sections that all requests of the task share.

    ``notes``: how the request was read, for the task's metadata. ``processes``: the known process templates.
    ``template``: that of this task, once it is chosen.
    """

    ports: Ports
    limits: Limits
    prompts: Prompts
    store: TurnStore
    journal: Journal
    record: TaskRecord
    turn: Turn
    tenant: TenantRecord
    policies: tuple[Policy, ...]
    toolbox: Toolbox
    session: SessionState
    experience: Experience
    sections: Mapping[str, Json]
    notes: Mapping[str, JsonValue] = field(default_factory=dict)
    processes: Processes = field(default_factory=lambda: BUILT_IN_TEMPLATES)
    template: ProcessTemplate = GENERAL_TEMPLATE
    thresholds: tuple[Threshold, ...] = ()
    files: tuple[FileReadResult, ...] = ()
    pictures: tuple[ImageBlock, ...] = ()

    @property
    def task(self) -> str:
        return self.record.request.text

    @property
    def practice_time(self) -> datetime | None:
        """The time of the task's practice world, if it has one; else None."""
        practice = self.record.request.practice
        return practice.current_time if practice else None


async def enter_state(
    ctx: TurnContext, progress: Progress, state: FsmState, verdicts: Sequence[Mapping[str, JsonValue]] = ()
) -> Progress:
    progress = progress.move_to(state)
    ctx.journal.save_progress(progress, verdicts=verdicts)
    return progress


def open_state_span(ctx: TurnContext, progress: Progress) -> AbstractContextManager[Span]:
    span = ctx.ports.tracer.open_span(names.STATE.format(state=progress.state.value))
    return ctx.journal.counts.measure_span(progress.state, span)


NOBODY_APPROVES_TEXT = "Nothing was written: a person would have to approve the plan, and in practice nobody can."
IN_DOUBT_TEXT = "What became of a write is not known; it is not made again."


def is_practice(record: TaskRecord) -> bool:
    """Whether the task is practice: no person decides anything, and it is neither counted nor learned from."""
    return record.request.practice is not None


def with_practice_rules(tenant: TenantRecord, record: TaskRecord, servers: Sequence[str]) -> TenantRecord:
    """The tenant's record for this task: for practice on one of the operator's ``servers``, the tenant's ``practice``
    decides what an unruled write needs; for any other task it is unchanged. Raises ``Rejected`` if the tenant refuses
    practice.
    """
    if not is_practice(record) or not is_below_any_server(record.request.tools_endpoint or "", servers):
        return tenant
    if tenant.practice == "refuse":
        raise Rejected("This tenant takes part in no practice.")
    return tenant.model_copy(update={"unruled_writes": tenant.practice})


def starts_assessment(record: TaskRecord) -> bool:
    """Whether the task is the first turn of an assessment, which must not see what the session remembers."""
    return record.request.practice is not None and record.request.practice.turn == 1


def get_session_for_task(session: SessionState, record: TaskRecord) -> SessionState:
    """The session's state as this task may use it: empty at the start of an assessment."""
    return SessionState() if starts_assessment(record) else session


MISSING_SERVERS_KEY = "missing_tool_servers"  # in a task's metadata: a sentence on each server out of reach
TOOL_NAME_OF_FILES = "attached_file"  # stands in place of a tool's name where a file is a source
_NO_IMAGE_MODEL_TEXT = "the model takes no images, so nobody looked at it"


async def read_files(files: TaskFiles, record: TaskRecord, turn: Turn, journal: Journal) -> tuple[FileReadResult, ...]:
    """The files of the task's messages, in order. Each is read in a journal step: once for all attempts at the turn."""
    sent_files = (*record.request.files, *record.later_files, *turn.files)
    file_reads = (_read_file(files, record.tenant, journal, number, file) for number, file in enumerate(sent_files, 1))
    return tuple([await file_read for file_read in file_reads])  # one after the other: one parser a task


async def load_pictures(
    archive: TaskFiles, record: TaskRecord, files: Sequence[FileReadResult]
) -> tuple[ImageBlock, ...]:
    """The pictures among the files, in base64, for the model. One that cannot be had from the archive has no data."""
    with_picture = [file for file in files if file.picture_id]
    contents = [await _load_picture(archive, record.tenant, file.picture_id) for file in with_picture]
    return tuple(
        ImageBlock(file.picture_id, file.name, base64.b64encode(data or b"").decode(), file.picture_tokens)
        for file, data in zip(with_picture, contents, strict=True)
    )


async def _load_picture(archive: TaskFiles, tenant: str, name: str) -> bytes | None:
    try:
        return await archive.get_content(tenant, name)
    except ArchiveUnavailable:  # the model is told that it does not see the picture
        return None


def build_files_section(files: Sequence[FileReadResult], most_characters: int) -> list[Json]:
    """The files for the first message, as ``{ref, name, type, bytes, ...}``; each text is cut to an equal share."""
    texts = [file for file in files if file.text]
    share = most_characters // max(1, len(texts))
    return [_describe_file(number, file, share) for number, file in enumerate(files, 1)]


def convert_files_to_facts(files: Sequence[FileReadResult]) -> tuple[Fact, ...]:
    """The files with a text as facts ``file1``, ``file2`` (as in the first message), whose result has the text."""
    texts = ((number, file.text) for number, file in enumerate(files, 1) if file.text)
    return tuple(_convert_file_to_fact(number, {TOOL_NAME_OF_FILES: {"body": text}}) for number, text in texts)


def convert_files_for_look_tool(files: Sequence[FileReadResult]) -> tuple[Fact, ...]:
    """As ``convert_files_to_facts``, but each result is the bare text, whose lines the tool ``look`` can show."""
    return tuple(_convert_file_to_fact(number, file.text) for number, file in enumerate(files, 1) if file.text)


def build_file_notes(files: Sequence[FileReadResult]) -> dict[str, JsonValue]:
    """The files for the task's metadata, as ``{"files": rows}``; empty if there are none."""
    rows: list[JsonValue] = []
    for file in files:
        row: dict[str, JsonValue] = {"name": file.name, "type": file.media_type, "bytes": file.size}
        problem: dict[str, JsonValue] = {"problem": file.problem} if file.problem else {}
        rows.append({**row, "file_id": file.file_id, **problem})
    return {"files": rows} if rows else {}


def _describe_unread_files(files: Sequence[FileReadResult], *, saw_pictures: bool) -> tuple[str, ...]:
    """A sentence for the answer on each file that could not be read, or whose picture the model did not see."""
    unseen = _NO_IMAGE_MODEL_TEXT if not saw_pictures else ""
    problems = [(file, file.problem or (unseen if file.picture_id else "")) for file in files]
    return tuple(f"{file.name}: {problem}" for file, problem in problems if problem)


async def _read_file(files: TaskFiles, tenant: str, journal: Journal, number: int, file: SentFile) -> FileReadResult:
    async def step() -> str:
        parsed = await files.fetch_and_parse(tenant, file)
        about = parsed.model_dump(include={"media_type", "size", "problem"})
        journal.add_event("note", file=parsed.name, **about)
        return parsed.model_dump_json()

    return FileReadResult.model_validate_json(await journal.run_local_step(f"file:{number}", step))


def _convert_file_to_fact(number: int, result: Json) -> Fact:
    return Fact(
        ref=f"file{number}", connection_id="", tool=TOOL_NAME_OF_FILES, arguments_json="{}", result_json=dumps(result)
    )


def _describe_file(number: int, file: FileReadResult, share: int) -> Json:
    entry: JsonObject = {"ref": f"file{number}", "name": file.name, "type": file.media_type, "bytes": file.size}
    if file.problem:
        return {**entry, "problem": f"this file could not be read: {file.problem}"}
    if file.picture_id:
        return {**entry, "image": "it stands before this text"}
    entry["text"] = file.text[:share]
    if (characters_left := len(file.text) - share) > 0:
        entry["note"] = f"cut; look shows the rest: {characters_left:,} characters"
    if file.is_cut:
        entry["more"] = "the file goes on beyond what was read of it"
    return entry


T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


async def run_in_parallel(steps: Iterable[Coroutine[object, Never, T]]) -> list[T]:
    """Runs the steps in parallel; returns their results in order. The first error cancels the others and is raised."""
    coroutines = [*steps]
    try:
        if len(coroutines) == 1:  # as most often; it needs no task of its own
            return [await coroutines[0]]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as errors:
        raise _find_first_error(errors) from errors
    return [task.result() for task in tasks]


async def run_with_companion(step: Coroutine[object, Never, T], companion: Coroutine[object, Never, object]) -> T:
    """Runs the step and returns its result.

    The companion is cancelled at the step's end; if it raises before, the step is cancelled. The step is no task of its
    own: a group cancels a task once, and a library may swallow that.
    """
    try:
        async with asyncio.TaskGroup() as group:
            companion_task = group.create_task(companion)
            result = await step
            companion_task.cancel()
    except BaseExceptionGroup as errors:
        raise _find_first_error(errors) from errors
    return result


async def run_pair_in_parallel(first: Coroutine[object, Never, A], second: Coroutine[object, Never, B]) -> tuple[A, B]:
    """Runs two steps of different types in parallel; returns their results. If one raises, the other is cancelled."""
    return cast("tuple[A, B]", tuple(await run_in_parallel([first, second])))


def _find_first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error = group.exceptions[0]
    return _find_first_error(error) if isinstance(error, BaseExceptionGroup) else error


class DispatchRefused(Exception):
    """The call must not be made. The message is sent to whoever asked for it."""


def require_tool_permitted(state: FsmState, tool: Tool) -> None:
    """Raises ``DispatchRefused`` if ``state`` does not permit tools of this class."""
    if tool.tool_class in PERMITTED_CLASSES[state]:
        return
    permitted = ", ".join(sorted(PERMITTED_CLASSES[state])) or "no server's tools"
    raise DispatchRefused(
        f"{tool.name} is a tool of class {tool.tool_class} ({tool.why_class}); {state} permits {permitted}. "
        "It was not called."
    )


def get_task_time(ctx: TurnContext) -> datetime:
    """What counts as now for the task: when it was accepted, in the tenant's zone, or its practice world's time."""
    return ctx.practice_time or ctx.record.accepted_at.astimezone(ZoneInfo(ctx.tenant.time_zone))


OUTDATED_PLAN_KEY = "plan:{}:outdated"  # under it the journal tells why an approved plan was not carried out


class LeftOutCall(NamedTuple):
    """A planned call that was not made, and why."""

    call: PlannedCall
    reason: str

    def as_json(self) -> Json:
        """The call in the form in which the model is told of writes, with the status "not made"."""
        call = self.call
        identity: dict[str, Json] = {"call_id": call.call_id, "tool": call.tool, "arguments": call.arguments}
        return {**identity, "status": "not made", "result": None, "note": self.reason}


def append_remarks(ctx: TurnContext, dossier: Dossier, text: str) -> str:
    """The answer ``text`` with the remarks on the run below it; a JSON list is returned unchanged (I9)."""
    remarks = write_remarks_on_run(ctx, dossier)
    return text if is_json_list(text) or not remarks else text.rstrip() + remarks


def write_remarks_on_run(ctx: TurnContext, dossier: Dossier) -> str:
    """The remarks below an answer on calls not made, servers without tools or out of reach, and files not read; may
    be empty.
    """
    omitted, endpoint = list_calls_not_made(ctx, dossier), ctx.record.request.tools_endpoint
    remarks = []
    if omitted:
        remarks.append("\n".join(["Not made:", *(f"- {call.call.tool}: {call.reason}" for call in omitted)]))
    if not ctx.toolbox.tools and endpoint is not None:
        remarks.append(f"The tool server {endpoint} offers no tools.")
    if missing := cast("list[str]", ctx.notes.get(MISSING_SERVERS_KEY, [])):
        remarks.append("\n".join(["Not reached:", *(f"- {sentence}" for sentence in missing)]))
    if unread := _describe_unread_files(ctx.files, saw_pictures=ctx.journal.saw_pictures):
        remarks.append("\n".join(["Not read:", *(f"- {sentence}" for sentence in unread)]))
    return "".join(f"\n\n{part}" for part in remarks)


def list_calls_not_made(ctx: TurnContext, dossier: Dossier) -> list[LeftOutCall]:
    """The calls that the task's plans left out, without those that a later plan made."""
    omitted: list[LeftOutCall] = []
    identities_made: set[tuple[str, str, str]] = set()
    for plan in reversed(dossier.every_plan):
        left_out = [(call, _call_identity(call.call)) for call in list_left_out_calls(ctx, plan)]
        omitted = [*(call for call, identity in left_out if identity not in identities_made), *omitted]
        identities_made |= {_call_identity(call) for call in plan.calls} - {identity for _, identity in left_out}
    return omitted


async def record_left_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall, reason: str) -> None:
    """Journals that the plan is carried out without the call, so that no later attempt makes it out of order."""
    ctx.journal.add_event("note", call=call.call_id, tool=call.tool, left_out=reason)
    ctx.journal.add_entry(build_left_out_key(plan, call), "note", reason)


def is_left_out(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> bool:
    return ctx.journal.get(build_left_out_key(plan, call)) is not None


def was_not_made(ctx: TurnContext, plan: WritePlan, call: PlannedCall) -> bool:
    """Whether an earlier plan left the call out, or was not carried out at all because its inputs had changed."""
    return is_left_out(ctx, plan, call) or ctx.journal.get(OUTDATED_PLAN_KEY.format(plan.round)) is not None


def list_left_out_calls(ctx: TurnContext, plan: WritePlan | None) -> Sequence[LeftOutCall]:
    """The calls that this plan left out, in their order."""
    notes = [(call, ctx.journal.get(build_left_out_key(plan, call))) for call in plan.calls] if plan else []
    return [LeftOutCall(call, reason) for call, reason in notes if reason is not None]


def _call_identity(call: PlannedCall) -> tuple[str, str, str]:
    return (call.connection_id, call.tool, call.arguments_json)


def build_left_out_key(plan: WritePlan, call: PlannedCall) -> str:
    """The journal key of the note that the plan left the call out."""
    return f"left-out:{compute_ledger_key(plan, call)}"
