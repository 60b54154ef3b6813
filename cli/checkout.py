"""`purple chaos` and `purple bench`: what only a checkout of the project has, in its folder ``tools``."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import cast

import typer

from cli.console import err

_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}
_CHAOS, _BENCH = "tools.chaos.command", "tools.bench.command"
_BENCH_HELP = "Measure, and compare with the stated targets."


def add_checkout_commands(app: typer.Typer) -> None:
    """Where they are missing, a command of the same name says so and ends with 2."""
    if has_tools():
        app.command()(cast("Callable[..., None]", import_module(_CHAOS).chaos))
        app.add_typer(cast("typer.Typer", import_module(_BENCH).bench), name="bench", help=_BENCH_HELP)
        return
    for name in ("chaos", "bench"):
        app.command(name, help="Only in a checkout of the project.", context_settings=_ANYTHING)(_needs_a_checkout)


def has_tools() -> bool:
    """Whether this is a checkout: a package of another's that is called tools as well is none."""
    try:
        return all(find_spec(module) is not None for module in (_CHAOS, _BENCH))
    except ModuleNotFoundError:
        return False


def _needs_a_checkout(ctx: typer.Context) -> None:
    sentence = f"purple {ctx.info_name} needs a checkout of the project: the folder tools is not installed here."
    err.print(sentence, style="red", soft_wrap=True)
    raise typer.Exit(2)
