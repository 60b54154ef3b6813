"""The settings STRATEGIES, COMPUTE_AUDIT and ORCHESTRATORS, and which models are told how thoroughly to think."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.executor.ports.orchestrators import OrchestratorName
from services.executor.settings import ExecutorSettings
from shared.domain.words import Strategy
from shared.infra.anthropic_request import takes_effort
from tests.each_row import each_row

_BRAINOS = {"BRAINOS_API_URL": "https://brain.example", "BRAINOS_API_KEY": "k", "BRAINOS_ORG_ID": "org-1"}


def _settings(monkeypatch: pytest.MonkeyPatch, given: dict[str, str] | None = None) -> ExecutorSettings:
    for name in ("STRATEGIES", "COMPUTE_AUDIT", "ORCHESTRATORS", *_BRAINOS):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"ANTHROPIC_API_KEY": "k", "ALLOW_NO_ARCHIVE": "true", **(given or {})}.items():
        monkeypatch.setenv(name, value)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.promise("strategy.setting", "audit.second.setting", "brainos.settings")
@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({}, (tuple(Strategy), "on", (OrchestratorName.LOCAL,))),
        ({"STRATEGIES": "fsm", "COMPUTE_AUDIT": "on"}, ((Strategy.FSM,), "on", (OrchestratorName.LOCAL,))),
        ({"COMPUTE_AUDIT": "all"}, (tuple(Strategy), "all", (OrchestratorName.LOCAL,))),
        (
            {"STRATEGIES": " moa, fsm ", "ORCHESTRATORS": "brainos, local", **_BRAINOS},
            ((Strategy.MOA, Strategy.FSM), "on", (OrchestratorName.BRAINOS, OrchestratorName.LOCAL)),
        ),
        (
            {"COMPUTE_AUDIT": "off", "ORCHESTRATORS": "local,brainos", **_BRAINOS},
            (tuple(Strategy), "off", (OrchestratorName.LOCAL, OrchestratorName.BRAINOS)),
        ),
    ],
)
def test_lists_keep_their_order_and_the_audit_is_on_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], read: tuple[object, ...]
) -> None:
    settings = _settings(monkeypatch, given)
    assert (settings.strategies, settings.compute_audit, settings.orchestrators) == read


@pytest.mark.promise("strategy.setting", "audit.second.setting", "brainos.settings")
@pytest.mark.parametrize(
    ("name", "written"),
    [
        *(("STRATEGIES", word) for word in ("", "fsm,,moa", "fsm,fsm", "fsm,guessing")),
        *(("COMPUTE_AUDIT", word) for word in ("", "perhaps", "OFF ")),
        *(("ORCHESTRATORS", word) for word in ("", "local,", "local,local", "claude")),
    ],
)
def test_another_word_stops_the_start(monkeypatch: pytest.MonkeyPatch, name: str, written: str) -> None:
    with pytest.raises(ValidationError, match=f"(?i){name}"):
        _settings(monkeypatch, {name: written})


@pytest.mark.promise("brainos.settings")
@pytest.mark.parametrize("name", sorted(_BRAINOS))
@pytest.mark.parametrize("value", ["", " ", "two words", "\N{SNOWMAN}"])
def test_what_brainos_needs_is_named_where_it_is_missing_or_wrong(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Only where brainos is listed: elsewhere nobody asks for it."""
    with pytest.raises(ValidationError, match=f"{name} is missing or cannot be sent"):
        _settings(monkeypatch, {"ORCHESTRATORS": "brainos", **_BRAINOS, name: value})
    assert _settings(monkeypatch, {**_BRAINOS, name: value}).orchestrators == (OrchestratorName.LOCAL,)


@pytest.mark.promise("brainos.settings")
@pytest.mark.parametrize("url", ["brain.example", "ftp://brain.example", "https://", "https://me:word@brain.example"])
def test_an_address_that_is_none_stops_the_start(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ValidationError, match="BRAINOS_API_URL is no http"):
        _settings(monkeypatch, {"ORCHESTRATORS": "brainos", **_BRAINOS, "BRAINOS_API_URL": url})


@pytest.mark.promise("strategy.moa.two_drafts")
@each_row(
    ("model", "takes"),
    [
        ("claude-haiku-4-5-20251001", False), ("claude-sonnet-4-5-20250929", False), ("claude-sonnet-4-6", True),
        ("claude-sonnet-4-20250514", False), ("claude-opus-4-5", True), ("claude-haiku-5", True),
        ("offline-planner-1", False), ("my-own-model", False),
    ],
)  # fmt: skip
def test_only_models_that_take_it_are_told_how_thoroughly_to_think(model: str, takes: bool) -> None:
    assert takes_effort(model) is takes
