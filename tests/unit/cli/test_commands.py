"""What `purple` says of itself: its commands, its version, that it needs a checkout, and how a start goes on."""

import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli.child_json import show_spinner
from cli.console import StartupProgress, err, out
from cli.main import app, list_commands, load_command
from shared.domain.version import VERSION
from tests.each_row import each_row

_ASSESS = ("assess", "--scenario", "x", "--agent", "http://x")
_HEAVY = ("httpx", "redis", "pydantic", "mcp", "a2a", "anthropic", "services", "tools.bench.command")


def test_every_command_is_found_in_its_module() -> None:
    assert {"demo", "up", "send", "approvals", "dlq", "learn", "assess", "bench", "chaos"} <= list_commands().keys()


@each_row("name", list_commands())
def test_a_command_is_listed_with_a_sentence_and_explains_itself(name: str) -> None:
    entry = list_commands()[name]

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


@each_row(
    ("arguments", "sentence"),
    (["send", "x", "--role", "king"], "'king' is not one of"),
    (["send", "x", "--policy", '{"a":'], "--policy"),
    (["send", "x", "--url", "ftp://x"], "has to begin with http:// or https://"),
    (["send", "x", "--url", "http://[::1"], "has to begin with http:// or https://"),
    (["task", "show", "t", "--url", "http://localhost:abc"], "has to begin with http:// or https://"),
    ([*_ASSESS, "--assessor", "localhost:9060"], "localhost:9060 is no assessor's URL"),
    ([*_ASSESS, "--assessor", "http://localhost:abc"], "http://localhost:abc is no assessor's URL"),
)
def test_a_wrong_option_is_refused_in_plain_words(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert (done.exit_code != 0, sentence in done.output, "Value error" in done.output) == (True, True, False)


@each_row("text", ["task [/t] in [bold]: failed", '{"note": "see :100: of it"}'])
def test_an_id_a_path_and_json_are_printed_as_they_are(text: str) -> None:
    """Neither brackets nor colons mean anything to whoever prints them."""
    for console in (out, err):
        with console.capture() as printed:
            console.print(text, style="bold", soft_wrap=True)
        assert printed.get().strip() == text


@pytest.mark.promise("cli.version")
def test_it_says_its_version_and_ends() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output.strip()) == (0, f"purple {VERSION}")


ROOT = Path(__file__).resolve().parents[3]
INSTALLED = ("cli", "shared")
# An editable install puts the checkout itself on the path.
PURPLE = "import sys; sys.path[:] = [sys.argv.pop(1), *(at for at in sys.path if at not in ('', sys.argv[1]))]; \
del sys.argv[1]; from cli.main import app; app()"


def _purple(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    for package in INSTALLED:
        (place / package).symlink_to(ROOT / package)
    command = [sys.executable, "-c", PURPLE, str(place), str(ROOT), *arguments]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=False)


def test_without_a_checkout_one_sentence_says_that_one_is_needed(tmp_path: Path) -> None:
    done = _purple(tmp_path, "bench", "queue", "--check")

    assert (done.returncode, done.stdout) == (2, "")
    said = "purple bench needs a checkout of the project: the folder tools is not installed here."
    assert done.stderr.strip() == said


def test_another_package_of_that_name_is_no_checkout(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").touch()

    assert _purple(tmp_path, "chaos", "--minutes", "1").returncode == 2


@each_row(("quiet", "said"), [(False, "Starting ...\n"), (True, "")])
def test_a_log_gets_one_line_and_a_machine_none(quiet: bool, said: str) -> None:
    console = Console(file=StringIO())
    with StartupProgress(console, quiet) as starting:
        starting(("gateway", "executor-1"))
        starting(())
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == said


def test_a_terminal_shows_what_is_still_awaited() -> None:
    console = Console(file=StringIO(), force_terminal=True, width=100)
    with StartupProgress(console) as starting:
        starting(("gateway", "executor-1"))
    assert isinstance(console.file, StringIO)
    assert "gateway, executor-1" in console.file.getvalue()


@pytest.mark.promise("cli.progress")
@each_row("terminal", [True, False])
def test_it_says_what_is_done_for_as_long_as_it_takes(terminal: bool) -> None:
    console = Console(file=StringIO(), force_terminal=terminal, width=100)
    assert isinstance(console.file, StringIO)
    with show_spinner(console, "Asking http://[tools].example for its tools"):
        pass
    assert "Asking http://[tools].example for its tools ..." in console.file.getvalue()
