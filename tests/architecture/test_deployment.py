"""Images and compose file: what they hold, and that they agree with the services."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from cli.stack.plan import StackOptions, StackPorts, plan_stack
from shared.contracts.tenant import TenantRecord
from shared.domain.outgoing import addresses_for_tools, why_url_refused
from shared.domain.version import VERSION
from tests.deployment.agreement import disagreements, longest_stop, unread
from tests.deployment.compose import Build, ComposeService, compose
from tests.deployment.dockerfile import (
    ROOT,
    STACK,
    Image,
    default_arguments,
    goes_into_a_build,
    images,
    is_held_by_an_image,
    path_in_check,
)
from tests.each_row import each_row

IMAGES = images()
SERVICES = compose()
BUILT = {name: service for name, service in SERVICES.items() if service.build}
OURS = {name: service for name, service in BUILT.items() if name in IMAGES}
_ARGUMENTS = {"PYTHON": default_arguments()["PYTHON"], "REVISION": default_arguments()["REVISION"]}
# What the project's pages tell people to set, beside addresses within the installation.
_DOCUMENTED = {
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "HAIKU_MODEL", "SONNET_MODEL", "FALLBACK_MODEL", "MODEL_NOTICE"),
    *("GREEN_AGENT_MCP_URL", "TOOLS_ALLOWED_HOSTS", "TOOL_TIMEOUT", "TASK_TIMEOUT", "TASK_TOKENS", "TASK_MONEY"),
    *("STRATEGIES", "ORCHESTRATORS", "BRAINOS_API_URL", "BRAINOS_API_KEY", "BRAINOS_ORG_ID", "QUALITY_FORMULA"),
    *("ARCHIVE_URL", "ARCHIVE_KEY", "S3_TRAINING_BUCKET", "RL_CACHE_DIR", "LEARN_KNOWLEDGE", "PURPLE_AGENT_CARD_URL"),
    *("WEBHOOK_SECRET", "ASSESSMENT_KEY", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    *("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_RESOURCE_ATTRIBUTES"),
    *("OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_BSP_SCHEDULE_DELAY"),
}
_OF_AWS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}  # seed 000 names both
_URL = re.compile(r"^http://([a-z]+):(\d+)")


def _given(image: Image, service: ComposeService) -> dict[str, str]:
    return {**image.environ, **service.environment}


def _with_settings() -> set[str]:
    """Everything in the repository that is started as a process of its own."""
    found = [*ROOT.glob("services/*/settings.py"), *ROOT.glob("examples/*/settings.py")]
    return {path.parent.name for path in found}


@pytest.mark.promise("deploy.same_names")
def test_every_service_has_an_image_a_lock_and_a_place_in_the_compose_file() -> None:
    """Whoever adds a service is told what else it needs."""
    assert _with_settings() == IMAGES.keys() - {STACK} == OURS.keys()
    assert [name for name, image in IMAGES.items() if not image.lock.is_file()] == []
    assert {service.build.args["SERVICE"] for service in BUILT.values() if service.build} == IMAGES.keys()
    assert all(OURS[name].build == Build(args={**_ARGUMENTS, "SERVICE": name}) for name in OURS)


@pytest.mark.promise("deploy.same_names")
@each_row("name", sorted(OURS))
def test_the_compose_file_gives_each_service_what_it_reads_and_needs(name: str) -> None:
    """No variable that no setting reads, and nothing missing without which the service refuses to start."""
    assert disagreements(IMAGES[name].settings, _given(IMAGES[name], OURS[name])) == []
    assert unread(IMAGES[name].settings, OURS[name].handed_on) == []


@pytest.mark.promise("deploy.same_names")
def test_what_the_documented_variables_name_reaches_the_services_that_read_them() -> None:
    """Whoever sets one in ``.env`` has set it: none of them is known to the services and kept from them."""
    kept = {
        (name, variable)
        for name, service in OURS.items()
        for variable in _DOCUMENTED & {field.upper() for field in IMAGES[name].settings.model_fields}
        if variable not in service.environment.keys() | service.handed_on
    }
    archived = {name for name in OURS if "ARCHIVE_URL" in OURS[name].environment}

    assert kept == set()
    assert archived == {name for name in OURS if OURS[name].handed_on & _OF_AWS}


@pytest.mark.promise("deploy.same_names")
def test_a_variable_that_nobody_reads_is_found() -> None:
    given = _given(IMAGES["executor"], OURS["executor"])

    assert disagreements(IMAGES["executor"].settings, given | {"POLICY_ADDRESS": "x"}) == [
        "POLICY_ADDRESS is no setting"
    ]


@pytest.mark.promise("deploy.same_names")
@each_row(
    ("name", "variables"),
    ("gateway", ["REDIS_URL"]),
    ("gateway", ["AUTHENTICATION"]),
    ("executor", ["POLICY_URL"]),
    ("executor", ["TENANT_FILE"]),
    ("executor", ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]),
    ("learner", ["REDIS_URL"]),
    ("company", ["DATABASE"]),
)
def test_what_a_service_needs_and_is_not_given_is_found(name: str, variables: list[str]) -> None:
    given = {key: value for key, value in _given(IMAGES[name], OURS[name]).items() if key not in variables}

    assert len(disagreements(IMAGES[name].settings, given)) == 1


@pytest.mark.promise("deploy.same_names")
@each_row("name", sorted(OURS))
def test_image_and_settings_name_the_same_port(name: str) -> None:
    """The port that the image sets, exposes and is published, is the one that the service has by default."""
    image = IMAGES[name]
    published = {int(port.rsplit(":", 1)[1]) for port in OURS[name].ports}

    assert str(image.exposed) == image.environ["PORT"] == str(image.settings.model_fields["port"].default)
    assert published <= {image.exposed}
    assert image.environ["HOST"] == "0.0.0.0"  # noqa: S104  inside a container


@pytest.mark.promise("deploy.same_names")
@each_row("name", sorted(OURS))
def test_addresses_lead_to_services_of_the_file(name: str) -> None:
    """A URL names a service and the port on which that service listens."""
    found = [_URL.match(value) for value in OURS[name].environment.values()]
    named = {(match[1], int(match[2])) for match in found if match}

    assert named <= {(other, IMAGES[other].exposed) for other in OURS}


@pytest.mark.promise("deploy.same_names")
def test_compose_waits_for_the_paths_that_the_launcher_waits_for(tmp_path: Path) -> None:
    options = StackOptions(tmp_path, {})
    specs = plan_stack(options, StackPorts.assign(tuple(range(1, 1 + StackPorts.count_needed(1)))), "redis://x")
    launcher = {spec.name.removesuffix("-1"): spec.ready_path for spec in specs}

    assert {name: OURS[name].healthcheck.path for name in launcher} == launcher
    assert {path_in_check(image.health_check) for image in IMAGES.values()} == {"/health"}


@pytest.mark.promise("deploy.same_names")
def test_services_start_in_the_order_of_their_health() -> None:
    """Each waits until those whose address it was given are healthy, not merely started."""
    for name, service in BUILT.items():
        named = {other for other in SERVICES for value in service.environment.values() if f"{other}:" in value} - {name}
        assert service.depends_on.keys() >= named, name
        assert {wait.condition for wait in service.depends_on.values()} <= {"service_healthy"}, name


@pytest.mark.promise("deploy.same_names")
@each_row("name", sorted(OURS))
def test_a_container_is_killed_only_after_its_own_grace(name: str) -> None:
    service = OURS[name]

    assert service.grace_seconds > longest_stop(IMAGES[name].settings, service.environment)


@pytest.mark.promise("deploy.same_names")
def test_the_compose_file_keeps_state_as_the_services_demand() -> None:
    """Every acknowledged write on disk, nothing evicted, and a password that both sides know."""
    redis = SERVICES["redis"]
    told = dict(zip(redis.command[1::2], redis.command[2::2], strict=True))

    assert (told["--appendonly"], told["--appendfsync"], told["--maxmemory-policy"]) == ("yes", "always", "noeviction")
    assert {service.environment.get("REDIS_URL") for service in OURS.values()} - {None} == {
        f"redis://:{told['--requirepass']}@redis:6379/0"
    }


def _composed_record(**variables: str) -> Path:
    """The file here that the executor of the compose file reads as its tenant's record."""
    executor = compose(**variables)["executor"]
    return Path(executor.mounts[executor.environment["TENANT_FILE"]])


@pytest.mark.promise("deploy.same_names")
def test_the_tenant_file_is_mounted_where_the_executor_looks() -> None:
    TenantRecord.model_validate_json(_composed_record().read_bytes())
    assert _composed_record(TENANT_FILE="./own.json") == ROOT / "own.json"


@pytest.mark.promise("launcher.unruled_writes")
def test_the_compose_file_asks_before_each_write_of_a_foreign_server_that_has_no_record() -> None:
    """The example company's record allows what no rule speaks about: it holds for nobody else's tools."""
    foreign = {"GREEN_AGENT_MCP_URL": "http://tools.example/mcp"}
    record = TenantRecord.model_validate_json(_composed_record(**foreign).read_bytes())

    assert (record.unruled_writes, record.policies) == ("approve", ())
    assert _composed_record(**foreign, TENANT_FILE="./own.json") == ROOT / "own.json"


@pytest.mark.promise("deploy.manifests_valid")
@each_row("name", sorted(OURS))
def test_containers_are_confined(name: str) -> None:
    """An unprivileged user, a file system that cannot be written, no capabilities."""
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", IMAGES[name].user)
    assert OURS[name].read_only
    assert OURS[name].cap_drop == ("ALL",)


@pytest.mark.promise("deploy.manifests_valid")
@each_row("name", sorted(SERVICES))
def test_whoever_is_in_the_compose_file_is_confined_and_reached_from_this_machine_only(name: str) -> None:
    """Nobody is asked for a key there. Prometheus and the others of other people's images included."""
    service = SERVICES[name]

    assert service.cap_drop == ("ALL",)
    assert service.security_opt == ("no-new-privileges:true",)
    assert [port for port in service.ports if not port.startswith("127.0.0.1:")] == []
    assert [path for path in service.mounts.values() if not Path(path).exists()] == []


@pytest.mark.promise("deploy.same_names")
def test_the_documented_assessment_reaches_the_worlds_that_it_is_told_of() -> None:
    """Gateway and executor take an address of a tool server only where the operator's list allows it."""
    page = (ROOT / "docs" / "containers.md").read_text()
    listed = re.findall(r'echo "TOOLS_ALLOWED_HOSTS=([^"]+)"', page)
    told = OURS["assessor"].environment["UES_PUBLIC_HOST"], OURS["gateway"].environment["WORLDS_URL"]
    addresses = (f"http://{told[0]}:8080/", f"{told[1]}/worlds/w1", OURS["executor"].environment["PRACTICE_SERVERS"])

    assert len(listed) == 1
    reach = addresses_for_tools(tuple(listed[0].split(",")), permits_loopback=False)
    assert [why for address in addresses if (why := why_url_refused(address, reach))] == []


@pytest.mark.promise("deploy.same_names")
def test_profiles_hold_who_measures_and_who_observes() -> None:
    held: dict[str, set[str]] = {}
    for name, service in SERVICES.items():
        for profile in service.profiles:
            held.setdefault(profile, set()).add(name)

    assert held == {"assessor": {"assessor", "simulator"}, "observability": {"otel-collector", "prometheus", "grafana"}}


@pytest.mark.promise("deploy.same_names")
def test_prometheus_asks_the_services_where_they_show_their_metrics() -> None:
    jobs = yaml.safe_load((ROOT / "observability" / "prometheus.yml").read_text())["scrape_configs"]
    asked = {(job["job_name"], found["port"]) for job in jobs for found in job.get("dns_sd_configs", [])}
    shown = {name: int(OURS[name].environment.get("METRICS_PORT", IMAGES[name].exposed)) for name in OURS}

    assert asked <= set(shown.items())
    assert {name for name, _ in asked} >= {"gateway", "executor", "policy", "learner"}


@pytest.mark.promise("deploy.one_command")
def test_with_no_service_the_image_is_the_whole_stack_on_port_9010() -> None:
    """``docker build -t purple-agent .`` and a ``docker run`` that says who may reach it."""
    stack = IMAGES[default_arguments()["SERVICE"]]

    assert stack.name == STACK
    assert stack.exposed == 9010
    assert stack.entrypoint + stack.command[:5] == ("purple", "up", "--host", "0.0.0.0", "--port", "9010")  # noqa: S104
    assert stack.user == IMAGES["gateway"].user


@pytest.mark.promise("gateway.open_by_name")
def test_every_documented_run_of_the_image_is_published_to_this_machine_and_says_that_it_is_open() -> None:
    """Copied as it stands, it starts, and nobody else on the network reaches it."""
    pages = [ROOT / "README.md", ROOT / "Dockerfile", *(ROOT / "docs").glob("*.md")]
    runs = [line for page in pages for line in page.read_text().splitlines() if re.search(r"docker run .*-p ", line)]

    assert len(runs) >= 3
    assert [line for line in runs if "-p 127.0.0.1:9010:9010" not in line or "ALLOW_OPEN=yes" not in line] == []
    assert [line for line in runs if "GREEN_AGENT_MCP_URL" in line and "UNRULED_WRITES=" not in line] == []


def test_the_version_is_written_once() -> None:
    """A process in an image, where nothing is installed, says the version that the package has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == VERSION


@pytest.mark.promise("deploy.same_names")
def test_images_keep_what_boto3_needs_for_each_service_of_aws_that_is_called() -> None:
    """The rest of its descriptions is left out of images, so a client of another service would not start there."""
    product = [path for folder in ("services", "shared") for path in (ROOT / folder).rglob("*.py")]
    called = {name for path in product for name in re.findall(r'boto3\.client\(\s*"([^"]+)"', path.read_text())}
    kept = re.findall(r'! -name "?([\w*]+)"?', (ROOT / "Dockerfile").read_text())

    assert called, "boto3 is called by another form: this test no longer sees it"
    assert called <= set(kept)


def _tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.splitlines()


@pytest.mark.promise("deploy.build_context")
def test_what_goes_into_a_build_is_held_by_some_image() -> None:
    inside = [name for name in _tracked() if goes_into_a_build(name)]

    assert [name for name in inside if not is_held_by_an_image(name)] == []
    assert {image.lock.relative_to(ROOT).as_posix() for image in images().values()} <= set(inside)
    assert "shared/infra/process.py" in inside


@pytest.mark.promise("deploy.build_context")
@each_row(
    "path",
    *(".env", ".git/config", "services/gateway/.env", "tests/conftest.py", "tools/chaos/run.py", "k8s/base/x"),
    *("cli/__pycache__/main.cpython-311.pyc", "examples/company/books.sqlite3-wal", "locks/dev.txt", ".venv/bin/x"),
)
def test_what_must_not_leave_the_machine_is_kept_out(path: str) -> None:
    """Also what lies about in a working copy and is not kept by git."""
    assert not goes_into_a_build(path)
