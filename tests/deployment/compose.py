"""The compose file as typed records."""

import re
from pathlib import Path
from typing import Literal, cast

import yaml
from pydantic import BaseModel, model_validator

from tests.deployment.dockerfile import ROOT, path_in_check

_VARIABLE = re.compile(r"\$\{(\w+):([-+])([^}]*)\}")


class Waits(BaseModel):
    condition: str


class Check(BaseModel):
    test: tuple[str, ...] = ()
    disable: bool = False

    @property
    def path(self) -> str:
        return path_in_check(self.test)


class Build(BaseModel):
    args: dict[str, str]


class Bind(BaseModel):
    type: Literal["bind"]
    read_only: Literal[True]
    source: str
    target: str


class ComposeService(BaseModel):
    """A service of the compose file. ``environment`` is as the caller's variables make it; ``handed_on`` names the
    variables that are there only if the caller has set them.
    """

    image: str
    build: Build | None = None
    command: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    handed_on: frozenset[str] = frozenset()
    ports: tuple[str, ...] = ()
    volumes: tuple[str | Bind, ...] = ()
    depends_on: dict[str, Waits] = {}
    healthcheck: Check
    read_only: bool = False
    cap_drop: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    stop_grace_period: str

    @model_validator(mode="before")
    @classmethod
    def _without_values(cls, said: dict[str, object]) -> dict[str, object]:
        told = cast(dict[str, str | None], said.get("environment", {}))
        absent = frozenset(name for name, value in told.items() if value is None)
        given = {name: value for name, value in told.items() if value is not None}
        return {**said, "environment": given, "handed_on": absent}

    @property
    def grace_seconds(self) -> int:
        return int(self.stop_grace_period.removesuffix("s"))

    @property
    def mounts(self) -> dict[str, str]:
        """The path in the container of each file of this repository that is mounted, and where it is here."""
        short = [volume.split(":") for volume in self.volumes if isinstance(volume, str) and volume.startswith("./")]
        long = [(volume.source, volume.target) for volume in self.volumes if isinstance(volume, Bind)]
        return {target: str(ROOT / source) for source, target, *_ in (*short, *long)}

    def on_this_machine(self, value: str, data: Path) -> str:
        """A path in the container as one on this machine; anything else as it is."""
        return self.mounts.get(value) or value.replace("/data/", f"{data}/")


def compose(**variables: str) -> dict[str, ComposeService]:
    """The services as the compose file has them for a caller who set these variables, and no others."""

    def value_of(found: re.Match[str]) -> str:
        name, operator, word = found.groups()
        given = variables.get(name, "")
        return (word if given else "") if operator == "+" else given or word

    text = _VARIABLE.sub(value_of, (ROOT / "docker-compose.yml").read_text())
    services = yaml.safe_load(text)["services"]
    return {name: ComposeService.model_validate(service) for name, service in services.items()}
