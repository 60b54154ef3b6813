"""The command line of Purple Agent."""

import typer

from cli.bench import bench
from cli.demo.command import demo
from cli.send import send
from cli.up import up

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Purple Agent: an AI worker that carries out business processes end to end.

    [bold]Start here[/]: `purple demo` runs business tasks on a stack of its own and checks what they did.
    `purple up` keeps a stack running; `purple send "..."` then gives it a task and shows each phase as it happens.""",
)
app.command()(demo)
app.command()(up)
app.command()(send)
app.add_typer(bench, name="bench", help="Measure, and compare with the stated targets.")

if __name__ == "__main__":
    app()
