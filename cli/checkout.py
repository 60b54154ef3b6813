"""The commands `purple chaos` and `purple bench`, which only a checkout of the project has, in its folder ``tools``."""

from importlib.util import find_spec
from pathlib import Path

import typer

from cli.console import err

COMMANDS = ("bench", "chaos")


def find_tools_folder() -> Path | None:
    """The project's folder ``tools``; None if this is no checkout, or ``tools`` is another's package."""
    try:
        found = [find_spec(f"tools.{name}.command") for name in COMMANDS]
    except ModuleNotFoundError:
        return None
    files = [Path(spec.origin) for spec in found if spec and spec.origin]
    return files[0].parents[1] if len(files) == len(COMMANDS) else None


def report_missing_checkout(ctx: typer.Context) -> None:
    sentence = f"purple {ctx.info_name} needs a checkout of the project: the folder tools is not installed here."
    err.print(sentence, style="red", soft_wrap=True)
    raise typer.Exit(2)
