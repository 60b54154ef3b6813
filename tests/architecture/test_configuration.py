"""docs/configuration.md says what the services read, what they need, and nothing else."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.deployment.agreement import disagreements
from tests.deployment.configuration import PAGE, main, page, rows
from tests.deployment.dockerfile import ROOT, STACK, images
from tests.each_row import each_row

SETTINGS = {name: image.settings for name, image in images().items() if name != STACK}
_EXECUTOR = {"REDIS_URL": "redis://x", "POLICY_URL": "http://x", "TENANT_FILE": "/x", "ALLOW_NO_ARCHIVE": "true"}
_BRAINOS = {
    "ORCHESTRATORS": "brainos",
    "BRAINOS_API_URL": "http://x",
    "BRAINOS_API_KEY": "x",
    "BRAINOS_ORG_ID": "x",
    "ANTHROPIC_API_KEY": "x",
}
_JWT = {"REDIS_URL": "redis://x", "AUTHENTICATION": "jwt", "JWT_ISSUER": "https://x", "JWT_AUDIENCE": "x"}
_ARCHIVE = {"ARCHIVE_URL": "file:///x", "ARCHIVE_KEY": "secret:archive-key"}
_GATEWAY = {"REDIS_URL": "redis://x", "AUTHENTICATION": "keys"}
# An environment in which every variable that is needed somewhere is needed, and given.
WHOLE: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("gateway", "AUTHENTICATION"): _GATEWAY,
    ("gateway", "JWT_ISSUER"): _JWT,
    ("gateway", "JWT_AUDIENCE"): _JWT,
    ("gateway", "WEBHOOK_SECRET"): _GATEWAY | {"A2A_PUSH": "on", "WEBHOOK_SECRET": "secret:webhook-secret"},
    ("gateway", "ARCHIVE_KEY"): _GATEWAY | _ARCHIVE,
    ("learner", "ARCHIVE_KEY"): {"REDIS_URL": "redis://x"} | _ARCHIVE,
    ("learner", "ANTHROPIC_API_KEY"): {"REDIS_URL": "redis://x", "LEARN_KNOWLEDGE": "on", "ANTHROPIC_API_KEY": "x"},
    ("executor", "ARCHIVE_KEY"): _EXECUTOR | _ARCHIVE | {"ANTHROPIC_API_KEY": "x"},
    ("executor", "ANTHROPIC_API_KEY"): _EXECUTOR | {"ANTHROPIC_API_KEY": "x"},
    ("executor", "ANTHROPIC_BASE_URL"): _EXECUTOR | {"ANTHROPIC_BASE_URL": "http://x"},
    ("executor", "BRAINOS_API_URL"): _EXECUTOR | _BRAINOS,
    ("executor", "BRAINOS_API_KEY"): _EXECUTOR | _BRAINOS,
    ("executor", "BRAINOS_ORG_ID"): _EXECUTOR | _BRAINOS,
    ("assessor", "SIMULATOR_ADMIN_KEY"): {"SIMULATOR_URL": "http://x", "SIMULATOR_ADMIN_KEY": "x"},
    ("assessor", "ASSESSOR_API_KEY"): {"HOST": "10.0.0.1", "ASSESSOR_API_KEY": "x"},
}


@pytest.mark.promise("docs.configuration")
def test_the_page_is_what_the_settings_classes_say() -> None:
    """``make reference`` writes it anew."""
    assert PAGE.read_text() == page()


@pytest.mark.promise("docs.configuration")
def test_a_page_that_says_something_else_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "configuration.md"
    other.write_text(page().replace("TOOL_TIMEOUT", "TOOLS_TIMEOUT"))

    assert main(["--check"], other) == 1
    assert "make reference" in capsys.readouterr().err
    assert main([], other) == main(["--check"], other) == 0


@pytest.mark.promise("docs.configuration")
@each_row("name", sorted(SETTINGS))
def test_every_variable_says_what_it_does(name: str) -> None:
    assert [row.variable for row in rows(SETTINGS[name]) if not row.meaning] == []
    assert not re.search(rf"{re.escape(str(ROOT))}|\n", "".join(cell for row in rows(SETTINGS[name]) for cell in row))


@pytest.mark.promise("docs.configuration")
@each_row("name", sorted(SETTINGS))
def test_secrets_have_no_default_and_are_shown_as_such(name: str) -> None:
    """By their names: nothing that is called a key or a secret is listed as a text."""
    named = [row for row in rows(SETTINGS[name]) if re.search(r"_KEY`|SECRET`|PASSWORD`", row.variable)]

    assert [row for row in named if row.values != "secret" or row.default] == []


@pytest.mark.promise("docs.configuration")
@each_row("name", sorted(SETTINGS))
def test_what_is_said_to_be_needed_always_is_what_a_start_refuses_to_do_without(name: str) -> None:
    always = {row.variable.strip("`") for row in rows(SETTINGS[name]) if row.needed == "always"}
    refused = {line.split(":")[0] for line in disagreements(SETTINGS[name], {}) if line.endswith("Field required")}

    assert refused == always


def test_each_variable_that_is_needed_somewhere_is_tried() -> None:
    said = {(name, row.variable.strip("`")) for name, kind in SETTINGS.items() for row in rows(kind) if row.needed}
    always = {
        (name, row.variable.strip("`"))
        for name, kind in SETTINGS.items()
        for row in rows(kind)
        if row.needed == "always"
    }

    assert said - always == WHOLE.keys()


@pytest.mark.promise("docs.configuration")
@each_row(("name", "variable"), sorted(WHOLE))
def test_where_a_variable_is_said_to_be_needed_a_start_without_it_is_refused(name: str, variable: str) -> None:
    whole = dict(WHOLE[name, variable])

    assert disagreements(SETTINGS[name], whole) == []
    whole.pop(variable)
    assert any(variable in line or "AUTHENTICATION" in line for line in disagreements(SETTINGS[name], whole))
