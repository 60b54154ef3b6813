"""A server that fails is left alone for a while, and found again: closed, open, half-open, and back."""

import asyncio

import httpx
import pytest
from hypothesis import given, strategies as st

from services.executor.adapters.resilience import (
    MOST_BREAKERS,
    CircuitBreaker,
    CircuitBreakerLimits,
    CircuitState,
    Resilience,
)
from services.executor.core.session.journal import RepairedFaultCounter
from services.executor.hosting import build_executor_health_app
from services.executor.ports.tools import ToolAddressForbidden, ToolAnswer, ToolUnreachable
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from tests.doubles.connected import connected
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.doubles.idle_runner import IdleRunner

pytestmark = pytest.mark.promise("tools.breaker")
SHOP, OTHER = Connection(id="shop", url="http://shop.test"), Connection(id="other", url="http://other.test")
LIMITS = CircuitBreakerLimits(failures=3, first=1.0, steady=0.0, longest=4.0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class World:
    """Two servers with one tool, a breaker for each, and a clock that only the test moves."""

    def __init__(self) -> None:
        self.servers, self.clock = FakeToolServers(), Clock()
        self.servers.add("get_order", lambda _: {"id": "O-1"})
        self.tools = connected(self.servers, Resilience(pauses=(), limits=LIMITS, clock=self.clock))

    async def fails(self, times: int = 3) -> None:
        self.servers.go_down("shop")
        for _ in range(times):
            with pytest.raises(ToolUnreachable, match="refused"):
                await self.call()

    async def call(self, connection: Connection = SHOP) -> ToolAnswer:
        return await self.tools.read(connection, "get_order", {}, 1.0)


async def test_so_many_failures_in_a_row_open_it_and_nothing_is_sent_then() -> None:
    world = World()
    await world.fails()
    world.servers.come_back("shop")
    with pytest.raises(ToolUnreachable, match="was not sent"):
        await world.call()
    assert world.servers.calls == []
    assert world.tools.circuit_counts == {CircuitState.OPEN.value: 1}


async def test_a_server_that_is_up_again_is_found_again() -> None:
    """The original left a server alone for good after one failed discovery."""
    world = World()
    await world.fails()
    world.servers.come_back("shop")
    world.clock.now += LIMITS.first
    assert world.tools.circuit_counts == {CircuitState.HALF_OPEN.value: 1}
    assert await world.tools.discover(SHOP)
    assert (await world.call()).content == {"id": "O-1"}
    assert world.tools.circuit_counts == {CircuitState.CLOSED.value: 1}


async def test_nobody_waits_between_attempts_that_the_breaker_will_all_refuse() -> None:
    """A task that does without the server begins at once."""
    servers = FakeToolServers()
    servers.go_down("shop")
    tools = connected(servers, Resilience(pauses=(60.0,), limits=LIMITS._replace(first=61.0), clock=Clock()))
    for _ in range(LIMITS.failures):
        with pytest.raises(ToolUnreachable, match="refused"):
            await tools.call(SHOP, "get_order", {}, 1.0)  # which is never repeated
    async with asyncio.timeout(5):
        with pytest.raises(ToolUnreachable, match="were not asked for"):
            await tools.discover(SHOP)
        with pytest.raises(ToolUnreachable, match="was not sent"):
            await tools.read(SHOP, "get_order", {}, 90.0)


class _Store:
    async def ping(self) -> None: ...


async def test_the_health_of_an_executor_counts_how_its_tool_servers_stand() -> None:
    world = World()
    await world.fails()
    await world.call(OTHER)
    app = build_executor_health_app(_Store().ping, IdleRunner(), RepairedFaultCounter(), lambda: 0, world.tools)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://executor") as client:
        said = (await client.get("/health")).json()
    assert said["tool_servers"] == {"open": 1, "closed": 1}
    assert "shop.test" not in str(said)


@pytest.mark.promise("tools.forbidden")
async def test_neither_a_call_that_may_not_be_made_nor_an_answer_that_says_no_is_a_failure() -> None:
    """Somebody else may be permitted to call that very URL."""
    world = World()
    world.servers.add("get_order", _forbidden)
    for _ in range(5):
        with pytest.raises(ToolAddressForbidden):
            await world.call()
    assert world.tools.circuit_counts == {CircuitState.CLOSED.value: 1}
    world = World()
    world.servers.add("get_order", lambda _: ToolAnswer("no such order", is_error=True))
    for _ in range(5):
        assert (await world.call()).is_error
    assert world.tools.circuit_counts == {CircuitState.CLOSED.value: 1}


def _forbidden(_: JsonObject) -> Json:
    raise ToolAddressForbidden("the URL leads to a link-local address")


async def test_half_open_lets_one_call_pass_and_says_of_the_others_that_nothing_was_sent() -> None:
    world, probe = await _probed_in_vain()
    with pytest.raises(ToolUnreachable, match="was not sent"):
        await world.call()
    assert len(world.servers.calls) == 1
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe


async def test_a_probe_whose_caller_leaves_lets_another_one_try() -> None:
    world, probe = await _probed_in_vain()
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    world.servers.add("get_order", lambda _: "here")
    assert (await world.call()).content == "here"


async def test_only_so_many_servers_are_remembered() -> None:
    world = World()
    for number in range(MOST_BREAKERS + 3):
        await world.call(Connection(id="shop", url=f"http://shop{number}.test"))
    assert sum(world.tools.circuit_counts.values()) == MOST_BREAKERS


@given(st.lists(st.tuples(st.sampled_from(["fail", "answer", "leave"]), st.floats(0, 10)), max_size=60))
def test_whatever_happens_a_server_is_tried_again_within_the_longest_pause(steps: list[tuple[str, float]]) -> None:
    breaker, now = CircuitBreaker(LIMITS), 0.0
    for what, seconds in steps:
        now += seconds
        call = breaker.admit_call(now)
        if call is None:
            continue
        if what == "fail":
            breaker.record_failure(call, now)
        elif what == "answer":
            breaker.record_answer()
        else:
            breaker.record_abandoned_call(call)
    assert breaker.admit_call(now + LIMITS.longest)


@pytest.mark.parametrize("fails", [True, False])
def test_a_call_from_before_the_breaker_opened_does_not_end_the_trial(fails: bool) -> None:
    breaker, now = CircuitBreaker(LIMITS), 10.0
    late, *others = [_admitted(breaker, now) for _ in range(LIMITS.failures + 1)]
    for call in others:
        breaker.record_failure(call, now)
    trial = _admitted(breaker, now + LIMITS.first)
    if fails:
        breaker.record_failure(late, now + LIMITS.first)
    else:
        breaker.record_abandoned_call(late)
    assert breaker.admit_call(now + LIMITS.longest) is None
    breaker.record_failure(trial, now + LIMITS.first)
    assert breaker.seconds_until_retry(now + LIMITS.first) == 2 * LIMITS.first


def _admitted(breaker: CircuitBreaker, now: float) -> int:
    call = breaker.admit_call(now)
    assert call is not None
    return call


def test_while_reads_still_wait_the_pauses_stay_short() -> None:
    breaker, now = CircuitBreaker(LIMITS._replace(steady=3.0)), 10.0
    for _ in range(LIMITS.failures):
        breaker.record_failure(_admitted(breaker, now), now)
    for expected in (1.0, 1.0, 2.0, 4.0):
        now += breaker.seconds_until_retry(now)
        breaker.record_failure(_admitted(breaker, now), now)
        assert breaker.seconds_until_retry(now) == expected


async def _probed_in_vain() -> "tuple[World, asyncio.Future[ToolAnswer]]":
    """A breaker whose one call on trial has been made, and gets no answer."""
    world = World()
    await world.fails()
    world.servers.come_back("shop")
    world.clock.now += LIMITS.first
    asked = asyncio.Event()

    async def hanging(_: object) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    world.servers.add("get_order", hanging)
    probe = asyncio.ensure_future(world.call())
    await asked.wait()
    return world, probe
