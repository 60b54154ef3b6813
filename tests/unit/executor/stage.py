"""A worker on doubles: a small world of claims, a scripted model, a policy that says what it is told."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

import pytest
from typing_extensions import override

from services.executor.core.session.context import Limits, Ports
from services.executor.core.session.journal import restore_latest_progress
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, Processes
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.worker import Worker
from services.executor.ports.services import NoFiles, PolicyService, PolicyUnavailable, TaskFiles, Tenants
from services.executor.ports.tools import ToolSilent
from services.executor.ports.turns import Timer
from services.policy.core.allowances import decide_allowances
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import prepare_policies
from shared.contracts.allowance import AllowanceRequest, Allowances, ToolAllowance
from shared.contracts.outcome import TaskOutcome
from shared.contracts.policy import EvaluateRequest, Policy, Rule, ToolRule, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import Principal, TaskRecord, TaskRequest, Turn, TurnKind
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject, digest, dumps
from shared.domain.words import A2aVersion, Role, TaskState, ToolClass
from shared.ports.daily_spend import DailySpend, UnlimitedSpend
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.doubles.memory_learned import MemoryLearned
from tests.doubles.memory_turns import Died, MemoryTurns
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_talk import Calls, Talk, results_in

TASK = "Approve claim C-1 of 120.50"
CLERK = Principal(id="clerk")
MANAGER = Principal(id="boss", roles=(Role.APPROVER,), levels=("manager",))
Use = tuple[str, JsonObject]
Kind = Literal["find out", "do"]


def use(tool: str, to_part: int | None = None, /, **given: Json) -> Use:
    """A call of a tool, and the part of the task that it carries out."""
    return tool, {**given, "_call": {"part": to_part}} if to_part else {**given}


READ, READ_2 = use("get_claim", claim_id="C-1"), use("get_claim", claim_id="C-2")
APPROVE, APPROVE_2 = use("approve_claim", claim_id="C-1"), use("approve_claim", claim_id="C-2")


def schema(*names: str, closed: bool = False) -> JsonObject:
    """The names are needed, but for those in brackets; ``order_id:integer`` says the type, which is else a text."""
    properties: dict[str, Json] = {}
    for name in names:
        bare, _, kind = name.strip("[]").partition(":")
        properties[bare] = {"type": kind or "string"}
    needed: list[Json] = [name.partition(":")[0] for name in names if not name.startswith("[")]
    more: JsonObject = {"additionalProperties": False} if closed else {}
    return {"type": "object", "properties": properties, "required": needed, **more}


CLAIM_ID = schema("claim_id", closed=True)
ONE = schema("claim_id")


def keeps_silent(_: JsonObject) -> Json:
    """A server whose answer does not come."""
    raise ToolSilent("cut off")


def kills(_: JsonObject) -> Json:
    """The worker's process dies while it waits for this server."""
    raise Died


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

    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        self.asked_for_reads.append(request)
        return Allowances(tools=self.allows, policy_hash="p")

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        self.checked.append(request)
        rules = tuple(one.rule for one in request.candidates if one.rule)
        tool_rules = tuple(one.tool_rule for one in request.candidates if one.tool_rule)
        return ProseAnswer(
            policy=Policy(id="prose", rules=rules, tool_rules=tool_rules), untranslated=self.untranslated
        )


class RealPolicy(SaidPolicy):
    """Rules are evaluated as the service does it."""

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        self.asked.append(request)
        return evaluate(EvaluateRequest.from_json(request.to_json()))


class RealRules(RealPolicy):
    """With the service's rules about reads, too."""

    @override
    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        return decide_allowances(request, prepare_policies(request.policies))


class OneTenant(Tenants):
    def __init__(self, record: TenantRecord) -> None:
        self.record = record

    async def get(self, tenant: str) -> TenantRecord:
        return self.record


class Stage:
    """Everything a test of the worker needs; change its parts before ``run``.

    ``rounds`` are the calls of the model's replies, one after the other: it reads the claim and approves it by default.
    ``parts`` of the task are to be done, unless ``kind`` or their own says otherwise; without them it is one part.
    """

    def __init__(
        self,
        text: str = TASK,
        *rounds: Calls,
        parts: Sequence[str | tuple[str, Kind]] = (),
        kind: Kind = "do",
        answer: str = "Claim C-1 of 120.50 is approved.",
    ) -> None:
        self.claims = Claims()
        self.servers = FakeToolServers()
        self.servers.add("get_claim", self.claims.get, ToolClass.READ, CLAIM_ID)
        self.servers.add("approve_claim", self.claims.approve, ToolClass.CHANGE, CLAIM_ID)
        self.servers.add("notify_person", self.claims.notify, ToolClass.NOTIFY)
        self.policy = SaidPolicy()
        self.talk = Talk(
            parts=[part if isinstance(part, tuple) else (part, kind) for part in parts or (text,)],
            rounds=[*(rounds or ([READ], [APPROVE]))],
            answer=answer,
        )
        self.thinks: Callable[[ModelRequest], ModelReply] | None = None  # in place of the talk
        self.model = ScriptedModel(self._reply)
        self.tenants = OneTenant(office())
        self.learned = MemoryLearned()
        self.daily: DailySpend = UnlimitedSpend()
        self.files: TaskFiles = NoFiles()
        self.limits = Limits(tool_seconds=0.05, settle_margin_seconds=0.0)
        self.turns = MemoryTurns(new_record(text))
        self.processes: Processes = BUILT_IN_TEMPLATES

    @property
    def ports(self) -> Ports:
        """What the worker stands on; a stage with further parts adds them here."""
        ports = Ports(self.model, self.servers, self.policy, self.tenants, self.learned, self.daily)
        return ports._replace(files=self.files)

    @property
    def worker(self) -> Worker:
        return Worker(self.ports, self.limits, load_prompts(), processes=self.processes)

    async def run(self, turn: Turn | None = None, attempts: int = 1) -> TaskRecord:
        """One turn to its end (the first message by default), and the record it leaves."""
        self.turns.daily = self.daily
        await self.worker.run(self.turns.work(turn or message(self.turns.record.request.text), attempts), self.turns)
        return self.turns.record

    async def ends(
        self,
        state: TaskState,
        applied: Sequence[str] | None = None,
        turn: Turn | None = None,
        attempts: int = 1,
        *,
        why: str = "",
        says: str = "",
    ) -> TaskRecord:
        """``run``, after which the task stands so, with these claims approved if they are told.

        ``why`` stands in its reason, ``says`` in its answer.
        """
        record = await self.run(turn, attempts)
        assert record.state is state, f"{record.state}: {record.reason}"
        assert applied is None or self.claims.applied == [*applied], f"{self.claims.applied}: {record.reason}"
        assert why in (record.reason or ""), record.reason
        assert says in (record.answer or ""), record.answer
        return record

    async def dies(self, before: int, turn: Turn | None = None) -> None:
        """``run`` in a process that is killed before that write of its store; the next one may go on."""
        self.turns.die_before = before
        with pytest.raises(Died):
            await self.run(turn)
        self.turns.die_before = None

    async def survives(self, before: int) -> TaskRecord:
        """The first turn to its end, by a second worker if the first one dies before that write of the store."""
        self.turns.die_before = before
        try:
            return await self.run()
        except Died:
            self.turns.die_before = None
            return await self.run(attempts=2)

    @property
    def told(self) -> str:
        """All results of calls that the model was told."""
        return "\n".join(one.content for asked in self.model.requests for one in results_in(asked))

    def offers(self, tool: str, *names: str, kind: ToolClass = ToolClass.CHANGE) -> None:
        """A tool that takes these arguments (``schema``) and answers with the claim as it was told to be."""
        self.servers.add(tool, lambda given: {"id": "C-1", **given}, kind, schema(*names) if names else None)

    @property
    def written(self) -> list[str]:
        """The tools of the plan's calls, in their order."""
        return [entry.call.tool for entry in self.turns.writes.values()]

    @property
    def outcome(self) -> TaskOutcome:
        """Of the task's last turn, which ended it."""
        found = self.turns.ends[-1].outcome
        assert found is not None
        return found

    @property
    def timer(self) -> Timer:
        """What the last turn waits for."""
        found = self.turns.ends[-1].timer
        assert found is not None
        return found

    @property
    def states(self) -> list[str]:
        told = self.turns.record.metadata["states"]
        assert isinstance(told, list)
        return [str(state) for state in told]

    def change_request(self, **update: object) -> None:
        request = self.turns.record.request.model_copy(update=update)
        self.turns.record = self.turns.record.model_copy(update={"request": request})

    def change_tenant(self, **update: object) -> None:
        self.tenants.record = self.tenants.record.model_copy(update=update)

    def set_catalogue(self, **entries: CatalogueEntry) -> None:
        """What the operator says of the tools of the one connection."""
        (connection,) = self.tenants.record.connections
        self.change_tenant(connections=(connection.model_copy(update={"catalogue": entries}),))

    def set_rules(self, *rules: Rule | ToolRule) -> None:
        """The tenant's one policy."""
        plain = tuple(rule for rule in rules if isinstance(rule, Rule))
        of_tools = tuple(rule for rule in rules if isinstance(rule, ToolRule))
        self.change_tenant(policies=(Policy(id="house", rules=plain, tool_rules=of_tools),))

    def judge_by(self, *rules: Rule | ToolRule) -> "Stage":
        """These are the tenant's rules, evaluated as the policy service does it."""
        self.policy = RealPolicy()
        self.set_rules(*rules)
        return self

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
        dialect=A2aVersion.A2A_1_0,
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


def facts_of(stage: "Stage") -> tuple[Fact, ...]:
    """What the run has read."""
    progress = restore_latest_progress(stage.turns.steps.values())
    assert progress is not None
    return progress.dossier.facts


def the_fact(stage: "Stage") -> Fact:
    """The first fact of the run."""
    return facts_of(stage)[0]
