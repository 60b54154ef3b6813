"""The tasks of the demo: what is said, by whom, and exactly what must be true in the company's database afterwards."""

from dataclasses import dataclass

from cli.demo.books import Change
from cli.gateway.messages import Speaker

CLERK = Speaker("casey")
MANAGER = Speaker("dana", ("approver",), ("manager",))


@dataclass(frozen=True)
class Said:
    """One turn, and where the task must stand after it. Nothing may be written before the last turn."""

    text: str
    then: str
    by: Speaker = CLERK


@dataclass(frozen=True)
class ListOf:
    """The answer must be the ids of these rows, as an exact JSON list."""

    table: str
    column: str
    value: str


@dataclass(frozen=True)
class DemoTask:
    name: str
    shows: str
    turns: tuple[Said, ...]
    changes: tuple[Change, ...] = ()
    writes: tuple[str, ...] = ()
    answer: ListOf | None = None
    passes: tuple[str, ...] = ()  # states that it must have walked through
    avoids: tuple[str, ...] = ()  # states that it must not have reached


_READS_FIRST = ("DECOMPOSE", "ASSESS")

TASKS = (
    DemoTask(
        "within limits",
        "an expense claim inside the policy is approved, written once and read back",
        (Said("Approve expense claim EXP-1002.", "completed"),),
        (Change("budgets", "BUD-01", "spent_cents", 4323640), Change("expenses", "EXP-1002", "status", "approved")),
        ("approve_expense",),
        passes=(*_READS_FIRST, "POLICY_CHECK", "MUTATE", "COMPLETE"),
    ),
    DemoTask(
        "approved by a manager",
        "a claim over the limit waits; a manager approves it in a second turn; only then is it written",
        (
            Said("Approve expense claim EXP-1001.", "input-required"),
            Said("approve", "completed", MANAGER),
        ),
        (Change("budgets", "BUD-05", "spent_cents", 1523900), Change("expenses", "EXP-1001", "status", "approved")),
        ("approve_expense",),
        passes=(*_READS_FIRST, "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "COMPLETE"),
    ),
    DemoTask(
        "rejected by a manager",
        "another claim over the limit waits; the manager says no; nothing is written",
        (
            Said("Approve expense claim EXP-1004.", "input-required"),
            Said("reject", "rejected", MANAGER),
        ),
        passes=(*_READS_FIRST, "POLICY_CHECK", "APPROVAL_GATE"),
        avoids=("MUTATE",),
    ),
    DemoTask(
        "blocked by policy",
        "a claim of a category that the company never pays is refused, and nothing is written",
        (Said("Approve expense claim EXP-1008.", "rejected"),),
        passes=(*_READS_FIRST, "POLICY_CHECK"),
        avoids=("MUTATE",),
    ),
    DemoTask(
        "a question",
        "a question is answered by reading alone, as an exact list",
        (Said("Which expense claims are pending? Answer with a JSON list of their ids.", "completed"),),
        answer=ListOf("expenses", "status", "pending"),
        passes=(*_READS_FIRST, "COMPLETE"),
        avoids=("COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE"),
    ),
)
