"""Records a turn: for a replay, its beginning and its end; for a trace, span attributes."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import TypeAdapter

from services.executor.core.session.context import AnswerRules, Limits
from services.executor.core.session.dossier import RunEnd
from services.executor.core.session.journal import ATTEMPT_KIND, Journal, write_early_end_note
from services.executor.core.states.machine import EarlyEnd, Failed, FailedComponent, ModelTemporarilyUnavailable
from services.executor.ports.services import OrchestratorName
from services.executor.ports.turns import SessionState, TurnWork
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import Turn
from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject, dumps, loads_object, to_exact
from shared.domain.quality import QualityFormula
from shared.domain.words import PlanAuditScope, Strategy
from shared.ports.tracing import Span, SpanKind, Tracer

_NOTE_VERSION = 1  # of the note on an attempt's beginning
_RECORDED_LIMITS = ("iterations", "tool_calls", "plans", "trusts_requests", "strategies", "orchestrators")
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
        settings = {name: self.settings.get(name, getattr(today, name)) for name in _RECORDED_LIMITS}
        settings["orchestrators"] = self.settings.get("orchestrators", [OrchestratorName.LOCAL])  # there was no other
        return today._replace(
            iterations=int(str(settings["iterations"])),
            tool_calls=int(str(settings["tool_calls"])),
            plans=int(str(settings["plans"])),
            trusts_requests=bool(settings["trusts_requests"]),
            answers=AnswerRules(
                QualityFormula(str(self.settings.get("formula", QualityFormula.SIGNALS.value)))
            ),  # without a footer
            audit=_read_recorded_plan_audit(self.settings),
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
    """Stores in the journal, for replays, that an attempt at the turn begins: the turn, its ledger and the settings."""
    parts = [f'"v":{_NOTE_VERSION}', f'"turn":{turn.stored_json()}', f'"began":"{journal.began.isoformat()}"']
    settings: JsonObject = {name: to_exact(getattr(limits, name)) for name in _RECORDED_LIMITS}
    settings |= {"formula": limits.answers.formula.value, "reviews": True}
    settings |= {"audits_values": limits.audit is not PlanAuditScope.OFF, "translator": limits.translator}
    settings |= {"audits_all": True} if limits.audit is PlanAuditScope.ALL else {}
    parts.append(f'"settings":{dumps(settings)},"ledger":{_LEDGER_ADAPTER.dump_json(dict(ledger)).decode()}')
    journal.record_input(f"turn:{turn.turn_id}", "{" + ",".join(parts) + "}", kind=ATTEMPT_KIND)


def _read_recorded_plan_audit(settings: JsonObject) -> PlanAuditScope:
    """The recorded setting of the plan audit. Older releases had none."""
    if settings.get("audits_all") is True:
        return PlanAuditScope.ALL
    return PlanAuditScope.RISKY if settings.get("audits_values") is True else PlanAuditScope.OFF


def parse_attempt_start(text: str) -> AttemptStart:
    """Parses the recorded beginning of an attempt; raises ``ValueError`` for an unknown version."""
    recorded = loads_object(text)
    if recorded.get("v") != _NOTE_VERSION:
        raise ValueError(f"version {recorded.get('v')} of a turn's note is not known here")
    turn = Turn.model_validate_json(dumps(recorded["turn"]))
    began = datetime.fromisoformat(str(recorded["began"]))
    ledger = _LEDGER_ADAPTER.validate_python(recorded["ledger"])
    return AttemptStart(turn, began, ledger, cast(JsonObject, recorded.get("settings", {})))


def record_early_end(journal: Journal, early: EarlyEnd) -> None:
    """Stores in the journal, for replays, how and at which step the run ends early."""
    journal.record_input("ended", write_early_end_note(early, journal.began, step=journal.stopped_at))


def parse_early_end(text: str) -> RecordedEnd:
    """Parses a recorded early end; an unknown kind becomes ``Failed``."""
    recorded = loads_object(text)
    kind = _index_subclasses_by_name(EarlyEnd).get(str(recorded["kind"]), Failed)
    step = cast("str | None", recorded.get("step"))
    return RecordedEnd(_build_early_end(kind, recorded), step, str(recorded["began"]))


def _build_early_end(kind: type[EarlyEnd], recorded: JsonObject) -> EarlyEnd:
    reason, seconds = str(recorded["reason"]), recorded.get("retry_after")
    if kind is ModelTemporarilyUnavailable:
        return ModelTemporarilyUnavailable(reason, None if seconds is None else float(str(seconds)))
    return kind(reason, cast("FailedComponent | None", recorded["part"]))


def _index_subclasses_by_name(kind: type[EarlyEnd]) -> dict[str, type[EarlyEnd]]:
    inner = [_index_subclasses_by_name(subclass) for subclass in kind.__subclasses__()]
    return {name: subclass for kinds in inner for name, subclass in kinds.items()} | {kind.__name__: kind}


def record_session(journal: Journal, session: SessionState) -> None:
    journal.record_input("session", _SESSION_ADAPTER.dump_json(session).decode())


def parse_session(text: str) -> SessionState:
    return _SESSION_ADAPTER.validate_json(text)


def open_turn_span(tracer: Tracer, work: TurnWork) -> AbstractContextManager[Span]:
    """The turn's span in the trace of the task's first request; a later request that brought the turn is linked."""
    began, brought = work.record.traceparent, work.turn.traceparent
    name = names.TURN.format(kind=work.turn.kind.value)
    return tracer.continue_trace(name, SpanKind.CONSUMER, began or brought, None if brought == began else brought)


def set_start_attributes(span: Span, work: TurnWork) -> None:
    if not span.is_recording:
        return
    record = work.record
    of_task = {names.TENANT: record.tenant, names.SESSION: record.session_id, names.TASK: record.task_id}
    of_turn = {names.TURN_KIND: work.turn.kind.value, names.DIALECT: record.dialect.value}
    counts = {names.ATTEMPT: work.attempts, names.WAITED_MS: work.waited_us // 1000}
    span.annotate({**of_task, **of_turn, **counts})


def set_end_attributes(span: Span, ended: RunEnd) -> None:
    if not span.is_recording:
        return
    span.annotate({names.TASK_STATE: ended.state.value})
    if ended.progress is not None:
        span.annotate({names.PROCESS_TYPE: ended.progress.template.process_type})
        span.annotate({names.STRATEGY: ended.progress.strategy.value})
