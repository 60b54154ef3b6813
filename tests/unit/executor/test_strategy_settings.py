"""The settings STRATEGIES and COMPUTE_AUDIT, and which models are told how thoroughly to think."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.executor.settings import ExecutorSettings
from shared.domain.words import Strategy
from shared.infra.anthropic_request import takes_effort


def _settings(monkeypatch: pytest.MonkeyPatch, strategies: str | None) -> ExecutorSettings:
    needed = {"REDIS_URL": "redis://x", "POLICY_URL": "http://p", "TENANT_FILE": "t.json", "ANTHROPIC_API_KEY": "k"}
    for name, value in {**needed, "ALLOW_NO_ARCHIVE": "true"}.items():
        monkeypatch.setenv(name, value)
    if strategies is not None:
        monkeypatch.setenv("STRATEGIES", strategies)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.promise("strategy.setting")
@pytest.mark.parametrize(
    ("written", "read"),
    [(None, tuple(Strategy)), ("fsm", (Strategy.FSM,)), (" moa, fsm ", (Strategy.MOA, Strategy.FSM))],
)
def test_strategies_are_named_in_their_order(
    monkeypatch: pytest.MonkeyPatch, written: str | None, read: tuple[Strategy, ...]
) -> None:
    assert _settings(monkeypatch, written).strategies == read


@pytest.mark.promise("strategy.setting")
@pytest.mark.parametrize("written", ["", "fsm,,moa", "fsm,fsm", "fsm,guessing"])
def test_a_wrong_list_of_strategies_stops_the_start(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    with pytest.raises(ValidationError, match="strategies"):
        _settings(monkeypatch, written)


@pytest.mark.promise("strategy.moa.two_drafts")
@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-haiku-4-5-20251001", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-sonnet-4-6", True),
        ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-5", True),
        ("claude-haiku-5", True),
        ("offline-planner-1", False),
        ("my-own-model", False),
    ],
)
def test_only_models_that_take_it_are_told_how_thoroughly_to_think(model: str, takes: bool) -> None:
    assert takes_effort(model) is takes


def _settings_of_audit_setting(monkeypatch: pytest.MonkeyPatch, written: str | None) -> ExecutorSettings:
    monkeypatch.delenv("COMPUTE_AUDIT", raising=False)
    for name, value in {"ANTHROPIC_API_KEY": "k", "ALLOW_NO_ARCHIVE": "true"}.items():
        monkeypatch.setenv(name, value)
    if written is not None:
        monkeypatch.setenv("COMPUTE_AUDIT", written)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.promise("audit.second.setting")
@pytest.mark.parametrize(("written", "read"), [(None, "on"), ("on", "on"), ("off", "off"), ("all", "all")])
def test_the_audit_is_on_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, written: str | None, read: str
) -> None:
    assert _settings_of_audit_setting(monkeypatch, written).compute_audit == read


@pytest.mark.promise("audit.second.setting")
@pytest.mark.parametrize("written", ["", "perhaps", "OFF "])
def test_another_word_stops_the_start(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    with pytest.raises(ValidationError, match="compute_audit"):
        _settings_of_audit_setting(monkeypatch, written)
