"""After Redis has forgotten its last writes, a run's clients say again what lay in that tail, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from typing_extensions import override

from cli.gateway.messages import Speaker, TaskView, Utterance
from tests.http_client import open_http
from tests.unit.cli.test_chaos_findings import sent_refund
from tools.chaos.gateway_caller import AcceptedTask, GatewayCaller, RpcRefused
from tools.chaos.load import Load, SentTask
from tools.chaos.recovery import Recoveries
from tools.chaos.sight import HeldSession, Sight
from tools.chaos.tails import Tail, TailRepair
from tools.chaos.tenants import FIRST


class _Gateways(GatewayCaller):
    """Accepts every message as a new task, or refuses all."""

    def __init__(self, *, refuses: bool = False) -> None:
        super().__init__((), open_http())
        self.refuses = refuses
        self.canceled: list[str] = []

    @override
    async def send(self, utterance: Utterance, message_id: str, first: int = 0, tenant: str = FIRST) -> AcceptedTask:
        if self.refuses:
            raise RpcRefused("no")
        return AcceptedTask("t2", "s2", tenant)

    @override
    async def cancel(self, task: AcceptedTask, speaker: Speaker) -> TaskView:
        self.canceled.append(task.task_id)
        return TaskView(task.task_id, "canceled", "", {})


class _Redis(Sight):
    """Knows tasks by their states, and no session."""

    def __init__(self, states: Mapping[str, str]) -> None:
        self._states = states

    @override
    async def states(self, tasks: Sequence[AcceptedTask]) -> tuple[str, ...]:
        return tuple(self._states.get(task.task_id, "") for task in tasks)

    @override
    async def fences(self, sessions: Sequence[HeldSession]) -> tuple[int, ...]:
        return ()


def _repair(sent: SentTask, states: Mapping[str, str], doors: _Gateways | None = None) -> TailRepair:
    sight = _Redis(states)
    load = Load(doors or _Gateways(), 1, "")
    load.sent.append(sent)
    return TailRepair(load, sight, Recoveries(cast("Sight", sight)), pause=0.0)


def _sent(accepted_at: float) -> SentTask:
    sent = sent_refund()
    sent.accepted_at = accepted_at
    return sent


@pytest.mark.promise("chaos.tail_counted")
async def test_an_accept_that_lay_in_the_tail_is_named_and_its_message_sent_again() -> None:
    sent = _sent(accepted_at=11.0)
    repair = _repair(sent, {"t2": "working"})
    await repair.repair(Tail("log-tail-cut", began=10.0))
    assert [(one.task_id, one.fault) for one in repair.lost] == [("t1", "log-tail-cut")]
    assert sent.accepted == AcceptedTask("t2", "s2", FIRST)


@pytest.mark.promise("chaos.tail_counted")
async def test_an_accept_from_before_the_tail_stays_lost() -> None:
    sent = _sent(accepted_at=9.0)
    repair = _repair(sent, {})
    await repair.repair(Tail("log-tail-cut", began=10.0))
    assert not repair.lost
    assert sent.accepted == AcceptedTask("t1", "s1")


@pytest.mark.promise("chaos.tail_counted")
async def test_a_refused_resend_leaves_a_task_that_nobody_has() -> None:
    sent = _sent(accepted_at=11.0)
    await _repair(sent, {}, _Gateways(refuses=True)).repair(Tail("failover", began=10.0))
    assert sent.accepted is None
    assert sent.lost_ids == ["t1"]


async def test_a_decision_and_a_cancel_since_the_tail_began_are_said_again() -> None:
    sent, doors = _sent(accepted_at=1.0), _Gateways()
    sent.decided_at, sent.cancel_taken_at = {"a1": 11.0}, 12.0
    await _repair(sent, {"t1": "input-required"}, doors).repair(Tail("failover", began=10.0))
    assert sent.decided_at == {}
    assert doors.canceled


async def test_what_was_said_before_the_tail_is_not_said_again() -> None:
    sent, doors = _sent(accepted_at=1.0), _Gateways()
    sent.decided_at, sent.cancel_taken_at = {"a1": 3.0}, 4.0
    await _repair(sent, {"t1": "input-required"}, doors).repair(Tail("failover", began=10.0))
    assert sent.decided_at == {"a1": 3.0}
    assert not doors.canceled
