"""What a turn notes about itself: for a replay, how it began and ended; for a trace, the attributes of its span."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import TypeAdapter

from services.executor.core.reflect.outcome import FinishedRun
from services.executor.core.session.context import AnswerRules, Limits
from services.executor.core.session.endings import Failed, ModelRests, Part, RunEnds
from services.executor.core.session.journal import Journal, ending_note
from services.executor.ports.orchestrators import Orchestrating
from services.executor.ports.sessions import Work
from services.executor.ports.turns import SessionState
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import Turn
from shared.domain import span_names as names
from shared.domain.exact_json import JsonObject, dumps, loads_object, plain
from shared.domain.quality import Formula
from shared.domain.words import Strategy
from shared.ports.tracing import Span, SpanKind, Tracer

VERSION = 1  # of what is noted; a reader handles the one before
_DECIDING = ("iterations", "tool_calls", "plans", "trusts_requests", "strategies", "orchestrators")
_LEDGER = TypeAdapter(dict[str, LedgerEntry])
_SESSION = TypeAdapter(SessionState)


class Begun(NamedTuple):
    """How an attempt at a turn began; ``ledger`` is the task's at that moment, ``settings`` those that decide how a run
    goes.
    """

    turn: Turn
    began: datetime
    ledger: Mapping[str, LedgerEntry]
    settings: JsonObject

    def limits(self, today: Limits) -> Limits:
        """Today's limits, with those that decide how a run goes as they were then."""
        said = {name: self.settings.get(name, getattr(today, name)) for name in _DECIDING}
        said["orchestrators"] = self.settings.get("orchestrators", [Orchestrating.LOCAL])  # there was no other
        return today._replace(
            iterations=int(str(said["iterations"])),
            tool_calls=int(str(said["tool_calls"])),
            plans=int(str(said["plans"])),
            trusts_requests=bool(said["trusts_requests"]),
            answers=_answer_rules(self.settings),
            audits_values=self.settings.get("audits_values") is True,  # runs of an older release had no such audit
            strategies=tuple(Strategy(str(name)) for name in cast("list[str]", said["strategies"])),
            orchestrators=tuple(Orchestrating(str(name)) for name in cast("list[str]", said["orchestrators"])),
        )


class EarlyEnding(NamedTuple):
    """How a run ended before its answer, in the attempt that began at ``began``, and the step at which it was, if
    any.
    """

    ending: RunEnds
    step: str | None
    began: str


def note_turn(journal: Journal, turn: Turn, ledger: Mapping[str, LedgerEntry], limits: Limits) -> None:
    """Notes that an attempt at the turn begins."""
    parts = [f'"v":{VERSION}', f'"turn":{turn.stored_json()}', f'"began":"{journal.began.isoformat()}"']
    settings: JsonObject = {name: plain(getattr(limits, name)) for name in _DECIDING}
    settings |= {"formula": limits.answers.formula.value, "reviews": limits.answers.reviews}
    settings |= {"audits_values": limits.audits_values}
    parts.append(f'"settings":{dumps(settings)},"ledger":{_LEDGER.dump_json(dict(ledger)).decode()}')
    journal.note_attempt(turn.turn_id, "{" + ",".join(parts) + "}")


def _answer_rules(settings: JsonObject) -> AnswerRules:
    """The answer rules of that time, without a footer, which is not compared. Releases before answers were reviewed
    reviewed none.
    """
    formula = Formula(str(settings.get("formula", Formula.SIGNALS.value)))
    return AnswerRules(formula, footer=False, reviews=settings.get("reviews") is True)


def read_turn(text: str) -> Begun:
    """How an attempt began, from its note; raises ``ValueError`` for a version that cannot be read here."""
    noted = loads_object(text)
    if noted.get("v") not in (1, VERSION):
        raise ValueError(f"version {noted.get('v')} of a turn's note is not known here")
    turn = Turn.model_validate_json(dumps(noted["turn"]))
    began, ledger = datetime.fromisoformat(str(noted["began"])), _LEDGER.validate_python(noted["ledger"])
    return Begun(turn, began, ledger, cast(JsonObject, noted.get("settings", {})))


def note_ending(journal: Journal, ending: RunEnds) -> None:
    """Notes how the run ends."""
    journal.record_input("ended", ending_note(ending, journal.began, step=journal.stopped_at))


def read_ending(text: str) -> EarlyEnding:
    """How a turn ended early, from the note in its journal; ``Failed`` if this version has no such ending."""
    noted = loads_object(text)
    kind = _kinds(RunEnds).get(str(noted["kind"]), Failed)
    step = cast("str | None", noted.get("step"))
    return EarlyEnding(_ending(kind, noted), step, str(noted["began"]))


def _ending(kind: type[RunEnds], noted: JsonObject) -> RunEnds:
    reason, after = str(noted["reason"]), noted.get("retry_after")
    if kind is ModelRests:
        return ModelRests(reason, None if after is None else float(str(after)))
    return kind(reason, cast("Part | None", noted["part"]))


def _kinds(kind: type[RunEnds]) -> dict[str, type[RunEnds]]:
    below = [_kinds(one) for one in kind.__subclasses__()]
    return {name: one for kinds in below for name, one in kinds.items()} | {kind.__name__: kind}


def note_session(journal: Journal, session: SessionState) -> None:
    journal.record_input("session", _SESSION.dump_json(session).decode())


def read_session(text: str) -> SessionState:
    return _SESSION.validate_json(text)


def turn_span(tracer: Tracer, work: Work) -> AbstractContextManager[Span]:
    """The span of a turn. All turns of a task, and all attempts at them, belong to the trace of the request that began
    it.

    A later turn is linked with the request that brought it: a decision, a cancel, a further message.
    """
    began, brought = work.record.traceparent, work.turn.traceparent
    name = names.TURN.format(kind=work.turn.kind.value)
    return tracer.continue_trace(name, SpanKind.CONSUMER, began or brought, None if brought == began else brought)


def tell_beginning(span: Span, work: Work) -> None:
    if not span.is_recording:
        return
    record = work.record
    of_task = {names.TENANT: record.tenant, names.SESSION: record.session_id, names.TASK: record.task_id}
    of_turn = {names.TURN_KIND: work.turn.kind.value, names.DIALECT: record.dialect.value}
    counts = {names.ATTEMPT: work.attempts, names.WAITED_MS: work.waited_us // 1000}
    span.note({**of_task, **of_turn, **counts})


def tell_end(span: Span, ended: FinishedRun) -> None:
    if not span.is_recording:
        return
    span.note({names.TASK_STATE: ended.state.value})
    if ended.progress is not None:
        span.note({names.PROCESS_TYPE: ended.progress.template.process_type})
        span.note({names.STRATEGY: ended.progress.strategy.value})
