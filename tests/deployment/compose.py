"""The compose file as typed records."""

import re
from pathlib import Path
from typing import cast

import yaml
from pydantic import BaseModel, model_validator

from tests.deployment.dockerfile import ROOT, path_in_check

_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


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


class ComposeService(BaseModel):
    """A service of the compose file. ``environment`` is as if the caller had set nothing; ``handed_on`` names the
    variables that are there only if the caller has set them.
    """

    image: str
    build: Build | None = None
    command: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    handed_on: frozenset[str] = frozenset()
    ports: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
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
        parts = [volume.split(":") for volume in self.volumes if volume.startswith("./")]
        return {part[1]: str(ROOT / part[0]) for part in parts}

    def on_this_machine(self, value: str, data: Path) -> str:
        """A path in the container as one on this machine; anything else as it is."""
        return self.mounts.get(value) or value.replace("/data/", f"{data}/")


def compose() -> dict[str, ComposeService]:
    text = _VARIABLE.sub(r"\2", (ROOT / "docker-compose.yml").read_text())
    services = yaml.safe_load(text)["services"]
    return {name: ComposeService.model_validate(service) for name, service in services.items()}
