"""The setting ORCHESTRATORS, and what BrainOS needs where it is listed."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.executor.ports.orchestrators import Orchestrating
from services.executor.settings import ExecutorSettings

pytestmark = pytest.mark.promise("brainos.settings")
_BRAINOS = {"BRAINOS_API_URL": "https://brain.example", "BRAINOS_API_KEY": "k", "BRAINOS_ORG_ID": "org-1"}


def _settings(monkeypatch: pytest.MonkeyPatch, **given: str) -> ExecutorSettings:
    for name in ("ORCHESTRATORS", *_BRAINOS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"ANTHROPIC_API_KEY": "k", "ALLOW_NO_ARCHIVE": "true", **given}.items():
        monkeypatch.setenv(name, value)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, ["local"]),
        ({"ORCHESTRATORS": "brainos, local", **_BRAINOS}, ["brainos", "local"]),
        ({"ORCHESTRATORS": "local,brainos", **_BRAINOS}, ["local", "brainos"]),
    ],
)
def test_orchestrators_are_named_in_the_order_in_which_they_are_tried(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], read: list[str]
) -> None:
    assert _settings(monkeypatch, **given).orchestrators == tuple(Orchestrating(name) for name in read)


@pytest.mark.parametrize("written", ["", "local,", "local,local", "claude"])
def test_a_wrong_list_stops_the_start(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    with pytest.raises(ValidationError, match=r"(?i)orchestrators"):
        _settings(monkeypatch, ORCHESTRATORS=written)


@pytest.mark.parametrize("name", sorted(_BRAINOS))
@pytest.mark.parametrize("value", ["", " ", "two words", "\N{SNOWMAN}"])
def test_what_brainos_needs_is_named_where_it_is_missing_or_wrong(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Only where brainos is listed: elsewhere nobody asks for it."""
    with pytest.raises(ValidationError, match=f"{name} is missing or cannot be sent"):
        _settings(monkeypatch, **{"ORCHESTRATORS": "brainos", **_BRAINOS, name: value})
    assert _settings(monkeypatch, **{**_BRAINOS, name: value}).orchestrators == (Orchestrating.LOCAL,)


@pytest.mark.parametrize("url", ["brain.example", "ftp://brain.example", "https://", "https://me:word@brain.example"])
def test_an_address_that_is_none_stops_the_start(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ValidationError, match="BRAINOS_API_URL is no http"):
        _settings(monkeypatch, **{"ORCHESTRATORS": "brainos", **_BRAINOS, "BRAINOS_API_URL": url})
