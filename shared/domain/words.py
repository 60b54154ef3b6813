"""The fixed words of the product, as used in records, events and metadata."""

from enum import IntEnum, StrEnum


class TaskState(StrEnum):
    """The state of a task, in the words of A2A."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input-required"
    COMPLETED = "completed"
    REJECTED = "rejected"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL_STATES


_TERMINAL_STATES = frozenset({TaskState.COMPLETED, TaskState.REJECTED, TaskState.FAILED, TaskState.CANCELED})


class FsmState(StrEnum):
    """The eight states that a process (a kind of work) may pass, and its two error ends."""

    DECOMPOSE = "DECOMPOSE"
    ASSESS = "ASSESS"
    COMPUTE = "COMPUTE"
    POLICY_CHECK = "POLICY_CHECK"
    APPROVAL_GATE = "APPROVAL_GATE"
    MUTATE = "MUTATE"
    SCHEDULE_NOTIFY = "SCHEDULE_NOTIFY"
    COMPLETE = "COMPLETE"
    ESCALATE = "ESCALATE"
    FAILED = "FAILED"


class TurnPhase(StrEnum):
    """The phases of a turn, in order."""

    PRIME = "PRIME"
    EXECUTE = "EXECUTE"
    REFLECT = "REFLECT"


class Strategy(StrEnum):
    """The ways to ask models about a task, of which the bandit chooses one."""

    FSM = "fsm"
    FIVE_PHASE = "five_phase"
    MOA = "moa"


class ToolClass(StrEnum):
    """What calling a tool may do to the world, such as read, change or pay; ``TOOL_CLASSES_BY_STRICTNESS`` has their
    order.
    """

    READ = "read"
    COMPUTE = "compute"
    NOTIFY = "notify"
    CHANGE = "change"


TOOL_CLASSES_BY_STRICTNESS: tuple[ToolClass, ...] = (
    ToolClass.COMPUTE,
    ToolClass.READ,
    ToolClass.NOTIFY,
    ToolClass.CHANGE,
)


class WriteStatus(StrEnum):
    """The states of one intended write in the ledger.

    ``SENDING`` is stored before the call. If the process dies, the write is *in doubt* until it is settled.
    """

    SENDING = "sending"
    SENT = "sent"  # the server's answer is known, the proof is not
    DENIED = "denied"  # the server answered with an error, and no read has shown yet whether it wrote all the same
    VERIFIED = "verified"  # read back and found
    UNVERIFIED = "unverified"  # answered, and no read shows it: none can, it did so before, or it shows something else
    REFUSED = "refused"  # the server answered with an error, and no read-back shows the write
    UNSENT = "unsent"  # it is recorded that no connection was made
    ABSENT = "absent"  # the answer was lost and the read-back does not show the write
    IN_DOUBT = "in_doubt"  # the answer was lost or an error, and no read-back settles what became of the write
    RESEND = "resend"  # it may be sent again: the server honours our key, or an operator said that it did not take hold
    ASKED = "asked"  # an agent has it, and waits until a person has answered its question
    SKIPPED = "skipped"  # an operator said that it is to be left undone


SENDABLE_STATUSES = (WriteStatus.UNSENT, WriteStatus.RESEND)  # a call may be sent again; a new one has no status
DOUBTFUL_STATUSES = (WriteStatus.ABSENT, WriteStatus.IN_DOUBT)
DONE_STATUSES = (WriteStatus.SENT, WriteStatus.VERIFIED, WriteStatus.UNVERIFIED)  # it took hold, as far as is known
STATUSES_WITHOUT_EFFECT = (WriteStatus.REFUSED, WriteStatus.UNSENT)
# It is not known, or nobody has said, what became of it. A skipped write is not among these, nor is it done: the plan
# goes on, and the part that it served is not done.
UNDECIDED_STATUSES = (
    WriteStatus.SENDING,
    WriteStatus.ASKED,
    WriteStatus.DENIED,
    WriteStatus.RESEND,
    *DOUBTFUL_STATUSES,
)


class DoubtResolutionKind(StrEnum):
    """What an operator decides about a write in doubt."""

    RETRY = "retry"  # it did not take hold: it may be sent again
    SKIP = "skip"  # it is left undone, and the plan goes on
    DONE = "done"  # it took hold, and the plan goes on
    TAKE_OVER = "take-over"  # the task ends, and a person does the rest


class RuleAction(StrEnum):
    REQUIRE_APPROVAL = "require_approval"
    ESCALATE = "escalate"
    BLOCK = "block"


class EscalationLevel(IntEnum):
    """Escalation levels, lowest first; the highest that a rule names wins."""

    MANAGER = 1
    HR = 2
    FINANCE = 3
    COMMITTEE = 4
    LEGAL = 5
    CFO = 6
    CISO = 7

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, word: str) -> "EscalationLevel":
        """The level of that name; a ``ValueError`` for an unknown one lists the levels."""
        try:
            return cls[word.strip().upper()]
        except KeyError:
            level_words = ", ".join(level.word for level in cls)
            raise ValueError(f"unknown level {word!r}; known levels: {level_words}") from None


_DECIDER_TITLES = {
    "manager": "a manager",
    "hr": "HR",
    "finance": "finance",
    "committee": "the committee",
    "legal": "legal",
    "cfo": "the CFO",
    "ciso": "the CISO",
}


def describe_decider(level: str | None) -> str:
    """Who decides at a level, for a sentence: "a manager", "the CFO", or "an approver" for None."""
    return _DECIDER_TITLES.get(level.lower(), f"a {level}") if level else "an approver"


class Role(StrEnum):
    """What a ``Principal`` may do; one may have several roles."""

    CLIENT = "client"
    APPROVER = "approver"
    OPERATOR = "operator"


class A2aVersion(StrEnum):
    """The A2A protocol version that a task was created in and is answered in."""

    LEGACY = "legacy"
    A2A_0_3 = "0.3"
    A2A_1_0 = "1.0"


class PlanAuditScope(StrEnum):
    """Which plans a model audits for whether they do what the task asks. ``on``: those of processes with medium or high
    risk.
    """

    OFF = "off"
    RISKY = "on"
    ALL = "all"
