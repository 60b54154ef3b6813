"""The few ways a run can end before its answer, with their reasons; and the writes in doubt that keep one open."""

from collections.abc import Iterable
from typing import Literal

from services.executor.ports.turns import Timer
from shared.contracts.ledger import Attempt, LedgerEntry
from shared.contracts.task import Turn, TurnKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.domain.words import DOUBTS, FsmState, Resolution, TaskState, WriteStatus

REST_SUBJECT = "quiet:"  # begins the subject of such a timer
Part = Literal["model", "tool_server", "policy_service"]


# Writes of which it is not known, or nobody has said, what became; and those that took their way: of a skipped one a
# person decided that it is not made.
UNDECIDED = frozenset({WriteStatus.SENDING, WriteStatus.ASKED, WriteStatus.DENIED, WriteStatus.RESEND, *DOUBTS})
DONE = frozenset({WriteStatus.VERIFIED, WriteStatus.UNVERIFIED, WriteStatus.SENT, WriteStatus.SKIPPED})


class RunEnds(Exception):
    """The run is over. ``state`` is the task's end; ``fsm_state`` the machine's, None where it stays as it stood."""

    state = TaskState.FAILED
    fsm_state: FsmState | None = FsmState.FAILED
    escalated = False
    partial = False

    def __init__(self, reason: str, part: Part | None = None) -> None:
        """``part``: what did not work, where the cause lies in a part of the installation and not in the task."""
        super().__init__(reason)
        self.reason = reason
        self.part = part


class TenantStopped(Exception):
    """The tenant is stopped: the run goes no further for now, and goes on from its journal later. Nothing has ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Failed(RunEnds):
    """Something that was needed did not work."""


class ModelRests(Failed):
    """The model is away and may be back in minutes. ``retry_after``: in so many seconds, it says, if it says so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason, "model")
        self.retry_after = retry_after


class Rejected(RunEnds):
    """A policy or a person said no."""

    state = TaskState.REJECTED
    fsm_state = None


class Escalated(RunEnds):
    """A person has to look at it: a write in doubt, an audit that would not come clean."""

    fsm_state = FsmState.ESCALATE
    escalated = True


class Canceled(RunEnds):
    """Somebody asked for the task to stop."""

    state = TaskState.CANCELED
    fsm_state = None


def ends_rest(turn: Turn) -> bool:
    """Whether a turn is such a timer that came due."""
    return turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(REST_SUBJECT)


class NotSent(Failed):
    """The call cannot be made as it was planned; nothing went out."""


DOUBT_SUBJECT = "doubt:"  # begins the subject of the timer that ends the wait for an operator
_LONGEST_JSON = 4000  # of what was read, in a task's metadata


class Doubtful(Exception):
    """The run cannot go on before an operator says what became of a write."""


class GivenUp(Escalated):
    """An operator took the task over, or none said anything in time."""


def open_doubts(entries: Iterable[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """The writes that wait for an operator's word, the oldest doubt first."""
    found = [entry for entry in entries if entry.status in DOUBTS and entry.resolved is None]
    return tuple(sorted(found, key=lambda entry: (entry.doubted_at is not None, entry.doubted_at, entry.key)))


def doubts_deadline(doubts: Iterable[LedgerEntry]) -> Timer | None:
    """What ends the wait for an operator."""
    return next((Timer(doubt.decide_by, f"{DOUBT_SUBJECT}{doubt.doubt}") for doubt in doubts if doubt.decide_by), None)


def find_taken_over(entries: Iterable[LedgerEntry]) -> LedgerEntry | None:
    """The write in doubt for which an operator took the task over."""
    words = ((entry, entry.resolved) for entry in entries if entry.status in DOUBTS)
    return next((entry for entry, word in words if word and word.resolution is Resolution.TAKE_OVER), None)


def with_attempt(entry: LedgerEntry, status: WriteStatus, note: str | None) -> LedgerEntry:
    """The entry with its present sending among the earlier ones, so that it may be sent again."""
    attempt = Attempt(number=entry.attempt, status=status, sending_at=entry.sending_at, note=note)
    return entry.model_copy(update={"earlier": (*entry.earlier, attempt)})


def describe_doubt(entry: LedgerEntry) -> JsonObject:
    """What is known of a write in doubt, for people and programs."""
    return {
        "doubt": entry.doubt,
        "call_id": entry.call.call_id,
        "connection": entry.call.connection_id,
        "tool": entry.call.tool,
        "arguments": loads(entry.arguments_json),
        "status": entry.status.value,
        "note": entry.note,
        "before": _limit_json(entry.before_json),
        "after": _limit_json(entry.proof_json),
        "answered": entry.refusal or _limit_json(entry.result_json),
        "attempt": entry.attempt,
        "sent": entry.sending_at.isoformat() if entry.sending_at else None,
        "waited_until": entry.open_until.isoformat() if entry.open_until else None,
        "since": entry.doubted_at.isoformat() if entry.doubted_at else None,
        "doubts_deadline": entry.decide_by.isoformat() if entry.decide_by else None,
    }


def operator_words(entries: Iterable[LedgerEntry]) -> list[Json]:
    """Every word of an operator on these writes, the oldest first."""
    words = [(entry, word) for entry in entries for word in entry.resolutions]
    return [
        {
            "doubt": word.doubt,
            "call_id": entry.call.call_id,
            "resolution": word.resolution.value,
            "by": word.by.id,
            "verified": word.by.verified,
            "comment": word.comment,
            "at": word.at.isoformat(),
        }
        for entry, word in sorted(words, key=lambda pair: pair[1].at)
    ]


def brief_operator(doubts: Iterable[LedgerEntry]) -> str:
    """What an operator reads: each write in doubt, what was read before and after, and what can be said of it."""
    known = tuple(doubts)
    deadline = min((entry.decide_by for entry in known if entry.decide_by), default=None)
    until = f" before {deadline:%Y-%m-%d %H:%M} UTC; after that the task ends as failed" if deadline else ""
    return "\n".join(
        [
            "A write is in doubt and was not repeated: an operator has to say what became of it.",
            *(line for entry in known for line in _doubt_lines(entry)),
            f"Say for each: retry, skip, done or take-over{until}.",
        ]
    )


def _doubt_lines(entry: LedgerEntry) -> list[str]:
    since = f" since {entry.doubted_at:%Y-%m-%d %H:%M:%S} UTC" if entry.doubted_at else ""
    return [
        f"- {entry.call.call_id}: {entry.call.tool} {entry.arguments_json}: "
        f"{entry.status.value.replace('_', ' ')}{since} ({entry.note})",
        f"  {_time_out(entry)}",
        f"  read before: {_shorten_text(entry.before_json)}",
        f"  read after: {_shorten_text(entry.proof_json)}",
    ]


def _time_out(entry: LedgerEntry) -> str:
    """When it was sent, and that a server which did not answer may apply it later than anybody waits."""
    if entry.sending_at is None or entry.open_until is None:
        return "nobody knows when it was sent"
    told = f"sent {entry.sending_at:%H:%M:%S}, waited for until {entry.open_until:%H:%M:%S} UTC"
    if entry.result_json is not None or entry.refusal:
        return told
    return f"{told}; without an answer the server may apply it later: look there before you say retry"


def _limit_json(text: str | None) -> Json:
    if text is None:
        return None
    return loads(text) if len(text) <= _LONGEST_JSON else f"{text[:_LONGEST_JSON]}…"


def _shorten_text(text: str | None) -> str:
    if text is None or text == dumps(None):
        return "nothing"
    return text if len(text) <= 300 else f"{text[:300]}…"
