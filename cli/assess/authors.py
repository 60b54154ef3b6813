"""For authors of scenarios: a first one that runs, and whether scenarios can be used."""

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from cli.console import Complaint

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_STARTER = "starter"
_TEXT = ".txt"  # so that a template of Python is not taken for a module of ours


def begin(folder: Path, name: str) -> Path:
    """A scenario of that name in the folder, with a gold course and wrong ones. Raises ``Complaint``."""
    if not _NAME.fullmatch(name):
        raise Complaint(f"{name!r} is no scenario's name: small letters, digits and _, a letter first.")
    made = folder / name
    if made.exists():
        raise Complaint(f"There is {made} already.")
    try:
        with as_file(files("cli.assess") / _STARTER) as starter:
            for source in sorted(path for path in starter.rglob("*") if path.is_file()):
                target = made / str(source.relative_to(starter)).removesuffix(_TEXT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(source.read_text(encoding="utf-8").replace('"NAME"', f'"{name}"'), encoding="utf-8")
    except OSError as error:
        raise Complaint(f"The scenario cannot be written to {made}: {error.strerror}.") from error
    return made


def run_assessor(command: str, arguments: Sequence[str]) -> int:
    """A command of the assessor in a process of its own, which says what it has to say; its exit code."""
    return subprocess.run((sys.executable, "-m", "services.assessor", command, *arguments), check=False).returncode  # noqa: S603  our own interpreter
