"""Each image's own files, packages and command are enough: proved without a container engine."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shared.infra.embedded_redis import EmbeddedRedis
from tests.deployment.compose import compose
from tests.deployment.dockerfile import STACK, images
from tests.deployment.kustomize import BASE, built
from tests.deployment.manifests import pods
from tests.deployment.stand_in import StandIn, prepare, start

IMAGES = images()
SERVICES = compose()
PODS = pods(built(BASE))
STACK_GRACE = 30
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
    with ThreadPoolExecutor() as pool:
        pythons = dict(zip(folders, pool.map(prepare, map(IMAGES.__getitem__, folders), folders.values()), strict=True))
    with EmbeddedRedis(tmp_path_factory.mktemp("r")) as redis:
        running = _start_all(folders, pythons, redis.url)
        yield running
        for stand_in in running.values():
            stand_in.process.kill()
            stand_in.process.wait()


def _start_all(folders: dict[str, Path], pythons: dict[str, Path], redis_url: str) -> dict[str, StandIn]:
    return {
        name: start(IMAGES[name], SERVICES.get(name), folder, pythons[name], redis_url)
        for name, folder in folders.items()
    }


def _paths(name: str) -> set[str]:
    """The paths that Kubernetes asks."""
    if name not in PODS:
        return set()
    container = PODS[name].container
    probes = (container.startup_probe, container.liveness_probe, container.readiness_probe)
    return {probe.http_get.path for probe in probes}


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


@pytest.mark.promise("deploy.image_is_enough")
def test_no_image_holds_test_doubles_or_tests(tmp_path: Path) -> None:
    """What ``.dockerignore`` keeps out of a build is in no image, and a service has no other service's code."""
    prepare(IMAGES[STACK], tmp_path / "stack")
    prepare(IMAGES["policy"], tmp_path / "policy")

    held = {path.relative_to(tmp_path / "stack" / "app").as_posix() for path in (tmp_path / "stack" / "app").rglob("*")}
    assert not {name for name in held if name.startswith(("tests", "shared/testing")) or "__pycache__" in name}
    assert [path.name for path in (tmp_path / "policy/app/services").iterdir() if path.is_dir()] == ["policy"]
