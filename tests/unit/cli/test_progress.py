"""What a person sees while another process works for them."""

from io import StringIO

import pytest
from rich.console import Console

from cli.child_json import in_progress


@pytest.mark.promise("cli.progress")
@pytest.mark.parametrize("terminal", [True, False])
def test_it_says_what_is_done_for_as_long_as_it_takes(terminal: bool) -> None:
    console = Console(file=StringIO(), force_terminal=terminal, width=100)
    assert isinstance(console.file, StringIO)
    with in_progress(console, "Asking http://[tools].example for its tools"):
        pass
    assert "Asking http://[tools].example for its tools ..." in console.file.getvalue()
