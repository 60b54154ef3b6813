"""The stack of a chaos run: the launcher's processes, some of them twice, with a line that can fail between any two."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from cli.stack.plan import (
    ProcessSpec,
    StackOptions,
    StackPorts,
    build_local_url,
    choose_default_tenant_file,
    find_free_ports,
    plan_stack,
)

MCP, REST = "company-mcp", "company-rest"
QUEUE = "queue"
GATEWAYS = ("gateway-1", "gateway-2")
CALLED_BY_NAME = ("policy", "planner")  # of a single line each, whoever serves behind it
_SERVED: Mapping[str, str] = MappingProxyType({MCP: "mcp", REST: "rest"})
COMPANIES: Mapping[str, str] = MappingProxyType({protocol: name for name, protocol in _SERVED.items()})
MODEL_LATENCY_MS = 150  # so that there are turns in hand when an executor dies
MOST_WAITING = 40  # sessions that may wait for an executor
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "TOOL_TIMEOUT": "3",  # a write in doubt waits out its call's time
        "ALLOW_FAULTS": "true",
        "PLANNER_ALLOW_FAULTS": "true",
        "PLANNER_LATENCY_MS": str(MODEL_LATENCY_MS),
        "MAX_WAITING_SESSIONS": str(MOST_WAITING),
        "EXECUTOR_CAPACITY": "16",  # what is begun is done before its executor dies again
    }
)
_OPEN_SETTINGS = ("PLANNER_LATENCY_MS",)  # which the caller may have otherwise: more is in hand with a slower model
NO_CLOCKS: Mapping[str, Path] = MappingProxyType({})
# As an installation has it; the launcher's own are shorter, since nobody chooses among replicas there.
# Several tenants, whose people show keys; one key speaks for many clients here.
KEYS_ON: Mapping[str, str] = MappingProxyType({"AUTHENTICATION": "keys", "RATE_REQUESTS": "0", "RATE_MESSAGES": "0"})
LEAVING: Mapping[str, str] = MappingProxyType({"DRAIN_SECONDS": "3", "GRACE_SECONDS": "10"})


@dataclass(frozen=True)
class Wiring:
    """A stack before its lines are there. ``options``: what the launcher is told."""

    options: StackOptions
    ports: StackPorts
    second_gateway: int
    second_company: int

    @classmethod
    def arrange(cls, folder: Path, environ: Mapping[str, str], executors: int, archive_key: str = "") -> "Wiring":
        gateway, second_gateway, second_company, *rest = find_free_ports(3 + StackPorts.count_needed(executors))
        slower = {name: environ[name] for name in _OPEN_SETTINGS if name in environ}
        told = {**environ, **_SETTINGS, **slower}
        options = StackOptions(
            folder, told, port=gateway, executors=executors, allows_company_faults=True, archive_key=archive_key
        )
        return cls(options, StackPorts.assign(tuple(rest)), second_gateway, second_company)

    def lines(self, redis: str, queue: str) -> Mapping[str, str]:
        """Where each line ends. Each process has a line of its own to Redis; the others are shared."""
        ports = self.ports
        shared = {"policy": ports.policy, "planner": ports.planner, MCP: ports.company, REST: self.second_company}
        return {
            **{f"{name}>redis": redis for name in self._speaking_to_redis()},
            QUEUE: queue,
            **{name: f"127.0.0.1:{port}" for name, port in shared.items()},
        }

    def specs(self, lines: Mapping[str, str], clocks: Mapping[str, Path] = NO_CLOCKS) -> tuple[ProcessSpec, ...]:
        """The processes; ``lines``: the near end (``host:port``) of each line.

        ``clocks``: the files by which the clock of a process can be set wrong, by name.
        """
        led = (_route_over_lines(spec, lines) for spec in self._processes())
        return tuple(_with_clock(spec, clocks[spec.name]) if spec.name in clocks else spec for spec in led)

    def clock_file(self, name: str) -> Path:
        return self.options.folder / "clocks" / name

    def database(self, protocol: str) -> Path:
        """The books of the company that is spoken to over that protocol."""
        name = next(name for name, served in _SERVED.items() if served == protocol)
        return self.options.folder / f"{name}.sqlite3"

    @property
    def tenant_file(self) -> Path:
        """The record of the first tenant."""
        return choose_default_tenant_file(self.options)

    def _speaking_to_redis(self) -> tuple[str, ...]:
        executors = (f"executor-{number + 1}" for number in range(self.options.executors))
        return (*GATEWAYS, "learner", *executors)

    def _processes(self) -> tuple[ProcessSpec, ...]:
        planned = {spec.name: spec for spec in plan_stack(self.options, self.ports, "")}
        gateway, company = planned.pop("gateway"), planned.pop("company")
        return (
            self._company_process(company, MCP, self.ports.company),
            self._company_process(company, REST, self.second_company),
            replace(gateway, name=GATEWAYS[0]),
            _second_gateway(gateway, self.options.port, self.second_gateway),
            *planned.values(),
        )

    def _company_process(self, spec: ProcessSpec, name: str, port: int) -> ProcessSpec:
        served = _SERVED[name]
        own = {"PORT": str(port), "COMPANY_PROTOCOL": served, "DATABASE": str(self.database(served))}
        return replace(spec, name=name, url=build_local_url(port), environ={**spec.environ, **own})


def _second_gateway(spec: ProcessSpec, first: int, second: int) -> ProcessSpec:
    """The same process on another port."""
    arguments = tuple(argument.replace(str(first), str(second)) for argument in spec.arguments)
    return replace(spec, name=GATEWAYS[1], arguments=arguments, url=build_local_url(second))


def _with_clock(spec: ProcessSpec, file: Path) -> ProcessSpec:
    return replace(spec, arguments=("tools.chaos.shifted_clock", str(file), *spec.arguments))


def _route_over_lines(spec: ProcessSpec, lines: Mapping[str, str]) -> ProcessSpec:
    """The same process, told the near ends of its lines in place of the addresses themselves."""
    http = {"POLICY_URL": "policy", "ANTHROPIC_BASE_URL": "planner", "GREEN_AGENT_MCP_URL": MCP}
    told = {name: f"http://{lines[line]}" for name, line in http.items() if name in spec.environ}
    if own := lines.get(f"{spec.name}>redis"):
        told |= {"REDIS_URL": f"redis://{own}/0", "QUEUE_REDIS_URL": f"redis://{lines[QUEUE]}/0"}
    return replace(spec, environ={**spec.environ, **told})
