"""The write ledger: each intended write with its outcome and proof."""

from datetime import datetime

from pydantic import JsonValue

from shared.contracts.base import Contract
from shared.contracts.plan import PlannedCall
from shared.contracts.task import Principal
from shared.domain.words import DoubtResolutionKind, ToolClass, WriteStatus


class DoubtResolution(Contract):
    """An operator's decision on a write in doubt. ``doubt`` identifies the write and its attempt.

    The decision comes from a turn of the kind ``RESOLUTION``, whose data has ``doubt``, ``call_id``, ``resolution`` and
    ``comment``.
    """

    doubt: str
    resolution: DoubtResolutionKind
    by: Principal
    at: datetime
    comment: str = ""
    turn_id: str


class EarlierAttempt(Contract):
    """The result of an earlier attempt at the same write."""

    number: int
    status: WriteStatus
    sending_at: datetime | None = None
    note: str | None = None


class AgentCall(Contract):
    """A call of a remote A2A agent's skill that the agent accepted: ``task``, the agent's id for its work, and the
    question that the agent asks a person.
    """

    task: str
    at_work: bool = False  # whether it had not finished when it was last asked, and nobody had to answer anything
    question: str = ""  # what it asked last
    asked_in: str = ""  # the turn in which it did
    reply: str | None = None  # a person's answer, which is to be sent or was
    reply_parts: tuple[dict[str, JsonValue], ...] = ()  # the same as it was sent, if more than text
    replies: int = 0  # how often a person answered


class LedgerEntry(Contract):
    """One intended write. ``key`` identifies it permanently by task, plan (round and hash) and call.

    ``open_until`` is set with ``SENDING``: until then the request may still arrive, so its outcome must not be judged.
    JSON texts are canonical; ``before_json`` is the read-back's answer just before the call.
    """

    key: str
    call: PlannedCall
    arguments_json: str  # as sent, every $ref resolved; the idempotency key, where one is sent, stands beside them
    plan_hash: str
    status: WriteStatus
    sending_at: datetime | None = None
    open_until: datetime | None = None
    before_json: str | None = None
    result_json: str | None = None
    proof_json: str | None = None  # the read-back's answer after the call
    contradicted: bool = False  # whether that answer shows something else than what was to be written
    shows_other_value: bool = False  # namely another value of a set field, in a record that is as it was
    note: str | None = None  # why it is what it is, in a sentence
    refusal: str | None = None  # the server's words, where it answered with an error
    not_begun: bool = False  # whether that error means that nothing was written: by protocol, operator or reason
    idempotency_field: str | None = None  # the argument in which ``key`` was sent, where the server honours one
    is_replanned: bool = False  # whether an earlier plan of the task had a call of its tool, under a key of that plan
    compensates: str | None = None  # the id of the call that this one takes back
    attempt: int = 1  # how often it was begun to be sent, this time included
    earlier: tuple[EarlierAttempt, ...] = ()
    doubted_at: datetime | None = None  # since when it is in doubt
    decide_by: datetime | None = None  # until when an operator may say what became of it
    decide_hours: float = 24.0  # how long the tenant gave for that when the call went out
    resolutions: tuple[DoubtResolution, ...] = ()  # what operators said of it, newest last
    agent: AgentCall | None = None

    @property
    def waits_for_proof(self) -> bool:
        """Whether the server has answered a change that is still to be read back. A notice is not read back."""
        return self.status is WriteStatus.SENT and self.call.tool_class is ToolClass.CHANGE

    @property
    def doubt_id(self) -> str:
        """The id of the doubt about this write. It includes the number of the attempt, so that a doubt about another
        attempt has another id.
        """
        return f"{self.key}:{self.attempt}"

    @property
    def question_id(self) -> str:
        """The id of the remote agent's present question; a later question has another id."""
        return f"{self.key}:{self.agent.replies if self.agent else 0}"

    @property
    def operator_decision(self) -> DoubtResolution | None:
        """The operator's decision on the present attempt; None if there is none."""
        return next((word for word in self.resolutions if word.doubt == self.doubt_id), None)
