"""The licences of installed packages, as `pip-licenses` reads them from their metadata."""

import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tests.supply_chain.locked import Package, canonical

_SECONDS = 120


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str = Field(alias="Name")
    version: str = Field(alias="Version")
    licence: str = Field(alias="License")


class LookupFailed(Exception):
    """A tool that looks things up could not; the message says why."""


def licences_of(python: Path, tools: Path) -> dict[Package, str]:
    """What is installed for that interpreter; the tool is taken from the folder ``tools``."""
    command = [str(tools / "pip-licenses"), "--from=mixed", "--with-system", "--format=json", f"--python={python}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise LookupFailed(f"pip-licenses: {done.stderr.strip().splitlines()[-1:]}")
    rows = TypeAdapter(tuple[_Row, ...]).validate_json(done.stdout)
    return {Package(canonical(row.name), row.version): row.licence for row in rows}
