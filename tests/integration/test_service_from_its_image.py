"""What a service is made of: its image's files, its command, its optional parts; one that is stopped early."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

import services.assessor.__main__
import services.executor.__main__
import services.gateway.__main__
import services.learner.__main__
import services.planner.__main__
import services.policy.__main__
import services.simulator.__main__
from cli.stack.plan import find_free_ports
from services.executor.settings import ExecutorSettings
from services.gateway.settings import GatewaySettings
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.parts import check_optional_parts, load_optional_part
from shared.infra.starting import CannotStart, read_settings
from tests.deployment.compose import compose
from tests.deployment.dockerfile import STACK, copy_context, images
from tests.deployment.kustomize import BASE, built
from tests.deployment.manifests import pods
from tests.deployment.stand_in import Place, StandIn, prepare, run_to_its_end, start
from tests.each_row import each_row
from tests.integration.gateway_stage import at, stage
from tests.refusals import refusal_of_process

IMAGES = images()
SERVICES = compose()
PODS = pods(built(BASE))
STACK_GRACE = 30
DEMO_SECONDS = 200
_ASK_MODELS, _IMPORT_OF_MODELS = ("executor", "learner", "assessor"), "import shared.infra.anthropic_model"  # later
_IN_THE_SUITE = ("gateway",)  # the one with the most in it; the others take their time elsewhere
_NAMES = [name if name in _IN_THE_SUITE else pytest.param(name, marks=pytest.mark.long) for name in sorted(IMAGES)]


@pytest.fixture(scope="module")
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StandIn]]:
    """Every image that is asked for, started at the same time on a Redis of its own."""
    names = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec") and "name" in item.callspec.params
    }
    folders = {name: tmp_path_factory.mktemp(name) for name in sorted(names)}
    with EmbeddedRedis(tmp_path_factory.mktemp("r")) as redis, _started(_laid_out(folders, redis.url)) as running:
        yield running


def _laid_out(folders: Mapping[str, Path], redis_url: str) -> dict[str, Place]:
    """A folder and an environment for each, made side by side."""
    with ThreadPoolExecutor() as pool:
        pythons = pool.map(prepare, map(IMAGES.__getitem__, folders), folders.values())
        ports = dict(zip(IMAGES, find_free_ports(len(IMAGES)), strict=True))
        return {
            name: Place(folder, python, redis_url, ports)
            for (name, folder), python in zip(folders.items(), pythons, strict=True)
        }


@contextmanager
def _started(places: Mapping[str, Place]) -> Iterator[dict[str, StandIn]]:
    """Each of them; whatever still runs is killed on leaving."""
    running = {name: start(IMAGES[name], SERVICES.get(name), place) for name, place in places.items()}
    try:
        yield running
    finally:
        for stand_in in running.values():
            stand_in.process.kill()
            stand_in.process.wait()


def _paths(name: str) -> set[str]:
    """The paths that Kubernetes asks."""
    if name not in PODS:
        return set()
    container = PODS[name].container
    probes = (container.startup_probe, container.liveness_probe, container.readiness_probe)
    return {probe.http_get.path for probe in probes if probe.http_get}


@pytest.mark.promise("deploy.image_is_enough")
@pytest.mark.parametrize("name", _NAMES)
def test_what_an_image_holds_is_enough_to_start_answer_and_stop(name: str, started: dict[str, StandIn]) -> None:
    """A fresh folder with what it copies, a fresh environment with its lock alone: ready, healthy, exit code 0."""
    stand_in = started[name]
    service = SERVICES.get(name)
    path = service.healthcheck.path if service else "/ready"

    assert stand_in.await_answer(path) == 200, stand_in.log
    assert {path: stand_in.answer(path) for path in _paths(name)} == dict.fromkeys(_paths(name), 200)
    assert stand_in.check(stand_in.image.health_check) == 0
    assert name not in _ASK_MODELS or stand_in.check(("python", "-c", _IMPORT_OF_MODELS)) == 0
    assert service is None or stand_in.check(service.healthcheck.test[1:]) == 0
    assert stand_in.stop(service.grace_seconds if service else STACK_GRACE) == 0, stand_in.log
    assert "Traceback" not in stand_in.log
    assert stand_in.check(stand_in.image.health_check) != 0  # nobody is there any more


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.promise("deploy.demo_on_images")
def test_the_whole_demo_runs_on_services_started_from_what_their_images_hold(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As ``docker compose up`` does it: each in its own folder and environment, and the demo's tasks on all of them."""
    asked = [name for name, service in SERVICES.items() if service.build and not service.profiles and name in IMAGES]
    folders = {name: tmp_path / name for name in (*asked, STACK)}
    with EmbeddedRedis(tmp_path_factory.mktemp("r")) as redis:
        places = _laid_out(folders, redis.url)
        with _started({name: places[name] for name in asked}) as running:
            answers = {name: one.await_answer(SERVICES[name].healthcheck.path) for name, one in running.items()}
            assert answers == dict.fromkeys(asked, 200)
            data = folders["company"] / "data"
            done = run_to_its_end(IMAGES[STACK], SERVICES["demo"], places[STACK], data, DEMO_SECONDS)
            assert done.returncode == 0, done.stderr
            codes = {name: one.stop(SERVICES[name].grace_seconds) for name, one in running.items()}
            assert codes == dict.fromkeys(asked, 0)


@pytest.mark.promise("deploy.image_is_enough")
def test_no_image_holds_test_doubles_or_tests(tmp_path: Path) -> None:
    """What ``.dockerignore`` keeps out of a build is in no image, and a service has no other service's code."""
    for name in (STACK, "policy"):
        copy_context(IMAGES[name], tmp_path / name)

    held = {path.relative_to(tmp_path / STACK).as_posix() for path in (tmp_path / STACK).rglob("*")}
    assert not {name for name in held if name.startswith("tests") or "__pycache__" in name}
    assert [path.name for path in (tmp_path / "policy/services").iterdir() if path.is_dir()] == ["policy"]


NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if any(name == one or name.startswith(one + ".") for one in missing):
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

sys.meta_path.insert(0, NotInstalled())
"""
UNNAMED = (
    "jinja2",
    "leather",
    "python_multipart",
    "mcp",
    "services.gateway.features.console",
    "services.gateway.mcp_server",
)
BUILD = """
from services.gateway.bootstrap import build_app
from services.gateway.settings import GatewaySettings
from shared.infra.starting import CannotStart

for parts in ("", "console"):
    try:
        build_app(GatewaySettings(redis_url="redis://localhost", profile="embedded", gateway_parts=parts))
        print("everything is joined")
    except CannotStart as problem:
        print(problem)
"""


@pytest.mark.promise("parts.optional")
def test_a_gateway_starts_without_the_libraries_of_parts_that_are_not_named() -> None:
    bare, console = _lines_of(BUILD, UNNAMED)
    assert bare == "everything is joined"
    assert "The part 'console' needs " in console


def _lines_of(program: str, missing: tuple[str, ...], *arguments: str) -> list[str]:
    """What a program says where those modules are not installed."""
    command = [sys.executable, "-c", f"missing = {missing}\n{NOT_INSTALLED}{program}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


EXECUTOR_PARTS = (
    "pydantic_monty",
    *(f"services.executor.adapters.{name}" for name in ("brainos", "kept_files", "made_tools")),
)
EQUIP = """
import asyncio
from services.executor.bootstrap import run_executor
from services.executor.core.turn.worker import Worker
from services.executor.settings import ExecutorSettings
from shared.infra.starting import CannotStart
from shared.ports.store import StoreUnavailable

for parts in ("", "files"):
    try:
        settings = ExecutorSettings(
            redis_url="redis://127.0.0.1:1", redis_start_seconds=0, profile="embedded", policy_url="http://127.0.0.1:1",
            anthropic_base_url="http://127.0.0.1:1", tenant_file=sys.argv[1], executor_parts=parts,
        )
        asyncio.run(run_executor(settings, Worker))
    except StoreUnavailable:
        print("everything is joined; no Redis")
    except CannotStart as problem:
        print(problem)
"""


@pytest.mark.promise("parts.optional")
def test_an_executor_starts_without_the_libraries_of_parts_that_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "tenant.json").write_text('{"id": "default"}')
    bare, files = _lines_of(EQUIP, EXECUTOR_PARTS, str(tmp_path / "tenant.json"))

    assert bare == "everything is joined; no Redis"
    assert files.startswith("The part 'files' needs services.executor.adapters.kept_files")


@pytest.mark.promise("parts.optional")
def test_orchestrators_bring_the_parts_of_their_own() -> None:
    told = {"redis_url": "redis://localhost", "profile": "embedded", "policy_url": "http://x", "tenant_file": "t.json"}
    account = {f"brainos_{name}": "http://b" for name in ("api_url", "api_key", "org_id")}
    settings = ExecutorSettings.model_validate(
        {**told, **account, "anthropic_api_key": "k", "executor_parts": "files", "orchestrators": "brainos,local"}
    )

    assert settings.optional_part_names == ("files", "brainos")


@pytest.mark.promise("parts.optional")
async def test_a_gateway_without_parts_serves_tasks_and_no_part(redis: Redis, redis_url: str) -> None:
    async with stage(redis, redis_url, gateway_parts="") as play:
        answered = await play.send("t1", "hello")
        statuses = [(await play.client.get(path)).status_code for path in ("/console", "/console/", "/mcp")]
    assert at(answered, "result.artifacts.0.parts.0.text") == "done: hello"
    assert statuses == [404, 404, 404]


@pytest.mark.promise("parts.optional")
def test_a_part_that_no_entry_point_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        CannotStart, match="GATEWAY_PARTS cannot be used: there is no part 'panel'; there are console, mcp"
    ):
        read_settings(
            GatewaySettings, redis_url="redis://localhost", profile="embedded", gateway_parts="console, panel"
        )


@pytest.mark.promise("parts.optional")
def test_another_distribution_brings_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "purple_extra-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: purple-extra\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[purple_agent.gateway]\nextra = purple_extra:build\n")
    (tmp_path / "purple_extra.py").write_text("def build() -> str:\n    return 'built'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert check_optional_parts("gateway", ("console", "extra")) == ("console", "extra")
    assert callable(build := load_optional_part("gateway", "extra"))
    assert build() == "built"


@pytest.mark.parametrize(("number", "manner"), [(signal.SIGTERM, "linger"), (signal.SIGINT, "plain")])
def test_a_signal_that_comes_before_it_serves_is_heeded(number: signal.Signals, manner: str) -> None:
    """Else a process that is started while its launcher dies would stay for ever.

    In a process of its own: what a library notes about a signal stays for all servers of the process.
    """
    command = [sys.executable, "-m", "tests.integration.stopped_early", str(int(number)), manner]
    assert subprocess.run(command, timeout=30, check=False).returncode == 0


_MAINS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "assessor": services.assessor.__main__.main,
    "executor": services.executor.__main__.main,
    "gateway": services.gateway.__main__.main,
    "learner": services.learner.__main__.main,
    "planner": services.planner.__main__.main,
    "policy": services.policy.__main__.main,
    "simulator": services.simulator.__main__.main,
}


@each_row("service", _MAINS)
def test_a_service_prints_its_usage_and_refuses_what_it_does_not_know(
    service: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as helped:
        _MAINS[service](["--help"])
    said = capsys.readouterr().out
    assert (helped.value.code, said.startswith(f"usage: python -m services.{service} ")) == (0, True)

    with pytest.raises(SystemExit) as refused:
        _MAINS[service](["--what-nobody-knows"])
    assert (refused.value.code, "--what-nobody-knows" in capsys.readouterr().err) == (2, True)


@pytest.mark.promise("gateway.refuses_to_start", "learner.refuses_to_start", "state.refuses_to_start", "policy.service")
@each_row(
    ("module", "environ", "sentence"),
    ("services.gateway", {}, "REDIS_URL is not set"),
    ("services.executor", {}, "REDIS_URL is not set"),
    ("services.learner", {}, "REDIS_URL is not set"),
    ("services.policy", {"PORT": "many"}, "PORT cannot be used"),
    ("services.gateway", {"POLICY_URL": "policy:9020"}, "POLICY_URL cannot be used: it must be an http or https URL."),
    ("examples.company", {}, "DATABASE is missing"),
)
def test_a_process_that_lacks_settings_says_so_in_a_sentence_for_each_and_ends_with_2(
    module: str, environ: dict[str, str], sentence: str
) -> None:
    """What else stops a start is told by each service's own settings."""
    ended = refusal_of_process(module, environ)
    assert ended.code == 2
    assert sentence in ended.said
    assert all(re.match(r"[A-Z_]+ (is not set|is missing|cannot be used)", line) for line in ended.said.splitlines())
