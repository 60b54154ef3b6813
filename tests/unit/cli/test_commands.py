"""The list of commands is shown without loading them, and says what each says of itself."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from cli.main import all_commands, app, load_command

_HEAVY = ("httpx", "redis", "pydantic", "mcp", "a2a", "anthropic", "services", "tools.bench.command")


def test_every_command_is_found_in_its_module() -> None:
    assert {"demo", "up", "send", "approvals", "dlq", "learn", "assess", "bench", "chaos"} <= all_commands().keys()


@pytest.mark.parametrize("name", all_commands())
def test_a_command_is_listed_with_a_sentence_and_explains_itself(name: str) -> None:
    entry = all_commands()[name]

    assert entry.help[0].isupper()
    assert entry.help.endswith((".", "?"))
    assert load_command(name, entry).help


def test_help_loads_no_command() -> None:
    program = (
        f"import sys; from cli.main import app; app(standalone_mode=False); print(*(set({_HEAVY}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "approvals" in done.stdout
    assert done.stdout.splitlines()[-1].strip() == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["send", "x", "--role", "king"], "'king' is not one of"),
        (["send", "x", "--policy", '{"a":'], "--policy"),
        (["send", "x", "--url", "ftp://x"], "has to begin with http:// or https://"),
    ],
)
def test_a_wrong_option_is_refused_in_plain_words(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert (done.exit_code != 0, sentence in done.output, "Value error" in done.output) == (True, True, False)
