"""The list of commands is shown without loading them, and says what each says of itself."""

import subprocess
import sys

import pytest

from cli.commands import all_commands, load_command

_HEAVY = ("httpx", "redis", "pydantic", "mcp", "a2a", "anthropic", "services", "tools.bench.command")


@pytest.mark.parametrize("name", all_commands())
def test_a_command_is_listed_with_the_first_paragraph_of_its_own_help(name: str) -> None:
    entry = all_commands()[name]
    first = (load_command(name, entry).help or "").split("\n\n")[0]
    if name != "bench":  # its group says it of itself: each measurement stands alone
        assert " ".join(first.split()) == entry.help


def test_help_loads_no_command() -> None:
    program = (
        f"import sys; from cli.main import app; app(standalone_mode=False); print(*(set({_HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "approvals" in done.stdout
    assert done.stdout.splitlines()[-1].strip() == ""
