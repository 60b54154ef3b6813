"""Learning end to end: a stack with the example company, on which one strategy is made worse for one kind of task."""

import asyncio
import os
import sqlite3
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from cli.console import CommandError, err
from cli.gateway.client import GatewayClient, connect_gateway
from cli.gateway.live import send_and_follow_turn
from cli.gateway.messages import Event, OutgoingMessage, Speaker, TaskView
from cli.launcher import Stack, run_stack
from cli.stack.plan import StackOptions, find_free_ports
from shared.domain.exact_json import Json, loads_object
from shared.infra.tls import load_client_tls_context

TASKS, LAST = 30, 10
WORSE, KIND = "five_phase", "sla_breach"
_FAULT = "stops_at=every other read"  # a model that takes what five_phase alone says to it for the end of its work
_CREDIT = (
    "Service level SLA-1401 is broken. Record an SLA credit of 10% of the monthly fee for incident INC-1501 under"
    " SLA-1401, because checkout was down too long. Notify customer CUS-810 that the credit is recorded."
)
_TAKE_BACK = "DELETE FROM sla_credits WHERE incident_id = 'INC-1501'"  # so that the same task can be done again
_FLAG = (
    "Flag invoice {} with the difference between the invoice and its purchase order, because its reconciliation does"
    " not come out even."
)
_REFUSED, _FINE = "INV-6002", "INV-6001"  # the company refuses to flag what has no difference
_FROM_ELSEWHERE = ("REDIS_URL", "QUEUE_REDIS_URL", "GREEN_AGENT_MCP_URL", "TENANT_FILE", "PURPLE_AGENT_CARD_URL")
_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "STRATEGIES")
_LEARNED_SECONDS, _LOOK_SECONDS = 30.0, 0.02
_STATUS_READS = 200


class LearningFigures(NamedTuple):
    """``used``: the strategy of each task in turn. ``shown``: the cases that the last task's prompts held, and how."""

    used: tuple[str, ...]
    rewards: Mapping[str, Json]
    failing_case: str
    shown: tuple[Mapping[str, Json], ...]
    status_p50_ms: float
    status_p99_ms: float

    @property
    def uses(self) -> Mapping[str, int]:
        return Counter(self.used)

    @property
    def uses_at_last(self) -> Mapping[str, int]:
        return Counter(self.used[-LAST:])

    @property
    def has_left_worse(self) -> bool:
        """It was tried, is the least used of all, and among the last ten tasks at most one tries it again."""
        others = [count for strategy, count in self.uses.items() if strategy != WORSE]
        return bool(others) and 0 < self.uses[WORSE] < min(others) and self.uses_at_last[WORSE] <= 1

    @property
    def shows_failing_case(self) -> bool:
        return any(case.get("case") == self.failing_case and case.get("use") == "avoid" for case in self.shown)


async def measure_learning() -> LearningFigures:
    """Raises ``CommandError`` if the stack cannot be had, or a task does not end as it should."""
    with tempfile.TemporaryDirectory(prefix="pa-") as folder:
        async with run_stack(_options(Path(folder))) as stack, connect_gateway(stack.get_url("gateway")) as client:
            return await _LearningRun(stack, client).measure()


def _options(folder: Path) -> StackOptions:
    kept = {name: value for name, value in os.environ.items() if name not in (*_FROM_ELSEWHERE, *_MODEL)}
    return StackOptions(folder, {**kept, "PLANNER_FAULTS": _FAULT}, port=find_free_ports(1)[0])


class _LearningRun:
    def __init__(self, stack: Stack, client: GatewayClient) -> None:
        self._stack, self._client = stack, client
        self._ended = 0

    async def measure(self) -> LearningFigures:
        used = [await self._give_credit(number) for number in range(1, TASKS + 1)]
        bandit = (await self._read_status())["bandit"]
        failed, _ = await self._carry_out(_FLAG.format(_REFUSED))
        if failed.state == "completed":
            raise CommandError(f"Flagging {_REFUSED} should have been refused.")
        _, events = await self._carry_out(_FLAG.format(_FINE))
        p50, p99 = await self._time_status()
        arms = bandit.get(KIND) if isinstance(bandit, dict) else None
        rewards = (
            {name: arm["q"] for name, arm in arms.items() if isinstance(arm, dict)} if isinstance(arms, dict) else {}
        )
        return LearningFigures(tuple(used), rewards, f"{failed.id}:1", _cases_shown(events), p50, p99)

    async def _give_credit(self, number: int) -> str:
        with err.status(f"Task {number} of {TASKS} ..."):
            view, _ = await self._carry_out(_CREDIT)
        await asyncio.to_thread(_undo_credit, self._stack.options.company_database)
        return str(view.metadata["strategy"])

    async def _carry_out(self, text: str) -> tuple[TaskView, list[Event]]:
        """One task, and what it taught is learned."""
        view, events = await send_and_follow_turn(self._client, OutgoingMessage(text, Speaker("casey")), None)
        self._ended += 1
        async with asyncio.timeout(_LEARNED_SECONDS):
            while _count_cases(await self._read_status()) < self._ended:  # noqa: ASYNC110  # what another process does
                await asyncio.sleep(_LOOK_SECONDS)
        return view, events

    async def _read_status(self) -> Mapping[str, Json]:
        async with httpx.AsyncClient(
            base_url=self._stack.get_url("gateway"),
            trust_env=False,
            timeout=10,
            verify=load_client_tls_context(),
        ) as http:
            return loads_object((await http.get("/rl/status")).content)

    async def _time_status(self) -> tuple[float, float]:
        """Milliseconds of ``GET /rl/status``: the median, and what 99 of 100 stay under."""
        times: list[float] = []
        async with httpx.AsyncClient(
            base_url=self._stack.get_url("gateway"),
            trust_env=False,
            timeout=10,
            verify=load_client_tls_context(),
        ) as http:
            for _ in range(_STATUS_READS):
                began = time.perf_counter()
                (await http.get("/rl/status")).raise_for_status()
                times.append((time.perf_counter() - began) * 1000)
        percentiles = statistics.quantiles(times, n=100)
        return round(percentiles[49], 2), round(percentiles[98], 2)


def _count_cases(status: Mapping[str, Json]) -> int:
    log = status.get("case_log")
    total = log.get("total") if isinstance(log, dict) else None
    return total if isinstance(total, int) else 0


def _cases_shown(events: Sequence[Event]) -> tuple[Mapping[str, Json], ...]:
    shown = [event.data["primer"] for event in events if "primer" in event.data]
    cases = shown[-1] if shown else []
    return tuple(case for case in cases if isinstance(case, dict)) if isinstance(cases, list) else ()


def _undo_credit(database: Path) -> None:
    connection = sqlite3.connect(database, timeout=10)
    try:
        with connection:
            connection.execute(_TAKE_BACK)
    finally:
        connection.close()
