"""The images that the Dockerfile builds, as typed records, and what each of them holds."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from pydantic_settings import BaseSettings

from tests.deployment.dockerignore import lets_in

ROOT = Path(__file__).resolve().parents[2]
STACK = "all"  # the image that holds every service and the launcher
_FILES = "-files"  # the stage that holds an image's own files
_LAID_OUT = "laid-out"  # the stage that holds those of all
_WORKDIR = "/made/app/"  # in that stage
_PATH_IN_CHECK = re.compile(r"'GET', '(/\w+)'")


@dataclass(frozen=True)
class Image:
    """One stage of the Dockerfile with what it inherits. ``copies`` are sources and destinations in the context."""

    name: str
    copies: tuple[tuple[str, str], ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    exposed: int = 0
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    health_check: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """What ``python -m`` runs; only services have one."""
        return self.command[self.command.index("-m") + 1]

    @property
    def settings(self) -> type[BaseSettings]:
        return settings_of(self.module)

    @property
    def lock(self) -> Path:
        return ROOT / "locks" / f"{self.name}.txt"


def settings_of(package: str) -> type[BaseSettings]:
    """The class of a service's settings: the last that its ``settings.py`` defines."""
    module = importlib.import_module(f"{package}.settings")
    return [
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, BaseSettings) and kind.__module__ == module.__name__
    ][-1]


@cache
def images() -> Mapping[str, Image]:
    """The images that SERVICE chooses among: how each runs, its own files and those of all, and the last stage."""
    stages = _stages()
    last, common = stages.pop(""), stages[_LAID_OUT].copies
    names = [name.removesuffix(_FILES) for name in stages if name.endswith(_FILES)]
    return {
        name: replace(stages[name], copies=(*common, *stages[name + _FILES].copies), user=last.user) for name in names
    }


def _stages() -> dict[str, Image]:
    """Every stage by its name, each with what it inherits; the last one has no name."""
    stages: dict[str, Image] = {}
    current = Image("")
    for word, rest in _instructions((ROOT / "Dockerfile").read_text()):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = replace(stages.get(base, Image("")), name=name)
        else:
            current = _after(current, word, rest)
        stages[current.name] = current
    return stages


def default_arguments() -> dict[str, str]:
    """What the build's arguments are when nobody gives them."""
    words = _instructions((ROOT / "Dockerfile").read_text())
    return dict(rest.split("=", 1) for word, rest in words if word == "ARG" and "=" in rest)


def copy_context(image: Image, into: Path) -> None:
    """What the image holds under its working folder, without what ``.dockerignore`` keeps out of a build."""
    for source, destination in image.copies:
        for file in sorted(_files(ROOT / source)):
            if goes_into_a_build(file.relative_to(ROOT).as_posix()):
                target = into / destination / _place(file, ROOT / source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())


def goes_into_a_build(path: str) -> bool:
    """Whether a file of this repository, by its path from the root, can be copied into an image."""
    return lets_in((ROOT / ".dockerignore").read_text(), path)


def is_held_by_an_image(path: str) -> bool:
    """Whether some image copies that file, or installs what it names."""
    files = {source for image in images().values() for source, _ in image.copies if not source.endswith("/")}
    folders = {source for image in images().values() for source, _ in image.copies if source.endswith("/")}
    locks = {image.lock.relative_to(ROOT).as_posix() for image in images().values()}
    return path in files | locks or path.startswith(tuple(folders))


def _place(file: Path, source: Path) -> Path:
    return Path(source.name) if source.is_file() else file.relative_to(source)


def _files(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else (file for file in path.rglob("*") if file.is_file())


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    joined = re.sub(r"\\\n\s*", " ", text)
    for line in joined.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def _after(image: Image, word: str, rest: str) -> Image:
    match word:
        case "COPY" if not rest.startswith("--"):
            source, destination = rest.split()
            return replace(image, copies=(*image.copies, (source, destination.removeprefix(_WORKDIR))))
        case "ENV":
            return replace(image, environ={**image.environ, **dict(pair.split("=", 1) for pair in rest.split())})
        case "EXPOSE":
            return replace(image, exposed=int(rest))
        case "ENTRYPOINT":
            return replace(image, entrypoint=tuple(json.loads(rest)))
        case "CMD":
            return replace(image, command=tuple(json.loads(rest)))
        case "USER":
            return replace(image, user=rest)
        case "HEALTHCHECK":
            return replace(image, health_check=tuple(json.loads(rest.partition(" CMD ")[2])))
        case _:
            return image


def path_in_check(check: tuple[str, ...]) -> str:
    """The path that a health check of ours asks."""
    found = _PATH_IN_CHECK.search(check[-1])
    return found.group(1) if found else ""
