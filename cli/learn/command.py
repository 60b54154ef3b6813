"""`purple learn`: what is learned: reports, import and export as files, and what is to be forgotten."""

import typer

from cli.learn.files import bring, export
from cli.learn.forget import forget
from cli.learn.report import report

learn = typer.Typer(
    no_args_is_help=True, help="What is learned: reports; import and export as files; what is to be forgotten."
)
learn.command()(report)
learn.command()(export)
learn.command()(forget)
learn.command("import")(bring)
