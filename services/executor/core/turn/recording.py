"""Records a turn: for a replay, its beginning, its end and its inputs; for a trace, span attributes."""

import json
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import TypeAdapter
from typing_extensions import override

from services.executor.core.session.context import AnswerRules, Limits, Ports
from services.executor.core.session.dossier import RunEnd
from services.executor.core.session.journal import Journal, current_step_key, write_early_end_note
from services.executor.core.states.machine import EarlyEnd, Failed, FailedPart, ModelRests
from services.executor.core.tools.failures import says_timed_out
from services.executor.ports.orchestrators import OrchestratorName
from services.executor.ports.policy import PolicyService, PolicyUnavailable
from services.executor.ports.sessions import TurnWork
from services.executor.ports.tools import Tool, ToolAnswer, ToolServers, ToolSilent, ToolUnreachable
from services.executor.ports.turns import SessionState
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import Turn
from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject, digest, dumps, loads_object, to_exact
from shared.domain.identity_cache import IdentityCache
from shared.domain.quality import Formula
from shared.domain.words import PlanAudit, Strategy, ToolClass
from shared.ports.tracing import NO_TRACER, Span, SpanKind, Tracer

_NOTE_VERSION = 1  # of the note on an attempt's beginning
_DECISIVE_LIMITS = ("iterations", "tool_calls", "plans", "trusts_requests", "strategies", "orchestrators")
_LEDGER_ADAPTER = TypeAdapter(dict[str, LedgerEntry])
_SESSION_ADAPTER = TypeAdapter(SessionState)


class AttemptStart(NamedTuple):
    """The recorded beginning of an attempt at a turn. ``settings``: those that affect a run."""

    turn: Turn
    began: datetime
    ledger: Mapping[str, LedgerEntry]
    settings: JsonObject

    def restore_limits(self, today: Limits) -> Limits:
        """Today's limits, with the recorded ones where they affect a run."""
        settings = {name: self.settings.get(name, getattr(today, name)) for name in _DECISIVE_LIMITS}
        settings["orchestrators"] = self.settings.get("orchestrators", [OrchestratorName.LOCAL])  # there was no other
        return today._replace(
            iterations=int(str(settings["iterations"])),
            tool_calls=int(str(settings["tool_calls"])),
            plans=int(str(settings["plans"])),
            trusts_requests=bool(settings["trusts_requests"]),
            answers=AnswerRules(Formula(str(self.settings.get("formula", Formula.SIGNALS.value)))),  # without a footer
            audit=_recorded_plan_audit(self.settings),
            translator=str(self.settings.get("translator", today.translator)),
            strategies=tuple(Strategy(str(name)) for name in cast("list[str]", settings["strategies"])),
            orchestrators=tuple(OrchestratorName(str(name)) for name in cast("list[str]", settings["orchestrators"])),
        )


class RecordedEnd(NamedTuple):
    """A run's recorded early end, in the attempt that began at ``began``; ``step``: the step that raised it, if any."""

    early: EarlyEnd
    step: str | None
    began: str


def record_attempt_start(journal: Journal, turn: Turn, ledger: Mapping[str, LedgerEntry], limits: Limits) -> None:
    """Records that an attempt at the turn begins."""
    parts = [f'"v":{_NOTE_VERSION}', f'"turn":{turn.stored_json()}', f'"began":"{journal.began.isoformat()}"']
    settings: JsonObject = {name: to_exact(getattr(limits, name)) for name in _DECISIVE_LIMITS}
    settings |= {"formula": limits.answers.formula.value, "reviews": True}
    settings |= {"audits_values": limits.audit is not PlanAudit.OFF, "translator": limits.translator}
    settings |= {"audits_all": True} if limits.audit is PlanAudit.ALL else {}
    parts.append(f'"settings":{dumps(settings)},"ledger":{_LEDGER_ADAPTER.dump_json(dict(ledger)).decode()}')
    journal.record_attempt(turn.turn_id, "{" + ",".join(parts) + "}")


def _recorded_plan_audit(settings: JsonObject) -> PlanAudit:
    """The recorded setting of the plan audit. Older releases had none."""
    if settings.get("audits_all") is True:
        return PlanAudit.ALL
    return PlanAudit.RISKY if settings.get("audits_values") is True else PlanAudit.OFF


def parse_attempt_start(text: str) -> AttemptStart:
    """Parses the recorded beginning of an attempt; raises ``ValueError`` for an unknown version."""
    recorded = loads_object(text)
    if recorded.get("v") != _NOTE_VERSION:
        raise ValueError(f"version {recorded.get('v')} of a turn's note is not known here")
    turn = Turn.model_validate_json(dumps(recorded["turn"]))
    began, ledger = datetime.fromisoformat(str(recorded["began"])), _LEDGER_ADAPTER.validate_python(recorded["ledger"])
    return AttemptStart(turn, began, ledger, cast(JsonObject, recorded.get("settings", {})))


def record_early_end(journal: Journal, early: EarlyEnd) -> None:
    """Records how the run ends early."""
    journal.record_input("ended", write_early_end_note(early, journal.began, step=journal.stopped_at))


def parse_early_end(text: str) -> RecordedEnd:
    """Parses a recorded early end; an unknown kind becomes ``Failed``."""
    recorded = loads_object(text)
    kind = _subclasses_by_name(EarlyEnd).get(str(recorded["kind"]), Failed)
    step = cast("str | None", recorded.get("step"))
    return RecordedEnd(_build_early_end(kind, recorded), step, str(recorded["began"]))


def _build_early_end(kind: type[EarlyEnd], recorded: JsonObject) -> EarlyEnd:
    reason, seconds = str(recorded["reason"]), recorded.get("retry_after")
    if kind is ModelRests:
        return ModelRests(reason, None if seconds is None else float(str(seconds)))
    return kind(reason, cast("FailedPart | None", recorded["part"]))


def _subclasses_by_name(kind: type[EarlyEnd]) -> dict[str, type[EarlyEnd]]:
    inner = [_subclasses_by_name(subclass) for subclass in kind.__subclasses__()]
    return {name: subclass for kinds in inner for name, subclass in kinds.items()} | {kind.__name__: kind}


def record_session(journal: Journal, session: SessionState) -> None:
    journal.record_input("session", _SESSION_ADAPTER.dump_json(session).decode())


def parse_session(text: str) -> SessionState:
    return _SESSION_ADAPTER.validate_json(text)


def open_turn_span(tracer: Tracer, work: TurnWork) -> AbstractContextManager[Span]:
    """The span of a turn, in the trace of the request that began its task. If another request brought the turn (a
    decision, a cancel, a message), that one is linked.
    """
    began, brought = work.record.traceparent, work.turn.traceparent
    name = names.TURN.format(kind=work.turn.kind.value)
    return tracer.continue_trace(name, SpanKind.CONSUMER, began or brought, None if brought == began else brought)


def put_start_on_span(span: Span, work: TurnWork) -> None:
    if not span.is_recording:
        return
    record = work.record
    of_task = {names.TENANT: record.tenant, names.SESSION: record.session_id, names.TASK: record.task_id}
    of_turn = {names.TURN_KIND: work.turn.kind.value, names.DIALECT: record.dialect.value}
    counts = {names.ATTEMPT: work.attempts, names.WAITED_MS: work.waited_us // 1000}
    span.annotate({**of_task, **of_turn, **counts})


def put_end_on_span(span: Span, ended: RunEnd) -> None:
    if not span.is_recording:
        return
    span.annotate({names.TASK_STATE: ended.state.value})
    if ended.progress is not None:
        span.annotate({names.PROCESS_TYPE: ended.progress.template.process_type})
        span.annotate({names.STRATEGY: ended.progress.strategy.value})


_PACKED_PREFIX = "z:"
_MOST_ERROR_CHARACTERS = 200
_packed_listings = IdentityCache[tuple[Tool, ...], dict[bool, str]](lambda _: {}, 256)  # a listing comes with each task


def wrap_with_recording(ports: Ports, journal: Journal, *, calls_no_more: bool = False) -> Ports:
    """The ports, with the tools and the policy service wrapped so that their answers are recorded.

    ``calls_no_more``: no tool is called any more, so the recorded tool lists are used.
    """
    return ports._replace(
        tools=RecordingTools(ports.tools, journal, ports.tracer, calls_no_more=calls_no_more),
        policy=RecordingPolicy(ports.policy, journal),
    )


class RecordingPolicy(PolicyService):
    def __init__(self, policy: PolicyService, journal: Journal) -> None:
        self._policy = policy
        self._journal = journal
        self._request_counts: Counter[str] = Counter()

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        text = request.to_json()
        name = policy_input_name(text, self._request_counts)
        try:
            verdict = await self._policy.evaluate(request)
        except PolicyUnavailable as error:
            self._journal.record_input(name, dumps({"unavailable": str(error)}))
            raise
        request_field = f'"request":{text},' if request.binding else ""  # for whoever tries a changed policy on it
        verdict_json = verdict.to_json()
        shared = (request.policies_json(),) if request.binding else ()
        if not request.binding and verdict.text is None:  # what is foreseen then is the same for many tasks
            shared = (verdict_json.rpartition(verdict.context_hash)[2],)
        self._journal.record_input(name, f'{{{request_field}"verdict":{verdict_json}}}', shared)
        return verdict

    @override
    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        """The allowances. They are not recorded here, since the caller journals them."""
        return await self._policy.get_allowances(request)

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._policy.check_prose(request)


def policy_input_name(request: str, request_counts: Counter[str]) -> str:
    """The name under which a verdict is recorded. ``request_counts`` numbers equal requests of a run.

    Requests inside a journal step are numbered separately, because a replay takes the step's result and does not ask.
    """
    step = current_step_key()
    content_key = f"{digest(request)[:32]}{f':{step}' if step else ''}"
    request_counts[content_key] += 1
    return f"policy:{content_key}:{request_counts[content_key]}"


def parse_verdict(text: str) -> Verdict:
    """Parses a recorded verdict; raises ``PolicyUnavailable`` if there was none."""
    recorded = loads_object(text)
    if "unavailable" in recorded:
        raise PolicyUnavailable(str(recorded["unavailable"]))
    return Verdict.from_json(dumps(recorded["verdict"]))


class RecordingTools(ToolServers):
    """Tool servers whose tool lists and failed calls are recorded for a replay.

    Answers are recorded by the callers. ``calls_no_more``: recorded tool lists are returned again.
    """

    def __init__(
        self, servers: ToolServers, journal: Journal, tracer: Tracer = NO_TRACER, *, calls_no_more: bool = False
    ) -> None:
        self._servers, self._journal, self._tracer = servers, journal, tracer
        self._calls_no_more = calls_no_more

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        name = tools_input_name(connection)
        if self._calls_no_more and (recorded := self._recorded_tools(connection)):
            return recorded
        try:
            with self._tracer.open_span(names.LIST_TOOLS, SpanKind.CLIENT) as span:
                span.annotate({names.CONNECTION: connection.id})
                tools = await self._servers.discover(connection, session_id)
        except (ToolUnreachable, ToolSilent) as error:
            self._journal.record_input(name, _format_failure(error))
            raise
        listings = _packed_listings(tools)
        if (unlisted := self._servers.may_have_unlisted_tools(connection)) not in listings:
            listings[unlisted] = _pack_object({"tools": [_format_tool(tool) for tool in tools], "unlisted": unlisted})
        self._journal.record_input(name, listings[unlisted], (listings[unlisted],))
        return tools

    def _recorded_tools(self, connection: Connection) -> tuple[Tool, ...]:
        """The recorded tools of the connection; empty if none were recorded or the server did not answer."""
        recorded = self._journal.last_input(tools_input_name(connection))
        try:
            return parse_tools(recorded, connection)[0] if recorded else ()
        except (ToolUnreachable, ToolSilent):
            return ()

    @override
    def may_have_unlisted_tools(self, connection: Connection) -> bool:
        return self._servers.may_have_unlisted_tools(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        answer = self._servers.call(connection, tool, arguments, timeout, session_id)
        return await self._await_recording_failure(connection, tool, arguments, answer, is_read=False)

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        answer = self._servers.read(connection, tool, arguments, timeout, session_id)
        return await self._await_recording_failure(connection, tool, arguments, answer, is_read=True)

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ToolAnswer | None:
        return await self._servers.ask_outcome(connection, arguments, timeout, session_id, stop_agent=stop_agent)

    async def _await_recording_failure(
        self, connection: Connection, tool: str, arguments: JsonObject, call: Awaitable[ToolAnswer], *, is_read: bool
    ) -> ToolAnswer:
        """The answer; that there is none is recorded. A write's error that only reports a time-out is no answer."""
        try:
            answer = await call
            if not is_read and _may_still_be_carried_out(connection, tool, answer):
                error_text = dumps(answer.content)[:_MOST_ERROR_CHARACTERS]
                raise ToolSilent(f"{tool}: the server did not get its own answer in time: {error_text}")
        except (ToolUnreachable, ToolSilent) as error:
            self._journal.record_input(call_input_name(connection, tool, arguments), _format_failure(error))
            raise
        return answer


def _may_still_be_carried_out(connection: Connection, tool: str, answer: ToolAnswer) -> bool:
    """Whether an error answer only reports a time-out, so that the call may still be carried out."""
    entry = connection.catalogue.get(tool)
    is_final = answer.not_begun or (entry is not None and entry.errors_change_nothing)
    return answer.is_error and not is_final and says_timed_out(answer.content)


def tools_input_name(connection: Connection) -> str:
    return f"tools:{connection.id}"


def call_input_name(connection: Connection, tool: str, arguments: JsonObject) -> str:
    return f"call:{digest([connection.id, tool, arguments])[:32]}"


def parse_tools(text: str, connection: Connection) -> tuple[tuple[Tool, ...], bool]:
    """The recorded tools, and whether the server may have others; raises the error that was recorded in their place."""
    recorded = _unpack_object(text)
    raise_recorded_failure(recorded)
    listed = cast("list[JsonObject]", recorded["tools"])
    return tuple(_read_tool(tool, connection.id) for tool in listed), bool(recorded["unlisted"])


def raise_recorded_failure(recorded: JsonObject) -> None:
    if "unreachable" in recorded:
        raise ToolUnreachable(str(recorded["unreachable"]))
    if "silent" in recorded:
        raise ToolSilent(str(recorded["silent"]))


def _pack_object(value: JsonObject) -> str:
    """An object as compressed text, a fifth of its size."""
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except TypeError:  # a Decimal among them
        text = dumps(value)
    return _PACKED_PREFIX + b64encode(zlib.compress(text.encode(), level=1)).decode()


def _unpack_object(text: str) -> JsonObject:
    if not text.startswith(_PACKED_PREFIX):
        return loads_object(text)
    return loads_object(zlib.decompress(b64decode(text.removeprefix(_PACKED_PREFIX))))


def _format_failure(error: ToolUnreachable | ToolSilent) -> str:
    return dumps({"unreachable" if isinstance(error, ToolUnreachable) else "silent": str(error)})


def _format_tool(tool: Tool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.input_schema,
        "class": tool.tool_class.value,
        "why": tool.why_class,
        "catalogue": loads_object(tool.catalogue.model_dump_json()),
        **({"skill": True} if tool.is_skill else {}),
    }


def _read_tool(recorded: JsonObject, connection_id: str) -> Tool:
    return Tool(
        connection_id=connection_id,
        name=str(recorded["name"]),
        description=str(recorded["description"]),
        input_schema=cast(JsonObject, recorded["schema"]),
        tool_class=ToolClass(str(recorded["class"])),
        why_class=str(recorded["why"]),
        catalogue=CatalogueEntry.model_validate_json(dumps(recorded["catalogue"])),
        is_skill=recorded.get("skill") is True,
    )
