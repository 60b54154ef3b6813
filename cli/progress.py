"""Work that takes a while, on the console: what is done, and for how long already."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def in_progress(console: Console, doing: str) -> Iterator[None]:
    """A spinner with its seconds at a terminal, gone when the work is done; elsewhere one line."""
    if not console.is_terminal:
        console.print(f"{doing} ...", style="dim", markup=False, soft_wrap=True)
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description} ...", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(doing, total=None)
        yield
