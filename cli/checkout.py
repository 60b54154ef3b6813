"""`purple chaos` and `purple bench`: what only a checkout of the project has, in its folder ``tools``."""

from importlib.util import find_spec

import typer

from cli.console import err

_MODULES = ("tools.chaos.command", "tools.bench.command")


def has_tools() -> bool:
    """Whether this is a checkout: a package of another's that is called tools as well is none."""
    try:
        return all(find_spec(module) is not None for module in _MODULES)
    except ModuleNotFoundError:
        return False


def needs_a_checkout(ctx: typer.Context) -> None:
    sentence = f"purple {ctx.info_name} needs a checkout of the project: the folder tools is not installed here."
    err.print(sentence, style="red", soft_wrap=True)
    raise typer.Exit(2)
