"""The engine's command line, and what is missing on this machine before anything can be tried with it."""

import os
import shutil
import subprocess

from tests.deployment.compose import compose
from tests.deployment.dockerfile import ROOT, default_arguments
from tests.redis_server import an_engine_listens

PYTHON = os.environ.get("PYTHON_IMAGE") or default_arguments()["PYTHON"]
REDIS = os.environ.get("REDIS_IMAGE") or compose()["redis"].image
_PULL_SECONDS = 300.0


class DockerFailed(Exception):
    """A command of docker's did not succeed; the sentence ends with what it said last."""


def docker(*arguments: str, seconds: float = 60.0, said: str = "", both: bool = False) -> str:
    """What it wrote to stdout, or to ``both`` its outputs. Raises ``DockerFailed``."""
    try:
        done = subprocess.run(
            ["docker", *arguments], cwd=ROOT, input=said, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DockerFailed(f"docker {' '.join(arguments)}: not done after {seconds:.0f} s") from error
    if done.returncode:
        raise DockerFailed(f"docker {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout + (done.stderr if both else "")


def missing() -> list[str]:
    """Sentences: why images cannot be built and started here, as far as it shows without fetching anything."""
    if not shutil.which("docker"):
        return ["no docker on the PATH"]
    if not an_engine_listens() or not _succeeds("info"):
        return ["no engine answers (DOCKER_HOST names another than the usual socket)"]
    return [f"docker has no {plugin} plugin" for plugin in ("compose", "buildx") if not _succeeds(plugin, "version")]


def not_to_be_had() -> list[str]:
    """Sentences: the images of others that are not here and cannot be fetched."""
    return [
        f"the image {image} is not there and cannot be fetched (PYTHON_IMAGE and REDIS_IMAGE name others)"
        for image in (PYTHON, REDIS)
        if not _succeeds("image", "inspect", image) and not _succeeds("pull", image, seconds=_PULL_SECONDS)
    ]


def _succeeds(*arguments: str, seconds: float = 60.0) -> bool:
    try:
        docker(*arguments, seconds=seconds)
    except DockerFailed:
        return False
    return True
