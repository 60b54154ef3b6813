"""The setting COMPUTE_AUDIT: on unless an operator says off by name."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from services.executor.settings import ExecutorSettings


def _settings(monkeypatch: pytest.MonkeyPatch, written: str | None) -> ExecutorSettings:
    monkeypatch.delenv("COMPUTE_AUDIT", raising=False)
    for name, value in {"ANTHROPIC_API_KEY": "k", "ALLOW_NO_ARCHIVE": "true"}.items():
        monkeypatch.setenv(name, value)
    if written is not None:
        monkeypatch.setenv("COMPUTE_AUDIT", written)
    return ExecutorSettings(tenant_file=Path("t.json"), redis_url="redis://x", policy_url="http://p")


@pytest.mark.promise("audit.second.setting")
@pytest.mark.parametrize(("written", "read"), [(None, "on"), ("on", "on"), ("off", "off")])
def test_the_audit_is_on_unless_it_is_switched_off(
    monkeypatch: pytest.MonkeyPatch, written: str | None, read: str
) -> None:
    assert _settings(monkeypatch, written).compute_audit == read


@pytest.mark.promise("audit.second.setting")
@pytest.mark.parametrize("written", ["", "perhaps", "OFF "])
def test_another_word_stops_the_start(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    with pytest.raises(ValidationError, match="compute_audit"):
        _settings(monkeypatch, written)
