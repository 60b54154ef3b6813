"""A stack that starts, on the console: which processes are not ready yet."""

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.status import Status


class Starting:
    """A context for as long as a stack starts; called with the names of what is still awaited, at last with none."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._status = Status("Starting ...", console=console)

    def __enter__(self) -> "Starting":
        if self._quiet:
            return self
        if self._console.is_terminal:
            self._status.start()
        else:
            self._console.print("Starting ...", style="dim")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def __call__(self, awaited: Sequence[str]) -> None:
        if awaited:
            self._status.update(f"Starting: {', '.join(awaited)} ...")
        else:
            self._status.stop()
