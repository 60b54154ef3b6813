"""The system texts of every role, beside this file."""

from importlib.resources import files
from typing import Final

_HERE = files(__package__)


def _text(name: str) -> str:
    return (_HERE / f"{name}.md").read_text(encoding="utf-8").strip()


CHARACTER: Final = _text("character")
INVITED: Final = _text("invited")
SUMMARY: Final = _text("summary")
JUDGE: Final = _text("judge")
