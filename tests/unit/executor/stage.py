"""A worker on doubles: a small world of claims, a scripted model, a policy that says what it is told."""

from collections.abc import Callable
from datetime import UTC, datetime

from services.executor.core.session.context import Limits, Ports
from services.executor.core.session.journal import latest
from services.executor.core.session.values import Fact
from services.executor.core.states.prompts import load
from services.executor.core.turn.execute import execute_task
from services.executor.core.turn.worker import Worker
from services.executor.ports.files import NoFiles, TaskFiles
from services.executor.ports.policy import PolicyService, PolicyUnavailable, Tenants
from services.executor.ports.turns import DailySpend, Unmetered
from shared.contracts.allowance import AllowanceRequest, Allowances, ToolAllowance
from shared.contracts.policy import EvaluateRequest, Policy, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject, digest, dumps
from shared.domain.words import Dialect, Role, ToolClass
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import MemoryTurns
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_talk import Talk

TASK = "Approve claim C-1 of 120.50"
CLERK = Principal(id="clerk")
MANAGER = Principal(id="boss", roles=(Role.APPROVER,), levels=("manager",))
READ: tuple[str, JsonObject] = ("get_claim", {"claim_id": "C-1"})
APPROVE: tuple[str, JsonObject] = ("approve_claim", {"claim_id": "C-1"})
_CLAIM_ID: JsonObject = {
    "type": "object",
    "properties": {"claim_id": {"type": "string"}},
    "required": ["claim_id"],
    "additionalProperties": False,
}


class Claims:
    """Two claims, and every change counted."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Json]] = {
            "C-1": {"id": "C-1", "amount": "120.50", "status": "open"},
            "C-2": {"id": "C-2", "amount": "7.00", "status": "open"},
        }
        self.applied: list[str] = []
        self.told: list[JsonObject] = []

    def get(self, given: JsonObject) -> Json:
        row = self.rows.get(str(given.get("claim_id")))
        return dict(row) if row else {"found": False, "error": "no such claim"}

    def approve(self, given: JsonObject) -> Json:
        key = str(given["claim_id"])
        self.applied.append(key)
        self.rows[key]["status"] = "approved"
        return dict(self.rows[key])

    def notify(self, given: JsonObject) -> Json:
        self.told.append(given)
        return {"sent": True}


class SaidPolicy(PolicyService):
    """Passes everything, unless told otherwise by fields of the verdict; ``fails_from`` counts verdicts from 1."""

    def __init__(self) -> None:
        self.says: dict[str, object] = {}
        self.says_later: dict[str, object] | None = None  # from the second verdict on
        self.fails_from: int | None = None
        self.asked: list[EvaluateRequest] = []
        self.allows: tuple[ToolAllowance, ...] = ()
        self.asked_for_reads: list[AllowanceRequest] = []
        self.checked: list[ProseRequest] = []
        self.untranslated: tuple[str, ...] = ()

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        self.asked.append(request)
        if self.fails_from is not None and len(self.asked) >= self.fails_from:
            raise PolicyUnavailable("the policy service cannot be reached")
        context: Json = [dumps(_plain(call.fields)) for call in request.calls]
        verdict = Verdict(
            passed=True,
            binding=request.binding,
            policy_hash="p",
            context_hash=digest(context),
            plan_hash=request.plan_hash,
        )
        later = self.says_later is not None and len(self.asked) > 1
        return verdict.model_copy(update=self.says_later if later else self.says)

    async def allowances(self, request: AllowanceRequest) -> Allowances:
        self.asked_for_reads.append(request)
        return Allowances(tools=self.allows, policy_hash="p")

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        self.checked.append(request)
        rules = tuple(one.rule for one in request.candidates if one.rule)
        tool_rules = tuple(one.tool_rule for one in request.candidates if one.tool_rule)
        return ProseAnswer(
            policy=Policy(id="prose", rules=rules, tool_rules=tool_rules), untranslated=self.untranslated
        )


class OneTenant(Tenants):
    def __init__(self, record: TenantRecord) -> None:
        self.record = record

    async def get(self, tenant: str) -> TenantRecord:
        return self.record


class Stage:
    """Everything a test of the worker needs; change its parts before ``run``."""

    def __init__(self, text: str = TASK) -> None:
        self.claims = Claims()
        self.servers = FakeToolServers()
        self.servers.add("get_claim", self.claims.get, ToolClass.READ, _CLAIM_ID)
        self.servers.add("approve_claim", self.claims.approve, ToolClass.CHANGE, _CLAIM_ID)
        self.servers.add("notify_person", self.claims.notify, ToolClass.NOTIFY)
        self.policy = SaidPolicy()
        self.talk = Talk(
            parts=[(text, "do")],
            rounds=[[READ], [APPROVE]],
            answer="Claim C-1 of 120.50 is approved.",
        )
        self.thinks: Callable[[ModelRequest], ModelReply] | None = None  # in place of the talk
        self.model = ScriptedModel(self._reply)
        self.tenants = OneTenant(office())
        self.learned = MemoryLearned()
        self.daily: DailySpend = Unmetered()
        self.files: TaskFiles = NoFiles()
        self.limits = Limits(tool_seconds=0.05, settle_margin_seconds=0.0)
        self.turns = MemoryTurns(new_record(text))

    @property
    def worker(self) -> Worker:
        ports = Ports(self.model, self.servers, self.policy, self.tenants, self.learned, self.daily)
        ports = ports._replace(files=self.files)
        return Worker(ports, self.limits, load(), execute_task)

    async def run(self, turn: Turn | None = None, attempts: int = 1) -> TaskRecord:
        """One turn to its end (the first message by default), and the record it leaves."""
        self.turns.daily = self.daily
        await self.worker.run(self.turns.work(turn or message(self.turns.record.request.text), attempts), self.turns)
        return self.turns.record

    def age_verdicts(self) -> None:
        """Each verdict is old by the time that a call is to go out."""
        self.limits = self.limits._replace(verdict_seconds=-1.0)

    def only_asks(self) -> None:
        """The task is understood as a question: what is read is all that is done."""
        self.talk.parts = [(text, "find out") for text, _ in self.talk.parts]
        self.talk.rounds = self.talk.rounds[:1]

    def cannot_read(self) -> None:
        """No tool shows a claim: nothing is read before a write, and no read can prove it."""
        self.servers.remove("get_claim")
        self.talk.rounds = [[], [APPROVE]]

    def _reply(self, request: ModelRequest) -> ModelReply:
        return (self.thinks or self.talk)(request)

    @property
    def statuses(self) -> list[str]:
        return [entry.status.value for entry in self.turns.writes.values()]


def office() -> TenantRecord:
    """A tenant with one tool server, whose writes need no approval unless a rule says so."""
    return TenantRecord(id="acme", unruled_writes="allow", connections=(Connection(id="office", url="http://office"),))


def new_record(text: str) -> TaskRecord:
    now = datetime.now(UTC)
    return TaskRecord(
        tenant="acme",
        task_id="task-1",
        session_id="session-1",
        dialect=Dialect.A2A_1_0,
        requester=CLERK,
        request=TaskRequest(text=text),
        accepted_at=now,
        updated_at=now,
    )


def message(text: str, turn_id: str = "turn-1") -> Turn:
    return _turn(turn_id, TurnKind.MESSAGE, CLERK, text=text)


def decision(word: str, by: Principal = MANAGER, turn_id: str = "turn-2") -> Turn:
    return _turn(turn_id, TurnKind.DECISION, by, data={"decision": word})


def deadline(turn_id: str = "turn-d") -> Turn:
    return _turn(turn_id, TurnKind.DEADLINE, CLERK)


def cancel(turn_id: str = "turn-c") -> Turn:
    return _turn(turn_id, TurnKind.CANCEL, CLERK)


def _turn(turn_id: str, kind: TurnKind, who: Principal, **more: object) -> Turn:
    base = {"turn_id": turn_id, "task_id": "task-1", "kind": kind, "principal": who, "received_at": datetime.now(UTC)}
    return Turn.model_validate({**base, **more})


def _plain(fields: object) -> JsonObject:
    return {key: str(value) for key, value in fields.items()} if isinstance(fields, dict) else {}


def the_fact(stage: "Stage") -> Fact:
    """The first fact of the run."""
    progress = latest(stage.turns.steps.values())
    assert progress is not None
    return progress.dossier.facts[0]
