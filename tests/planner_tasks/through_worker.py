"""Tasks in plain words carried out by the real worker: the planner thinks, the policy service's core judges, and the
example company's tools act, all of them in this process.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from examples.company.faults import ToolFaults
from examples.demo.books import BooksSnapshot as Picture
from services.executor.adapters.stored_tenants import FileTenants
from services.executor.core.session.budget import Ceilings
from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.worker import Worker
from services.planner.core.request import parse_request
from shared.contracts.approval import Approval
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.domain.words import A2aVersion, Role, Strategy, TaskState
from tests.company_stage import open_books
from tests.doubles.company_tools import CompanyTools
from tests.doubles.local_policy import LocalPolicy
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import MemoryTurns
from tests.doubles.planner_model import PlannerModel

NOW = datetime(2026, 3, 31, 9, tzinfo=UTC)
CLERK = Principal(id="casey")
_TENANT_FILE = Path("cli/defaults/company_tenant.json")
_TOKENS = 10_000  # of a task, as the executor has it where nothing else is said
_LEVELS = ("manager", "finance", "legal", "committee", "security")
_QUESTIONS = 6  # no process asks more often, not even for its confirmations


class Usage(NamedTuple):
    """``calls`` of the conversation itself, ``helpers`` are questions beside it, ``tokens`` those that are fresh."""

    calls: int
    helpers: int
    tokens: int


NOTHING = Usage(0, 0, 0)


class Question(NamedTuple):
    """What a person was asked: by which rules, and in which words."""

    rules: tuple[str, ...]
    approval: Approval


@dataclass
class Course:
    """One task as it went."""

    record: TaskRecord
    turns: MemoryTurns
    questions: list[Question] = field(default_factory=list)
    usage: Usage = NOTHING

    @property
    def answer(self) -> str:
        return self.record.answer or ""


class Office:
    """A worker over the books of one company; every task has a session of its own.

    ``others``: how many further tools the company's server lists.
    """

    def __init__(self, folder: Path, strategy: Strategy = Strategy.FSM, others: int = 0) -> None:
        name = f"company-{uuid4().hex[:8]}.db"
        self.file, self._books = folder / name, open_books(folder, NOW, name)
        self.tools = CompanyTools(self._books, others)
        self.model = PlannerModel()
        self.policy = LocalPolicy()
        tenants = FileTenants.read_file(_TENANT_FILE, "http://company")
        ports = Ports(self.model, self.tools, self.policy, tenants, MemoryLearned())
        limits = Limits(strategies=(strategy,), tool_seconds=0.2, settle_margin_seconds=0.0, ceilings=Ceilings(_TOKENS))
        self.tenant = tenants.record.id
        self.worker = Worker(ports, limits, load_prompts())

    def books(self) -> Picture:
        return Picture.read(self.file)

    def misbehave(self, faults: str) -> None:
        table = ToolFaults.parse(faults)
        self.tools.faults.replace(table.tools, table.rename)

    def close(self) -> None:
        self._books.close()

    async def send(self, text: str, after: Course | None = None) -> Course:
        """The task as it stands when it has ended or waits. ``after``: the one before it in its session."""
        record = self._record(text)
        turns = MemoryTurns(record)
        if after:
            turns.remembered = after.turns.remembered
        turns.ahead = NOW - datetime.now(UTC)
        return await self._turn(Course(record, turns), TurnKind.MESSAGE, CLERK, text=text)

    async def decide(self, course: Course, word: str, by: Principal | None = None) -> Course:
        """The task after somebody of the right level decided."""
        who = by or Principal(id=f"ann{len(course.questions)}", roles=(Role.APPROVER,), levels=_LEVELS)
        return await self._turn(course, TurnKind.DECISION, who, data={"decision": word})

    async def carry_out(self, text: str, after: Course | None = None) -> Course:
        """The task when nobody is asked any more, everybody having said yes in turn. ``after``: as for ``send``."""
        course = await self.send(text, after)
        for _ in range(_QUESTIONS):
            if course.record.state is not TaskState.INPUT_REQUIRED or course.record.metadata.get("doubts"):
                break
            await self.decide(course, "approve")
        return course

    async def _turn(self, course: Course, kind: TurnKind, who: Principal, **more: object) -> Course:
        before = len(self.model.bodies)
        turn: dict[str, object] = {"turn_id": f"turn-{uuid4().hex[:8]}", "task_id": course.record.task_id, **more}
        turn |= {"kind": kind, "principal": who, "received_at": course.turns.now()}
        await self.worker.run(course.turns.work(Turn.model_validate(turn)), course.turns)
        course.record = course.turns.record
        if course.record.state is TaskState.INPUT_REQUIRED and course.turns.approvals:
            course.questions.append(Question(_rules(course.record), course.turns.approvals[-1]))
        asked = [parse_request(body) for body, _ in self.model.bodies[before:]]
        helpers = sum(bool(one.state or one.schema is not None) for one in asked)
        known = course.usage
        spend = course.record.metadata.get("spend")
        tokens = int(str(spend.get("tokens", 0))) if isinstance(spend, dict) else 0
        course.usage = Usage(known.calls + len(asked) - helpers, known.helpers + helpers, tokens)
        return course

    def _record(self, text: str) -> TaskRecord:
        return TaskRecord(
            tenant=self.tenant,
            task_id=f"t-{uuid4().hex[:8]}",
            session_id=f"s-{uuid4().hex[:8]}",
            dialect=A2aVersion.A2A_1_0,
            requester=CLERK,
            request=TaskRequest(text=text),
            accepted_at=NOW,
            updated_at=NOW,
        )


def _rules(record: TaskRecord) -> tuple[str, ...]:
    verdict = record.metadata.get("verdict")
    triggered = verdict.get("triggeredRules", []) if isinstance(verdict, dict) else []
    found = [rule for rule in triggered if isinstance(rule, dict)] if isinstance(triggered, list) else []
    asking = [str(rule["ruleId"]) for rule in found if rule.get("action") != "block" and not rule.get("indeterminate")]
    return tuple(dict.fromkeys(rule for rule in asking if not rule.startswith("needs-")))
