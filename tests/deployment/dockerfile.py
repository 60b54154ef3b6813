"""The images that the Dockerfile builds, as typed records, and what each of them holds."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import cast

from pydantic_settings import BaseSettings

ROOT = Path(__file__).resolve().parents[2]
STACK = "all"  # the image that holds every service and the launcher
_SHARED_STAGES = frozenset({"dependencies", "runtime"})
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
        return cast(type[BaseSettings], importlib.import_module(f"{self.module}.settings").Settings)

    @property
    def lock(self) -> Path:
        return ROOT / "locks" / f"{self.name}.txt"


def images() -> dict[str, Image]:
    """The images that SERVICE chooses among."""
    stages: dict[str, Image] = {}
    current = Image("")
    for word, rest in _instructions((ROOT / "Dockerfile").read_text()):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = replace(stages.get(base, Image("")), name=name)
        else:
            current = _after(current, word, rest)
        stages[current.name] = current
    return {name: image for name, image in stages.items() if name and name not in _SHARED_STAGES}


def default_arguments() -> dict[str, str]:
    """What the build's arguments are when nobody gives them."""
    words = _instructions((ROOT / "Dockerfile").read_text())
    return dict(rest.split("=", 1) for word, rest in words if word == "ARG" and "=" in rest)


def copy_context(image: Image, into: Path) -> None:
    """What the image holds under its working folder, without what ``.dockerignore`` keeps out of a build."""
    ignored = _ignored()
    for source, destination in image.copies:
        for file in sorted(_files(ROOT / source)):
            if not any(fnmatch(file.relative_to(ROOT).as_posix(), pattern) for pattern in ignored):
                target = into / destination / _place(file, ROOT / source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read_bytes())


def _place(file: Path, source: Path) -> Path:
    return Path(source.name) if source.is_file() else file.relative_to(source)


def _files(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else (file for file in path.rglob("*") if file.is_file())


def _ignored() -> tuple[str, ...]:
    """Patterns for ``fnmatch``, whose star also matches slashes; those after the first star and its exceptions."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    kept_out = [line for line in lines if line and line[0] not in "#!" and line != "*"]
    patterns = [line.replace("**/", "*") for line in kept_out]
    return tuple(pattern for line in patterns for pattern in (line, f"{line}/*"))


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
            return replace(image, copies=(*image.copies, (source, destination)))
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
