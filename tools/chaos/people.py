"""The people of a run: an approver who answers as the errand says, and an operator who settles writes in doubt."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from cli.gateway.messages import OutgoingMessage, Speaker, TaskView
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import EscalationLevel, TaskState
from tools.chaos.chaos_tasks import ChaosTaskKind, IntendedWrite, PlanAlteration, RowChange
from tools.chaos.endings import UnforeseenApproval
from tools.chaos.evidence import arguments_of
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.ledgers import CompanyLedger, change_row
from tools.chaos.load import GivenApproval, Load, SentTask
from tools.chaos.sight import Sight
from tools.chaos.wiring import COMPANIES
from tools.chaos.writes import IN_HAND_SECONDS

APPROVER = Speaker("dana", ("approver",), tuple(level.word for level in EscalationLevel))
OPERATOR = Speaker("otto", ("operator",))
_LOOK_EVERY = 0.5
_AGAIN = 1.5
_MOST_RETRIES = 2  # of one call
_OPERATOR_SECONDS = 8.0  # nobody looks into the books at once: what a frozen server has yet to do is done by then

_MARGIN_SECONDS = 2.0  # beyond the time at which a company says that it applies a late call


class LateCalls:
    """Which company still has a call in hand that it will apply later than anybody waits, as its operator would know.

    Told by whoever makes a company late, asked by whoever settles a write in doubt.
    """

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def expect(self, company: str, seconds: float) -> None:
        """The company applies within so many seconds what it has been asked for by now."""
        self._until[company] = max(self._until.get(company, 0.0), time.monotonic() + seconds + _MARGIN_SECONDS)

    def are_in_hand(self, company: str) -> bool:
        return time.monotonic() < self._until.get(company, 0.0)

    async def wait_for_none(self) -> None:
        """Return once no company has one in hand."""
        await asyncio.sleep(max(0.0, max(self._until.values(), default=0.0) - time.monotonic()))


class People:
    """Looks at all open tasks now and then, and answers those that wait for somebody."""

    def __init__(
        self,
        gateways: GatewayCaller,
        load: Load,
        sight: Sight,
        books: Mapping[str, Path],
        seed: int,
        late: LateCalls | None = None,
    ) -> None:
        """``late``: which company has a call in hand, as its operator says who is asked."""
        self._late = late or LateCalls()
        self._retried: Counter[str] = Counter()  # by call: how often the operator had it sent again
        self._gateways = gateways
        self._load = load
        self._sight = sight
        self._books = books
        self._seed = seed
        self.resolved: dict[str, str] = {}  # doubt -> what was said of it
        self._seen: dict[str, float] = {}  # doubt -> when the operator first saw it
        self.unforeseen: list[UnforeseenApproval] = []  # the answer was no

    async def serve(self) -> None:
        """Until cancelled."""
        while True:
            await self.answer_waiting()
            await asyncio.sleep(_LOOK_EVERY)

    async def answer_waiting(self) -> None:
        """Note where every open task stands, and answer those that wait."""
        open_tasks = [(sent, accepted) for sent, accepted in self._load.accepted_tasks() if not sent.has_ended]
        states = await self._sight.states([accepted for _, accepted in open_tasks])
        for (sent, _), state in zip(open_tasks, states, strict=True):
            sent.state = state
        now = time.monotonic()
        waiting = [pair for pair in open_tasks if pair[0].waits and self._is_due(pair[0], now)]
        await asyncio.gather(*(self._answer(sent, accepted) for sent, accepted in waiting))

    def _is_due(self, sent: SentTask, now: float) -> bool:
        """Whether somebody looks at a waiting task now: not all the time, and never where nobody is there."""
        if sent.planned.task.decision == "" or now < sent.looked_at + _AGAIN or _is_too_soon(sent, now):
            return False
        sent.looked_at = now
        return True

    async def _answer(self, sent: SentTask, accepted: AcceptedTask) -> None:
        try:
            view = await self._gateways.view(accepted, OPERATOR)
            doubts = [doubt for doubt in _list_or_empty(view.metadata.get("doubts")) if isinstance(doubt, dict)]
            if view.state != TaskState.INPUT_REQUIRED:
                return
            if doubts:
                await self._resolve(sent, accepted, doubts)
            else:
                await self._decide(sent, accepted, view)
        except RpcRefused:  # it has moved on meanwhile: the next look sees where it stands
            return

    async def _decide(self, sent: SentTask, accepted: AcceptedTask, view: TaskView) -> None:
        approval = str(view.metadata.get("approval_id"))
        word = _choose_decision(sent, view)
        if approval in sent.decided_at:
            return
        utterance = OutgoingMessage(word or "reject", APPROVER, task_id=accepted.task_id)
        if not sent.is_meddled_with:
            sent.is_meddled_with = True
            await self._interfere(sent, accepted)
        if word == "approve":
            sent.approvals.append(GivenApproval(time.monotonic(), _calls_shown(view)))
        await self._gateways.send(
            utterance, f"chaos-{self._seed}-{sent.planned.number}-{approval}", tenant=accepted.tenant
        )
        sent.decided_at[approval] = time.monotonic()
        if word is None:
            told = f"{sent.planned.task.text} needs an approval: {view.answer}"
            self.unforeseen.append(UnforeseenApproval(accepted.task_id, told))

    async def _interfere(self, sent: SentTask, accepted: AcceptedTask) -> None:
        """What somebody else does right before the approver answers what was shown."""
        match sent.planned.task.meanwhile:
            case RowChange() as change:
                change_row(self._books[sent.planned.protocol], change)
            case PlanAlteration(before, after):
                await self._sight.alter_plan(accepted, before, after)

    async def _resolve(self, sent: SentTask, accepted: AcceptedTask, doubts: list[JsonObject]) -> None:
        """Done if the company has applied the write, else sent again: what a person would look up.

        Nobody says so while the company has a call in hand; what came to nothing several times is left undone.
        """
        if self._late.are_in_hand(COMPANIES[sent.planned.protocol]):
            return
        applied = CompanyLedger.read(self._books[sent.planned.protocol])
        now = time.monotonic()
        for doubt in doubts:
            if now - self._seen.setdefault(str(doubt.get("doubt")), now) < _OPERATOR_SECONDS:
                continue
            name, call = str(doubt.get("doubt")), str(doubt.get("call_id"))
            intended = _intended_writes(sent, doubt)
            word = "done" if any(applied.count(one) for one in intended) else self._choose_word(name, call, accepted)
            self.resolved[name] = word
            body: JsonObject = {"call": call, "resolution": word, "metadata": {"principal": OPERATOR.build_metadata()}}
            await self._gateways.post(f"/tasks/{accepted.task_id}/resolve", body, OPERATOR, accepted.tenant)

    def _choose_word(self, doubt: str, call: str, task: AcceptedTask) -> str:
        """What is said of a write that did not take hold; the same for the same doubt."""
        if doubt not in self.resolved:
            self._retried[f"{task.task_id}:{call}"] += 1
        return "retry" if self._retried[f"{task.task_id}:{call}"] <= _MOST_RETRIES else "skip"


def _intended_writes(sent: SentTask, doubt: JsonObject) -> list[IntendedWrite]:
    arguments = doubt.get("arguments")
    known = arguments if isinstance(arguments, dict) else {}
    return [one for one in sent.planned.task.writes if one.is_made_by(str(doubt.get("tool")), known)]


def _choose_decision(sent: SentTask, view: TaskView) -> str | None:
    """What the approver answers: no to calls of a plan that somebody altered; None if nobody should have been asked."""
    task = sent.planned.task
    asked = {(tool, dumps(arguments)) for tool, arguments in _calls_shown(view)}
    known = {(tool, dumps(arguments)) for one in sent.approvals for tool, arguments in one.calls}
    is_other = bool(known) and asked != known
    return "reject" if is_other and isinstance(task.meanwhile, PlanAlteration) else task.decision


def _is_too_soon(sent: SentTask, now: float) -> bool:
    """Where a claim is canceled while it waits, the approver says yes only once the cancel was taken in."""
    if sent.planned.task.kind is not ChaosTaskKind.CANCELED_CLAIM:
        return False
    return sent.cancel_taken_at is None or now < sent.cancel_taken_at + IN_HAND_SECONDS


def _calls_shown(view: TaskView) -> tuple[tuple[str, JsonObject], ...]:
    """What the approver sees of the plan: its calls with their arguments."""
    asked = view.metadata.get("approval_request")
    listed = asked.get("calls") if isinstance(asked, dict) else None
    calls = [call for call in _list_or_empty(listed) if isinstance(call, dict)]
    return tuple((str(call.get("tool")), arguments_of(call)) for call in calls)


def _list_or_empty(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
