"""What a person sees while a stack starts."""

from io import StringIO

import pytest
from rich.console import Console

from cli.console import Starting


@pytest.mark.parametrize(("quiet", "said"), [(False, "Starting ...\n"), (True, "")])
def test_a_log_gets_one_line_and_a_machine_none(quiet: bool, said: str) -> None:
    console = Console(file=StringIO())
    with Starting(console, quiet) as starting:
        starting(("gateway", "executor-1"))
        starting(())
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == said


def test_a_terminal_shows_what_is_still_awaited() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=100)
    with Starting(console) as starting:
        starting(("gateway", "executor-1"))
    assert isinstance(console.file, StringIO)
    assert "gateway, executor-1" in console.file.getvalue()
