"""Each image's own files, packages and command are enough: proved without a container engine."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.stack.plan import free_ports
from shared.infra.embedded_redis import EmbeddedRedis
from tests.deployment.compose import compose
from tests.deployment.dockerfile import STACK, images
from tests.deployment.kustomize import BASE, built
from tests.deployment.manifests import pods
from tests.deployment.stand_in import Place, StandIn, prepare, run_to_its_end, start

IMAGES = images()
SERVICES = compose()
PODS = pods(built(BASE))
STACK_GRACE = 30
DEMO_SECONDS = 200
_IN_THE_SUITE = ("gateway",)  # the one with the most in it; the others take their time elsewhere
_NAMES = [name if name in _IN_THE_SUITE else pytest.param(name, marks=pytest.mark.long) for name in sorted(IMAGES)]


@pytest.fixture(scope="module")
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, StandIn]]:
    """Every image that is asked for, started at the same time on a Redis of its own."""
    names = {
        str(item.callspec.params["name"])
        for item in request.session.items
        if hasattr(item, "callspec") and item.path == request.path
    }
    folders = {name: tmp_path_factory.mktemp(name) for name in sorted(names)}
    with EmbeddedRedis(tmp_path_factory.mktemp("r")) as redis, _started(_laid_out(folders, redis.url)) as running:
        yield running


def _laid_out(folders: Mapping[str, Path], redis_url: str) -> dict[str, Place]:
    """A folder and an environment for each, made side by side."""
    with ThreadPoolExecutor() as pool:
        pythons = pool.map(prepare, map(IMAGES.__getitem__, folders), folders.values())
        ports = dict(zip(IMAGES, free_ports(len(IMAGES)), strict=True))
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
    prepare(IMAGES[STACK], tmp_path / "stack")
    prepare(IMAGES["policy"], tmp_path / "policy")

    held = {path.relative_to(tmp_path / "stack" / "app").as_posix() for path in (tmp_path / "stack" / "app").rglob("*")}
    assert not {name for name in held if name.startswith("tests") or "__pycache__" in name}
    assert [path.name for path in (tmp_path / "policy/app/services").iterdir() if path.is_dir()] == ["policy"]
