"""The gateway beside the official SDK's own in-memory server: both under the same load, in turns, in one run.

How many requests a second a server answers is asked by connections that each ask again as soon as they were answered.
How long an answer takes is asked at one rate for both, ``_LOAD`` of what the SDK's server answered, with arrivals as
those of clients who know nothing of each other: in the first way a slow server is asked less often, and each stands at
its own limit (decision 112).
"""

import asyncio
import json
import os
import statistics
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from time import perf_counter, process_time
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject, loads_object, to_exact
from tools.bench.gateway.client import BenchConnection, encode_request, open_connections, pace_requests, time_requests
from tools.bench.gateway.servers import Server, end_turn, serving_both

CONNECTIONS = 8
_PACED_CONNECTIONS = 64  # enough that a request waits in the server, not for a connection
_LOAD = 0.8
_STREAMS, _STATUSES = 16, 100
_TIMES_AS_MANY, _P99_SHARE = 2.0, 0.25
_WARM_SECONDS = 0.3


class Plan(NamedTuple):
    """``rounds`` of ``seconds`` each for either server, in turns; ``open_streams`` are held by the gateway."""

    rounds: int = 5
    seconds: float = 2.0
    open_streams: int = 1000


class RequestRates(NamedTuple):
    """Of one kind of request, each the median of the rounds: requests a second, the p99 of these and CPU of the server
    each, at the server's own limit; ``p50_ms`` and ``p99_ms`` at the rate that is the same for both.

    ``client_percent``: how much of a core the client took at the server's limit. Near 100 it is the client's limit.
    """

    a_second: float
    limit_p99_ms: float
    cpu_ms: float
    p50_ms: float
    p99_ms: float
    client_percent: float


class Streaming(NamedTuple):
    """Events a second over several streams at once (median of the rounds), and CPU of the server each."""

    a_second: float
    cpu_ms: float


class Beside(NamedTuple):
    """``rate``: requests a second at which both were asked how long an answer takes."""

    ours: RequestRates
    sdk: RequestRates
    rate: float


class OpenStreams(NamedTuple):
    """``cpu_percent``: of one core, while nothing happens in them."""

    streams: int
    memory_mb: float
    cpu_percent: float


class GatewayFigures(NamedTuple):
    get_task: Beside
    accept: Beside
    ours_streaming: Streaming
    sdk_streaming: Streaming
    held: OpenStreams
    load: float  # the machine's load average as the run began

    @property
    def missed(self) -> list[str]:
        """A sentence for each target that was not met."""
        found = list[str]()
        for name, (ours, sdk, rate) in (("GetTask", self.get_task), ("accept", self.accept)):
            times, share = ours.a_second / sdk.a_second, ours.p99_ms / sdk.p99_ms
            if times < _TIMES_AS_MANY:
                found.append(f"{name}: {times:.2f} times the SDK's requests a second, target at least {_TIMES_AS_MANY}")
            if share > _P99_SHARE:
                found.append(f"{name}: p99 at {rate:.0f}/s is {share:.2f} of the SDK's, target at most {_P99_SHARE}")
        return found

    def as_json(self) -> JsonObject:
        def figures(row: NamedTuple) -> Json:
            return {name: to_exact(round(value, 3)) for name, value in row._asdict().items()}

        def show_both(rows: Beside) -> Json:
            return {"ours": figures(rows.ours), "sdk": figures(rows.sdk), "rate": to_exact(round(rows.rate))}

        return {
            "load_average": to_exact(round(self.load, 2)),
            "get_task": show_both(self.get_task),
            "accept": show_both(self.accept),
            "stream_events": {"ours": figures(self.ours_streaming), "sdk": figures(self.sdk_streaming)},
            "open_streams": figures(self.held),
            "missed": list(self.missed),
        }


async def measure_gateway(plan: Plan) -> GatewayFigures:
    load = os.getloadavg()[0]
    async with serving_both() as (ours, sdk):
        tasks = {server: await _ended_task(server) for server in (ours, sdk)}
        get_task = await _play_both(ours, sdk, plan, lambda server: _repeat(_rpc("GetTask", {"id": tasks[server]})))
        accept = await _play_both(ours, sdk, plan, lambda _: (_send_request() for _ in count()))
        streaming = await _measure_streaming(ours, sdk, plan.rounds)
        return GatewayFigures(get_task, accept, *streaming, await _hold_streams(ours, plan.open_streams), load)


def _rpc(method: str, params: JsonObject) -> bytes:
    return encode_request(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())


_NAMES = count()


def _send_request(text: str = "hello", *, method: str = "SendMessage") -> bytes:
    """A new task, whose answer is not waited for."""
    message: Json = {"messageId": f"m{next(_NAMES)}", "role": "ROLE_USER", "parts": [{"text": text}]}
    return _rpc(method, {"message": message, "configuration": {"returnImmediately": True}})


def _repeat(request: bytes) -> Iterator[bytes]:
    while True:
        yield request


async def _new_task(connection: BenchConnection) -> tuple[str, str]:
    """The ids of a new task and of its session; raises ``LookupError`` if the gateway made none."""
    result = loads_object((await connection.ask(_send_request())).decode())["result"]
    task = result["task"] if isinstance(result, dict) else None
    if not isinstance(task, dict):
        raise LookupError(f"no task was made: {result}")
    return str(task["id"]), str(task["contextId"])


async def _ended_task(server: Server) -> str:
    async with open_connections(server.port, 1) as [connection]:
        task_id, session_id = await _new_task(connection)
        if server.redis:
            await end_turn(server.redis, session_id)
        while b"TASK_STATE_COMPLETED" not in await connection.ask(_rpc("GetTask", {"id": task_id})):
            pass
    return task_id


class _LoadRound(NamedTuple):
    """The milliseconds of each answer, and CPU of the server each where it was measured."""

    took: list[float]
    cpu_ms: float = 0
    client_percent: float = 0


async def _play_both(ours: Server, sdk: Server, plan: Plan, requests: Callable[[Server], Iterator[bytes]]) -> Beside:
    """First each at its limit, then both at one rate."""
    limits: dict[Server, list[_LoadRound]] = {ours: [], sdk: []}
    paced: dict[Server, list[_LoadRound]] = {ours: [], sdk: []}
    for _ in range(plan.rounds):
        for server in (ours, sdk):
            limits[server].append(await _ask_at_limit(server, requests(server), plan.seconds))
    rate = _LOAD * _median_rate(limits[sdk], plan.seconds)
    for number in range(plan.rounds):
        due = _draw_arrivals(rate, plan.seconds, number)
        for server in (ours, sdk):
            paced[server].append(await _ask_at_rate(server, requests(server), due))
    of_ours, of_sdk = (_build_rates(limits[server], paced[server], plan.seconds) for server in (ours, sdk))
    return Beside(of_ours, of_sdk, rate)


async def _ask_at_limit(server: Server, requests: Iterator[bytes], seconds: float) -> _LoadRound:
    async with open_connections(server.port, CONNECTIONS) as connections:
        await time_requests(connections, requests, _WARM_SECONDS)
        before = server.cpu_ms()
        own = process_time()
        began = perf_counter()
        took = await time_requests(connections, requests, seconds)
        client_percent = 100 * (process_time() - own) / (perf_counter() - began)
        return _LoadRound(took, (server.cpu_ms() - before) / len(took), client_percent)


async def _ask_at_rate(server: Server, requests: Iterator[bytes], due: list[float]) -> _LoadRound:
    async with open_connections(server.port, _PACED_CONNECTIONS) as connections:
        await time_requests(connections, requests, _WARM_SECONDS)
        return _LoadRound(await pace_requests(connections, requests, due))


def _draw_arrivals(rate: float, seconds: float, seed: int) -> list[float]:
    """Moments at which clients who know nothing of each other ask, the same for the same seed."""
    draw, moments = Random(seed), list[float]()  # noqa: S311  a load, not a secret
    at = draw.expovariate(rate)
    while at < seconds:
        moments.append(at)
        at += draw.expovariate(rate)
    return moments


def _build_rates(limits: list[_LoadRound], paced: list[_LoadRound], seconds: float) -> RequestRates:
    return RequestRates(
        a_second=_median_rate(limits, seconds),
        limit_p99_ms=_percentile(limits, 99),
        cpu_ms=statistics.median(one.cpu_ms for one in limits),
        p50_ms=_percentile(paced, 50),
        p99_ms=_percentile(paced, 99),
        client_percent=statistics.median(one.client_percent for one in limits),
    )


def _median_rate(rounds: list[_LoadRound], seconds: float) -> float:
    return statistics.median(len(one.took) / seconds for one in rounds)


def _percentile(rounds: list[_LoadRound], which: int) -> float:
    """The median of the rounds: one that something else disturbed decides nothing."""
    return statistics.median(statistics.quantiles(one.took, n=100)[which - 1] for one in rounds)


async def _measure_streaming(ours: Server, sdk: Server, rounds: int) -> tuple[Streaming, Streaming]:
    """Streams of many statuses: ours are followed from their start while an executor's stand-in publishes."""
    found: dict[Server, list[float]] = {ours: [], sdk: []}
    cpu = dict.fromkeys((ours, sdk), 0.0)
    for _ in range(rounds):
        for server in (ours, sdk):
            before = server.cpu_ms()
            found[server].append(await _stream_round(server))
            cpu[server] += server.cpu_ms() - before
    events = rounds * _STREAMS * _STATUSES
    return (
        Streaming(statistics.median(found[ours]), cpu[ours] / events),
        Streaming(statistics.median(found[sdk]), cpu[sdk] / events),
    )


async def _stream_round(server: Server) -> float:
    """Events a second, from the first that anybody gets to the last."""
    arrived, all_follow = list[float](), asyncio.Event()

    def note(piece: bytes) -> None:
        arrived.extend([perf_counter()] * piece.count(b"data: "))
        if len(arrived) >= _STREAMS:  # each has its task as it stands
            all_follow.set()

    async with open_connections(server.port, _STREAMS) as connections:
        sessions = list[str]()
        if server.redis:
            made = [await _new_task(connection) for connection in connections]
            requests = [_rpc("SubscribeToTask", {"id": task_id}) for task_id, _ in made]
            sessions = [session_id for _, session_id in made]
        else:
            requests = [_send_request(f"stream {_STATUSES}", method="SendStreamingMessage") for _ in connections]
        for connection in connections:
            connection.on_body = note
        async with asyncio.TaskGroup() as group:
            for connection, request in zip(connections, requests, strict=True):
                group.create_task(connection.ask(request))
            if server.redis:
                await all_follow.wait()
                arrived.clear()
                for session_id in sessions:
                    group.create_task(end_turn(server.redis, session_id, _STATUSES))
    return len(arrived) / (max(arrived) - min(arrived))


async def _hold_streams(server: Server, streams: int) -> OpenStreams:
    before = server.memory_mb()
    async with open_connections(server.port, streams) as connections, asyncio.TaskGroup() as group:
        opened = asyncio.Semaphore(0)
        task_id, session_id = await _new_task(connections[0])
        for connection in connections:
            connection.on_body = lambda _: opened.release()
            group.create_task(connection.ask(_rpc("SubscribeToTask", {"id": task_id})))
        for _ in connections:
            await opened.acquire()
        memory = server.memory_mb() - before
        cpu = server.cpu_ms()
        began = perf_counter()
        await asyncio.sleep(3)
        spent = (server.cpu_ms() - cpu) / (perf_counter() - began) / 10
        if server.redis:
            await end_turn(server.redis, session_id)
    return OpenStreams(streams, memory, spent)
