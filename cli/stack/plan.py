"""Plans a stack: which processes it has, their arguments and environments, and free ports for them."""

import random
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from shared.contracts.credential import ENV_PREFIX
from shared.infra.archive_open import build_local_archive_url

HOST = "127.0.0.1"
_HOSTS_BY_WILDCARD = {"0.0.0.0": HOST, "::": "::1"}  # noqa: S104  # addresses that stand for all, and one of them
PLANNER_MODEL = "offline-planner-1"
PLANNER_NOTICE = "rule-based planner, not an LLM"
_GRACE_SECONDS = "5"  # for turns under way: less than the launcher waits before it kills
# Only executors, the learner and the assessor talk to a model, so only they are handed what opens one.
_MODEL_SECRET_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_BRAINOS_KEY = "BRAINOS_API_KEY"  # of the other orchestrator
_SECRET_VARIABLES = (*_MODEL_SECRET_VARIABLES, "ARCHIVE_KEY", _BRAINOS_KEY, "WEBHOOK_SECRET", "ASSESSMENT_KEY")


@dataclass(frozen=True)
class StackOptions:
    """The user's options for a stack of services on this machine. ``folder``: for data and logs; ``environ``: the
    user's environment.
    """

    folder: Path
    environ: Mapping[str, str]
    port: int = 9010
    host: str = HOST
    executors: int = 1
    profile: str = "embedded"
    allows_company_faults: bool = False  # the company can be told to misbehave
    assessor_port: int = 0  # where an assessor listens, if there shall be one
    archive_key: str = field(default="", repr=False)  # of the launcher's own archive; empty for none
    webhook_secret: str = field(default="", repr=False)  # of the launcher's own; empty for none
    assessment_key: str = field(default="", repr=False)  # of the launcher's own; empty for none

    @property
    def uses_bundled_planner(self) -> bool:
        return not (self.environ.get("ANTHROPIC_API_KEY") or self.environ.get("ANTHROPIC_BASE_URL"))

    @property
    def uses_example_company(self) -> bool:
        return not self.environ.get("GREEN_AGENT_MCP_URL")

    @property
    def company_database(self) -> Path:
        return self.folder / "company.sqlite3"


@dataclass(frozen=True)
class StackPorts:
    """A port for each process but the gateway and the assessor, whose ports the user chooses."""

    planner: int
    company: int
    policy: int
    learner: int
    executors: tuple[int, ...]

    @staticmethod
    def count_needed(executors: int) -> int:
        return 4 + executors

    @classmethod
    def assign(cls, ports: tuple[int, ...]) -> "StackPorts":
        return cls(planner=ports[0], company=ports[1], policy=ports[2], learner=ports[3], executors=ports[4:])


@dataclass(frozen=True)
class ProcessSpec:
    """One process: its ``python -m`` arguments, environment and URL. ``stop_rank``: lower ones are stopped first."""

    name: str
    arguments: tuple[str, ...]
    url: str
    stop_rank: int  # lowest first: who accepts work stops before who does it, and the tools last
    ready_path: str = "/ready"
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


def plan_stack(
    options: StackOptions, ports: StackPorts, redis_url: str, queue_redis_url: str = ""
) -> tuple[ProcessSpec, ...]:
    """The processes of a stack, in the order in which they are started.

    Without ``queue_redis_url`` the services use the ``QUEUE_REDIS_URL`` of the user's environment, if there is one.
    """
    base = _build_common_environ(options, redis_url) | ({"QUEUE_REDIS_URL": queue_redis_url} if queue_redis_url else {})
    specs = [_plan_service("policy", ports.policy, base, stop_rank=3)]
    if options.uses_bundled_planner:
        specs.append(_plan_service("planner", ports.planner, base, stop_rank=3))
    if options.uses_example_company:
        specs.append(_plan_company(options, ports.company, base))
    specs.append(_plan_gateway(options, {**base, "POLICY_URL": build_local_url(ports.policy)}))
    specs.append(_plan_learner(options, ports, base))
    specs.extend(_plan_executor(options, ports, number, base) for number in range(options.executors))
    if options.assessor_port:
        specs.append(_plan_assessor(options, base))
    return tuple(specs)


def choose_model_notice(options: StackOptions) -> str:
    """The notice about the model that is shown with each task: the bundled planner's, else ``MODEL_NOTICE``."""
    return PLANNER_NOTICE if options.uses_bundled_planner else options.environ.get("MODEL_NOTICE", "")


def choose_default_tenant_file(options: StackOptions) -> Path:
    """The tenant record that the launcher ships: the example company's, or one without rules."""
    name = "company_tenant.json" if options.uses_example_company else "tenant.json"
    return Path(__file__).resolve().parents[1] / "defaults" / name


def build_local_url(port: int, host: str = HOST) -> str:
    """The URL at which this machine reaches a server that listens on ``host``, which may stand for all addresses."""
    reached = _HOSTS_BY_WILDCARD.get(host, host)
    return f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"


def _build_common_environ(options: StackOptions, redis_url: str) -> dict[str, str]:
    open_names = [name for name in options.environ if name not in _SECRET_VARIABLES and not name.startswith(ENV_PREFIX)]
    environ = _copy_variables(options, *open_names)
    environ |= {"PYTHONUNBUFFERED": "1", "PROFILE": options.profile, "REDIS_URL": redis_url}
    if notice := choose_model_notice(options):
        environ["MODEL_NOTICE"] = notice
    return environ


def _plan_service(
    name: str, port: int, environ: Mapping[str, str], *, stop_rank: int, package: str = "", ready_path: str = "/ready"
) -> ProcessSpec:
    """A process that listens on a port of this machine. ``package``: by default the service of that name."""
    address = {"HOST": HOST, "PORT": str(port)}
    module = package or f"services.{name}"
    return ProcessSpec(name, (module,), build_local_url(port), stop_rank, ready_path, {**environ, **address})


def _plan_learner(options: StackOptions, ports: StackPorts, base: Mapping[str, str]) -> ProcessSpec:
    """The learner's process. It has the stack's model, which extracts facts, unless LEARN_KNOWLEDGE is off."""
    environ = {"LEARN_KNOWLEDGE": "on", **base, **_build_archive_variables(options)}
    if environ["LEARN_KNOWLEDGE"] != "off":
        environ |= _build_model_variables(options, ports)
    return _plan_service("learner", ports.learner, environ, stop_rank=3)


def _plan_company(options: StackOptions, port: int, base: Mapping[str, str]) -> ProcessSpec:
    faults = {"ALLOW_FAULTS": "true"} if options.allows_company_faults else {}
    environ = {**base, "DATABASE": str(options.company_database), "SEED_DATA": "true", **faults}
    return _plan_service("company", port, environ, stop_rank=4, package="examples.company", ready_path="/health")


def _plan_gateway(options: StackOptions, base: Mapping[str, str]) -> ProcessSpec:
    url = build_local_url(options.port, options.host)
    card_url = options.environ.get("PURPLE_AGENT_CARD_URL") or f"{url}/"
    arguments = ("services.gateway", "--host", options.host, "--port", str(options.port), "--card-url", card_url)
    stop_settings = {"DRAIN_SECONDS": "0", "GRACE_SECONDS": _GRACE_SECONDS}  # nobody chooses among replicas here
    own_secrets = {"WEBHOOK_SECRET": options.webhook_secret, "ASSESSMENT_KEY": options.assessment_key}
    secrets = {name: options.environ.get(name) or secret for name, secret in own_secrets.items()}
    worlds = {"WORLDS_URL": url} if options.host in _HOSTS_BY_WILDCARD else {}
    environ = {**worlds, **stop_settings, **base, **{name: value for name, value in secrets.items() if value}}
    environ |= _build_archive_variables(options)
    return ProcessSpec("gateway", arguments, url, stop_rank=1, environ=environ)


def _plan_executor(options: StackOptions, ports: StackPorts, number: int, base: Mapping[str, str]) -> ProcessSpec:
    grace = options.environ.get("GRACE_SECONDS", _GRACE_SECONDS)
    worlds = filter(
        None, (f"{build_local_url(options.port, options.host)}/worlds", options.environ.get("PRACTICE_SERVERS"))
    )
    credentials = [name for name in options.environ if name.startswith(ENV_PREFIX)]  # of tool servers
    environ = (
        {**base, "POLICY_URL": build_local_url(ports.policy), "GRACE_SECONDS": grace}
        | _build_model_variables(options, ports)
        | _build_tool_variables(options, ports)
        | _copy_variables(options, _BRAINOS_KEY, *credentials)
        | _build_archive_variables(options)
        | {"PRACTICE_SERVERS": ",".join(worlds)}
    )
    name, port = f"executor-{number + 1}", ports.executors[number]
    return _plan_service(name, port, environ, stop_rank=2, package="services.executor")


def _plan_assessor(options: StackOptions, base: Mapping[str, str]) -> ProcessSpec:
    """The assessor's process. It asks for no key, since only this machine reaches it, and uses a real model."""
    environ = {**base, "AUTHENTICATION": "off", **_copy_variables(options, *_MODEL_SECRET_VARIABLES)}
    return _plan_service("assessor", options.assessor_port, environ, stop_rank=0)


def _build_model_variables(options: StackOptions, ports: StackPorts) -> dict[str, str]:
    if not options.uses_bundled_planner:
        return _copy_variables(options, *_MODEL_SECRET_VARIABLES)
    tiers = dict.fromkeys(("HAIKU_MODEL", "SONNET_MODEL", "FALLBACK_MODEL"), PLANNER_MODEL)
    planner = {"ANTHROPIC_BASE_URL": build_local_url(ports.planner), "ANTHROPIC_API_KEY": "none-needed"}
    return {**planner, **tiers, "TRACEPARENT_TO_MODEL": "true"}  # it is a process of ours


def _copy_variables(options: StackOptions, *names: str) -> dict[str, str]:
    """The named variables of the user's environment, as far as they are set."""
    return {name: options.environ[name] for name in names if name in options.environ}


def _build_tool_variables(options: StackOptions, ports: StackPorts) -> dict[str, str]:
    """The variables for the tool server, and for the tenant record whose policy is about its tools."""
    tenant = {} if options.environ.get("TENANT_FILE") else {"TENANT_FILE": str(choose_default_tenant_file(options))}
    return {**tenant, "GREEN_AGENT_MCP_URL": build_local_url(ports.company)} if options.uses_example_company else tenant


def _build_archive_variables(options: StackOptions) -> dict[str, str]:
    """The variables for the archive of ended tasks: the user's, else one in the stack's folder."""
    if options.archive_key and not options.environ.get("ARCHIVE_URL"):
        return {"ARCHIVE_URL": build_local_archive_url(options.folder), "ARCHIVE_KEY": options.archive_key}
    return _copy_variables(options, "ARCHIVE_KEY")


# Below what systems give to outgoing connections (from 32,768 on): none of these takes a port between choice and use.
_LISTENING_PORTS = range(10_240, 32_000)


def find_free_ports(count: int) -> tuple[int, ...]:
    """``count`` free ports, searched upwards from a random one, so that two callers at once seldom get the same."""
    start = random.randrange(len(_LISTENING_PORTS))  # noqa: S311  # no secret
    rotated = (*_LISTENING_PORTS[start:], *_LISTENING_PORTS[:start])
    return tuple(islice(filter(is_port_free, rotated), count))


def is_port_free(port: int, host: str = HOST) -> bool:
    """Whether a server could listen on that port; ports with connections in TIME_WAIT count as free."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
