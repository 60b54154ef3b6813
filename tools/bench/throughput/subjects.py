"""What is measured side by side: our stack and two agents of others, on the same canned model and company."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from cli.console import CommandError, err
from cli.launcher import Stack, run_stack
from cli.stack.plan import StackOptions, find_free_ports
from shared.domain.words import Strategy
from tools.bench.canned.running_model import canned_model, model_environment
from tools.bench.gateway.servers import await_open, run_module
from tools.bench.overhead.load import stack_options
from tools.bench.overhead.spending import cpu_ms
from tools.bench.throughput.environment import PYTHON, make_environment

_NOT_OURS = ("company", "planner")


class Subject(NamedTuple):
    """``workers``: the processes that hold the tasks, among all of its ``processes``."""

    name: str
    port: int
    processes: Sequence[int]
    workers: Sequence[int]

    def cpu_ms(self) -> float:
        return sum(map(cpu_ms, self.processes))

    def memory_mb(self) -> float:
        """Resident memory of the workers."""
        return sum(map(_resident_mb, self.workers))


class Latency(NamedTuple):
    """The model's, in seconds; ``capacity``: sessions that one executor runs at once."""

    seconds: float
    capacity: int


@asynccontextmanager
async def our_stack(folder: Path, latency: Latency, executors: int) -> AsyncIterator[tuple[Subject, Stack]]:
    async with canned_model() as model:
        options = _options(folder, model_environment(model, latency.seconds), latency, executors)
        async with run_stack(options) as stack:
            by_name = {child.spec.name: child.pid for child in stack.children if child.spec.name not in _NOT_OURS}
            servers = [pid for redis in (stack.redis, stack.queue) if redis and (pid := redis.pid)]
            workers = [pid for name, pid in by_name.items() if name.startswith("executor")]
            port = urlsplit(stack.get_url("gateway")).port or 0
            yield Subject(f"ours, {executors} executor(s)", port, [*by_name.values(), *servers], workers), stack


def _options(folder: Path, model: Mapping[str, str], latency: Latency, executors: int) -> StackOptions:
    ours = stack_options(folder, Strategy.FSM, model)
    more = {
        "EXECUTOR_CAPACITY": str(latency.capacity),
        "RATE_REQUESTS": "0",
        "RATE_MESSAGES": "0",
        "MAX_WAITING_SESSIONS": "100000",
        "LOG_LEVEL": "WARNING",
    }
    return StackOptions(folder, {**ours.environ, **more}, port=ours.port, executors=executors)


@asynccontextmanager
async def other_agents(company_url: str, seconds: float, *, langgraph: bool) -> AsyncIterator[list[Subject]]:
    """The bare loop and, where it is asked for and its environment can be had, LangGraph's; what cannot is said."""
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(canned_model())
        arguments = [f"http://127.0.0.1:{model}/{seconds:g}", company_url]
        found: list[Subject] = []
        interpreters = {"bare loop on the SDKs": ("bare_agent", sys.executable)}
        reason = await make_environment() if langgraph else ""
        if reason:
            err.print(f"LangGraph is not measured: {reason}", style="yellow")
        elif langgraph:
            interpreters["LangGraph on the SDKs"] = ("langgraph_agent", str(PYTHON))
        for name, (module, python) in interpreters.items():
            port = find_free_ports(1)[0]
            started = run_module([f"tools.bench.throughput.{module}", str(port), *arguments], _ENVIRON, python)
            process = stack.enter_context(started)
            try:
                await await_open(port, process)
            except (TimeoutError, ChildProcessError) as problem:
                raise CommandError(f"{name} did not start: {problem}") from problem
            found.append(Subject(name, port, [process.pid], [process.pid]))
        yield found


_ENVIRON = {"PYTHONPATH": str(Path(__file__).parents[3]), "ANTHROPIC_API_KEY": "canned", "ANTHROPIC_BASE_URL": ""}


def _resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


async def measure_least_share(pids: Sequence[int], seconds: float, look: float, done: asyncio.Event) -> float | None:
    """The least share of a core that these processes took over any ``seconds``, in percent; None if ``done`` sooner."""
    spent: list[float] = []
    shares: list[float] = []
    steps = round(seconds / look)
    while not done.is_set():
        spent.append(sum(map(cpu_ms, pids)))
        if len(spent) > steps:
            shares.append((spent[-1] - spent[-1 - steps]) / (10 * seconds))
        await asyncio.sleep(look)
    return min(shares, default=None)
