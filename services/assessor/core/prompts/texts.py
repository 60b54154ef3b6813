"""The system texts of every role, beside this file."""

from importlib.resources import files
from typing import Final

_HERE = files(__package__)


def _read_prompt(name: str) -> str:
    return (_HERE / f"{name}.md").read_text(encoding="utf-8").strip()


CHARACTER: Final = _read_prompt("character")
INVITED: Final = _read_prompt("invited")
SUMMARY: Final = _read_prompt("summary")
JUDGE: Final = _read_prompt("judge")
