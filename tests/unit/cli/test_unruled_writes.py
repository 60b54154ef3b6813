"""What a write needs that no rule speaks about, where the launcher is given a tool server of somebody else's."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.console import Complaint
from cli.launcher import asks_for_unruled_writes, settle_unruled_writes
from cli.stack.plan import StackOptions

pytestmark = pytest.mark.promise("launcher.unruled_writes")
FOREIGN = {"GREEN_AGENT_MCP_URL": "http://tools.example/mcp"}


def _options(folder: Path, environ: Mapping[str, str]) -> StackOptions:
    return StackOptions(folder, environ)


def _said_by_record(options: StackOptions) -> str:
    return str(json.loads(Path(options.environ["TENANT_FILE"]).read_text())["unruled_writes"])


@pytest.mark.parametrize("word", ["allow", "approve"])
def test_the_word_of_the_environment_stands_in_the_record(tmp_path: Path, word: str) -> None:
    settled = settle_unruled_writes(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": word}))
    assert _said_by_record(settled) == word


def test_without_a_word_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(Complaint, match="UNRULED_WRITES") as caught:
        settle_unruled_writes(_options(tmp_path, FOREIGN))
    assert all(word in caught.value.sentence for word in ("approve", "allow"))


def test_a_word_that_is_none_of_both_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Complaint, match="UNRULED_WRITES cannot be 'maybe'"):
        settle_unruled_writes(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "maybe"}))


def test_it_is_asked_once_and_remembered_in_a_record_that_its_owner_may_edit(tmp_path: Path) -> None:
    assert asks_for_unruled_writes(_options(tmp_path, FOREIGN))
    settle_unruled_writes(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "allow"}))
    record = tmp_path / "tenant.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "time_zone": "Europe/Rome"}))
    assert not asks_for_unruled_writes(_options(tmp_path, FOREIGN))
    assert _said_by_record(settle_unruled_writes(_options(tmp_path, FOREIGN))) == "allow"
    settle_unruled_writes(_options(tmp_path, {**FOREIGN, "UNRULED_WRITES": "approve"}))
    assert json.loads(record.read_text())["time_zone"] == "Europe/Rome"
    assert json.loads(record.read_text())["unruled_writes"] == "approve"


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "tenant.json").write_text("{")
    with pytest.raises(Complaint, match=r"tenant\.json cannot be read"):
        settle_unruled_writes(_options(tmp_path, FOREIGN))


def test_a_record_of_ones_own_says_it_itself(tmp_path: Path) -> None:
    """A second word beside it would be one too many."""
    own = {**FOREIGN, "TENANT_FILE": "/mine.json"}
    assert not asks_for_unruled_writes(_options(tmp_path, own))
    assert settle_unruled_writes(_options(tmp_path, own)).environ["TENANT_FILE"] == "/mine.json"
    with pytest.raises(Complaint, match="TENANT_FILE"):
        settle_unruled_writes(_options(tmp_path, {**own, "UNRULED_WRITES": "allow"}))


def test_the_example_company_has_its_own_record_and_a_word_changes_it(tmp_path: Path) -> None:
    assert not asks_for_unruled_writes(_options(tmp_path, {}))
    assert "TENANT_FILE" not in settle_unruled_writes(_options(tmp_path, {})).environ
    settled = settle_unruled_writes(_options(tmp_path, {"UNRULED_WRITES": "approve"}))
    assert _said_by_record(settled) == "approve"
    assert json.loads(Path(settled.environ["TENANT_FILE"]).read_text())["policies"]
