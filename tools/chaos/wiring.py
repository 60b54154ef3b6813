"""The stack of a chaos run: the launcher's processes, some of them twice, with a line that can fail between any two."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from cli.stack.free_ports import free_ports
from cli.stack.plan import ProcessSpec, StackOptions, StackPorts, plan_stack, url_of

MCP, REST = "company-mcp", "company-rest"
QUEUE = "queue"
GATEWAYS = ("gateway-1", "gateway-2")
CALLED_BY_NAME = ("policy", "planner")  # of a single line each, whoever serves behind it
_SERVED: Mapping[str, str] = MappingProxyType({MCP: "mcp", REST: "rest"})
MODEL_LATENCY_MS = 150  # so that there are turns in hand when an executor dies
_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "TOOL_TIMEOUT": "3",  # a write in doubt waits out its call's time
        "ALLOW_FAULTS": "true",
        "PLANNER_ALLOW_FAULTS": "true",
        "PLANNER_LATENCY_MS": str(MODEL_LATENCY_MS),
        "EXECUTOR_CAPACITY": "16",  # what is begun is done before its executor dies again
    }
)
_OPEN_SETTINGS = ("PLANNER_LATENCY_MS",)  # which the caller may have otherwise: more is in hand with a slower model
# As an installation has it; the launcher's own are shorter, since nobody chooses among replicas there.
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
        gateway, second_gateway, second_company, *rest = free_ports(3 + StackPorts.count_needed(executors))
        slower = {name: environ[name] for name in _OPEN_SETTINGS if name in environ}
        told = {**environ, **_SETTINGS, **slower}
        options = StackOptions(
            folder, told, port=gateway, executors=executors, company_faults=True, archive_key=archive_key
        )
        return cls(options, StackPorts.from_free(tuple(rest)), second_gateway, second_company)

    def lines(self, redis: str, queue: str) -> Mapping[str, str]:
        """Where each line ends. Each process has a line of its own to Redis; the others are shared."""
        ports = self.ports
        shared = {"policy": ports.policy, "planner": ports.planner, MCP: ports.company, REST: self.second_company}
        return {
            **{f"{name}>redis": redis for name in self._speaking_to_redis()},
            QUEUE: queue,
            **{name: f"127.0.0.1:{port}" for name, port in shared.items()},
        }

    def specs(self, lines: Mapping[str, str]) -> tuple[ProcessSpec, ...]:
        """The processes; ``lines``: the near end (``host:port``) of each line."""
        return tuple(_lead_over_lines(spec, lines) for spec in self._processes())

    def database(self, protocol: str) -> Path:
        """The books of the company that is spoken to over that protocol."""
        name = next(name for name, served in _SERVED.items() if served == protocol)
        return self.options.folder / f"{name}.sqlite3"

    def _speaking_to_redis(self) -> tuple[str, ...]:
        executors = (f"executor-{number + 1}" for number in range(self.options.executors))
        return (*GATEWAYS, "learner", *executors)

    def _processes(self) -> tuple[ProcessSpec, ...]:
        planned = {spec.name: spec for spec in plan_stack(self.options, self.ports, "")}
        gateway, company = planned.pop("gateway"), planned.pop("company")
        return (
            self._company(company, MCP, self.ports.company),
            self._company(company, REST, self.second_company),
            replace(gateway, name=GATEWAYS[0]),
            _second_gateway(gateway, self.options.port, self.second_gateway),
            *planned.values(),
        )

    def _company(self, spec: ProcessSpec, name: str, port: int) -> ProcessSpec:
        served = _SERVED[name]
        own = {"PORT": str(port), "COMPANY_PROTOCOL": served, "DATABASE": str(self.database(served))}
        return replace(spec, name=name, url=url_of(port), environ={**spec.environ, **own})


def _second_gateway(spec: ProcessSpec, first: int, second: int) -> ProcessSpec:
    """The same process on another port."""
    arguments = tuple(argument.replace(str(first), str(second)) for argument in spec.arguments)
    return replace(spec, name=GATEWAYS[1], arguments=arguments, url=url_of(second))


def _lead_over_lines(spec: ProcessSpec, lines: Mapping[str, str]) -> ProcessSpec:
    """The same process, told the near ends of its lines in place of the addresses themselves."""
    http = {"POLICY_URL": "policy", "ANTHROPIC_BASE_URL": "planner", "GREEN_AGENT_MCP_URL": MCP}
    told = {name: f"http://{lines[line]}" for name, line in http.items() if name in spec.environ}
    if own := lines.get(f"{spec.name}>redis"):
        told |= {"REDIS_URL": f"redis://{own}/0", "QUEUE_REDIS_URL": f"redis://{lines[QUEUE]}/0"}
    return replace(spec, environ={**spec.environ, **told})
