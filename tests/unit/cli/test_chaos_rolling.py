"""Restarts with care: what a run finds amiss, and where its balancer sends requests."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest

from tests.each_row import each_row
from tests.unit.cli.test_chaos_findings import _view, intact_evidence
from tools.chaos.balancer import Balancer
from tools.chaos.chaos_tasks import ChaosTaskKind
from tools.chaos.endings import Unforeseen, find_unexpected_ends
from tools.chaos.evidence import Harm
from tools.chaos.findings import findings
from tools.chaos.followers import Followers
from tools.chaos.roller import Restart, Rolled
from tools.chaos.schedule import schedule

FINE = Rolled(
    failed=(),
    streams={"t1": (("1-0", "2-0"), ("1-0", "2-0", "3-0"))},
    restarts=(Restart("policy", 0.5, 0),),
    by_themselves=(),
    doubts=frozenset(),
)


def _harms(rolled: Rolled, state: str = "completed") -> list[Harm]:
    evidence = replace(intact_evidence(), rolled=rolled, views={"t1": _view(state)})
    return [finding.harm for finding in findings(evidence)]


@pytest.mark.promise("upgrade.nothing_fails")
def test_a_restart_in_which_nothing_failed_has_no_finding() -> None:
    """A watcher of one turn has seen the beginning of a story that went on later."""
    assert _harms(FINE) == []


@pytest.mark.promise("upgrade.nothing_fails")
@each_row(
    ("rolled", "harm"),
    [
        (replace(FINE, failed=("HTTP 503",)), Harm.FAILED_REQUEST),
        (replace(FINE, streams={"t1": (("1-0", "3-0"), ("1-0", "2-0", "3-0"))}), Harm.STREAM_GAP),
        (replace(FINE, streams={"t1": (("1-0", "1-0"), ("1-0", "2-0"))}), Harm.STREAM_GAP),
        (replace(FINE, streams={"t1": ((), ("1-0",))}), Harm.STREAM_GAP),
        (replace(FINE, restarts=(Restart("executor-1", 60.0, None),)), Harm.ROUGH_END),
        (replace(FINE, restarts=(Restart("executor-1", 1.0, 1),)), Harm.ROUGH_END),
        (replace(FINE, by_themselves=("learner ended with exit code 1",)), Harm.ROUGH_END),
        (replace(FINE, doubts=frozenset({"t1:w1"})), Harm.DOUBT),
        (replace(FINE, unforeseen=(Unforeseen("t1", "needs an approval: too little was read"),)), Harm.UNFORESEEN),
    ],
)
def test_what_a_careful_restart_may_not_cost_is_found(rolled: Rolled, harm: Harm) -> None:
    assert _harms(rolled) == [harm]


@pytest.mark.promise("upgrade.nothing_fails")
def test_a_task_that_failed_counts_only_where_nothing_was_struck() -> None:
    """Where processes are killed, a task may fail with its reason; it is told, and no harm."""
    struck = replace(intact_evidence(), views={"t1": _view("failed")})

    assert findings(struck) == ()
    assert [one.sentence for one in struck.ended_otherwise] == [
        "Refund 5.00 of order ORD-1. was to be completed, and is failed: Done."
    ]
    assert _harms(FINE, "failed") == [Harm.FAILED_TASK]
    assert _harms(FINE, "rejected") == [Harm.OTHERWISE]


@each_row(
    ("kind", "canceled", "ends"),
    [
        (ChaosTaskKind.REFUND, None, "completed"),
        (ChaosTaskKind.APPROVED_CLAIM, None, "completed"),
        (ChaosTaskKind.REFUND, 1.0, "completed"),
        (ChaosTaskKind.REFUND, 1.0, "canceled"),
        (ChaosTaskKind.REJECTED_CLAIM, None, "rejected"),
        (ChaosTaskKind.BLOCKED_CLAIM, None, "rejected"),
        (ChaosTaskKind.LEFT_WAITING, None, "input-required"),
    ],
)
def test_tasks_end_as_they_ask(kind: ChaosTaskKind, canceled: float | None, ends: str) -> None:
    """A cancel may come too late; nobody else's task is canceled."""
    (sent,) = intact_evidence().sent
    planned = replace(sent.planned, task=replace(sent.planned.task, kind=kind), canceled_after=canceled)

    assert [*find_unexpected_ends([(replace(sent, planned=planned), _view(ends))])] == []
    assert len([*find_unexpected_ends([(replace(sent, planned=planned), _view("failed"))])]) == 1


def test_nothing_is_struck_where_everything_is_restarted() -> None:
    """There are tasks enough for the longest round, whatever time was asked for."""
    planned = schedule(1, 30, rolling=True)

    assert planned.strikes == ()
    assert planned.tasks[-1].at > 300
    assert [task.task.text for task in planned.tasks[:50]] == [task.task.text for task in schedule(1, 30).tasks[:50]]


class _Gateways(httpx.AsyncBaseTransport):
    """Those named are ready."""

    def __init__(self, ready: Sequence[str]) -> None:
        self.ready = set(ready)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200 if request.url.host in self.ready else 503)


async def test_requests_go_round_the_gateways_that_are_ready() -> None:
    """One that says no gets none, until it says yes again; with none ready there is nowhere to go."""
    gateways = _Gateways(["one", "two"])
    async with httpx.AsyncClient(transport=gateways) as http, asyncio.timeout(10), asyncio.TaskGroup() as group:
        balancer = Balancer(["http://one", "http://two"], http)
        probing = group.create_task(balancer.serve())
        assert {balancer.choose(), balancer.choose()} == {"http://one", "http://two"}
        gateways.ready = {"two"}
        await _until_chosen(balancer, {"http://two"})
        gateways.ready = set()
        await _until_chosen(balancer, {None})
        gateways.ready = {"one"}
        await _until_chosen(balancer, {"http://one"})
        probing.cancel()


async def _until_chosen(balancer: Balancer, urls: set[str | None]) -> None:
    while {balancer.choose(), balancer.choose()} != urls:
        await asyncio.sleep(0.01)


def _told(*kinds: str) -> bytes:
    return b"".join(f"id: {number}-0\nevent: {kind}\ndata: {{}}\n\n".encode() for number, kind in enumerate(kinds))


@pytest.mark.promise("upgrade.nothing_fails")
@each_row(
    ("stories", "broken", "moved"),
    [
        ([_told("submitted", "turn_finished")], 0, 0),
        ([_told("submitted") + b"retry: 1000\n\n", _told("phase", "turn_finished")], 0, 1),
        ([_told("submitted", "phase")], 1, 0),
    ],
)
async def test_a_stream_ends_with_its_turn_or_says_where_to_go_on(
    stories: list[bytes], broken: int, moved: int
) -> None:
    """A line that just closes has lost what was still to come, whatever of the story it had told."""
    left = iter(stories)

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=next(left))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        followers = Followers(Balancer(["http://gateway"], http), http)
        await followers.follow("t1")

    assert (len(followers.broken), followers.moved) == (broken, moved)
