"""Every image built by an engine, and what is wrong with what came out."""

import os
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter

from shared.domain.version import VERSION
from tests.deployment.compose import compose
from tests.deployment.dockerfile import STACK, Image, images, is_held_by_an_image
from tests.engine.docker import PYTHON, docker

_BUILD_SECONDS = 600.0
_OPTIONS = shlex.split(os.environ.get("BUILD_OPTIONS", ""))  # such as --network=host, or --pull
_REVISION = "0123456789abcdef0123456789abcdef01234567"
_LABEL = "org.opencontainers.image"
_EVERYTHING = 'FROM scratch\nCOPY . /\nCMD ["none"]\n'
_TRIAL = "purple-agent-trial"
_OF_THE_ENGINE = (".dockerenv", "dev/", "etc/", "proc/", "sys/")
_INSIDE = (Path(__file__).parent / "inside.py").read_text()


class Built(NamedTuple):
    """``own`` are the bytes above the base image."""

    name: str
    own: int
    whole: int
    problems: tuple[str, ...]


class Inside(BaseModel):
    """What `inside.py` says."""

    user: int
    writable: tuple[str, ...]
    pip: bool
    uncompiled: tuple[str, ...]
    tests: tuple[str, ...]


class Config(BaseModel):
    User: str = ""
    Labels: dict[str, str] | None = None
    Healthcheck: dict[str, object] | None = None


class Inspected(BaseModel):
    Size: int
    Config: Config
    RootFS: dict[str, object]


def build_all() -> Iterator[Built]:
    """Each image, under the name that the compose file gives it."""
    base = _inspected(PYTHON).Size
    for image in images().values():
        _build(image.name, tag_of(image.name))
        size = _inspected(tag_of(image.name)).Size
        yield Built(image.name, size - base, size, tuple(_problems(image)))


def tag_of(name: str) -> str:
    return compose()["demo" if name == STACK else name].image


def differs_the_second_time(name: str = "policy") -> bool:
    """Whether two builds of the same files, of which the second uses nothing of the first, have different layers."""
    _build(name, _TRIAL, "--no-cache")
    try:
        return _inspected(tag_of(name)).RootFS != _inspected(_TRIAL).RootFS
    finally:
        docker("image", "rm", _TRIAL)


def strangers(folder: Path) -> list[str]:
    """What is sent to the engine for a build although no image holds it."""
    docker("build", "--file", "-", "--tag", _TRIAL, ".", said=_EVERYTHING, seconds=_BUILD_SECONDS)
    container = docker("create", _TRIAL).strip()
    try:
        docker("export", "--output", str(folder / "context.tar"), container)
    finally:
        docker("rm", container)
        docker("image", "rm", _TRIAL)
    with tarfile.open(folder / "context.tar") as context:
        names = [entry.name for entry in context if entry.isfile() and not entry.name.startswith(_OF_THE_ENGINE)]
    return [name for name in names if not is_held_by_an_image(name)]


def _build(name: str, tag: str, *more: str) -> None:
    given = {"SERVICE": name, "PYTHON": PYTHON, "VERSION": VERSION, "REVISION": _REVISION}
    arguments = [word for key, value in given.items() for word in ("--build-arg", f"{key}={value}")]
    docker("build", *_OPTIONS, *more, *arguments, "--tag", tag, ".", seconds=_BUILD_SECONDS)


def _problems(image: Image) -> Iterator[str]:
    tag = tag_of(image.name)
    config = _inspected(tag).Config
    labels = config.Labels or {}
    said = docker(
        "run", "--rm", "--interactive", "--network=none", "--read-only", "--entrypoint=python", tag, "-", said=_INSIDE
    )
    inside = Inside.model_validate_json(said)
    if config.User != image.user or not inside.user or inside.writable:
        yield f"runs as {config.User} ({inside.user}), who may write {inside.writable}"
    if (labels.get(f"{_LABEL}.version"), labels.get(f"{_LABEL}.revision")) != (VERSION, _REVISION):
        yield f"is labelled {labels}"
    if not config.Healthcheck:
        yield "has no health check"
    for wrong in (inside.uncompiled, inside.tests, ("pip",) if inside.pip else ()):
        if wrong:
            yield f"holds {', '.join(wrong[:5])}{' ...' if len(wrong) > 5 else ''}"


def _inspected(tag: str) -> Inspected:
    (found,) = TypeAdapter(list[Inspected]).validate_json(docker("image", "inspect", tag))
    return found
