"""What the command line says of itself."""

import pytest
from typer.testing import CliRunner

from cli.main import app
from shared.domain.version import VERSION


@pytest.mark.promise("cli.version")
def test_it_says_its_version_and_ends() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output.strip()) == (0, f"purple {VERSION}")


def test_without_a_command_it_explains_itself() -> None:
    said = CliRunner().invoke(app, [])
    assert "purple up" in said.output
