"""A policy that is written and means nothing is said, or refused: it must not look as if it held."""

import json
from pathlib import Path

import pytest

from services.executor.adapters.stored_tenants import BadTenantFile, FileTenants
from shared.contracts.policy import ToolRule
from shared.domain.exact_json import Json, JsonObject, dumps
from tests.unit.executor.stage import APPROVE, Stage


@pytest.mark.promise("policy.says_nothing")
async def test_a_rule_about_a_tool_that_nobody_offers_is_named_in_the_task() -> None:
    """The worker cannot know what was meant; whoever reads the task can."""
    play = Stage()
    rules = (ToolRule(id="T1", kind="never", tool="aprove_claim"), ToolRule(id="T2", kind="never", tool="delete_*"))
    known = ToolRule(id="T3", kind="at_most", tool=" get_* ")
    play.set_rules(*rules, known)
    record = await play.run()
    assert record.metadata["policy_notes"] == [
        "rule T1 of house is about 'aprove_claim', and no such tool is offered",
        "rule T2 of house is about 'delete_*', and no such tool is offered",
    ]


def _asked_with(document: JsonObject) -> Stage:
    play = Stage()
    request = play.turns.record.request.model_copy(update={"policy_doc": document})
    play.turns.record = play.turns.record.model_copy(update={"request": request})
    return play


@pytest.mark.promise("policy.unknown_shape")
async def test_a_field_of_the_request_that_nobody_reads_ends_the_task_unwritten() -> None:
    """What it says would not hold, so nothing is done under it."""
    play = _asked_with({"rules": [], "tooldefault": "deny"})
    record = await play.run()
    assert (record.state, play.claims.applied) == ("failed", [])
    assert "metadata.policy_doc cannot be read as rules: policy.tooldefault: nobody reads this field" in str(
        record.reason
    )


@pytest.mark.promise("policy.unknown_shape")
async def test_a_field_that_only_describes_is_named_and_stops_nothing() -> None:
    play = _asked_with({"rules": [], "title": "House rules"})
    record = await play.run()
    assert (record.state, play.claims.applied) == ("completed", ["C-1"])
    assert record.metadata["policy_notes"] == ["nobody reads the field policy.title"]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"id": "p", "tooldefault": "deny"}, "no policy has a field p.tooldefault"),
        ({"id": "p", "rules": [{"id": "A", "condition": "x", "action": "block", "levle": "cfo"}]}, "A.levle"),
    ],
)
def test_a_tenants_policy_with_a_field_that_nobody_reads_stops_the_start(
    tmp_path: Path, policy: Json, sentence: str
) -> None:
    file = tmp_path / "tenant.json"
    file.write_text(json.dumps({"id": "default", "policies": [policy]}), "utf-8")
    with pytest.raises(BadTenantFile, match=sentence):
        FileTenants.read(file)


def test_a_tenants_policy_holds_rules_of_every_kind_in_one_list(tmp_path: Path) -> None:
    file = tmp_path / "tenant.json"
    rules = [{"id": "A", "kind": "never", "tool": "pay"}, {"id": "B", "type": "deny", "keywords": ["x"]}]
    file.write_text(json.dumps({"id": "default", "policies": [{"id": "p", "rules": rules}]}), "utf-8")
    (policy,) = FileTenants.read(file).record.policies
    assert ([rule.id for rule in policy.tool_rules], [rule.id for rule in policy.text_rules]) == (["A"], ["B"])


@pytest.mark.promise("plan.as_made")
async def test_rules_see_a_plan_in_the_order_in_which_it_is_made() -> None:
    """Notices go out after the changes, wherever the model wrote them."""
    play = Stage()
    play.talk.rounds[1] = [("notify_person", {}), APPROVE]
    await play.run()
    binding = next(request for request in play.policy.asked if request.calls)
    assert [call.tool for call in binding.calls] == ["approve_claim", "notify_person"]


URL = "http://tools:9009"


def read(folder: Path, *connections: dict[str, object], url: str = URL) -> list[tuple[str, str]]:
    path = folder / "tenant.json"
    path.write_text(dumps({"id": "t", "connections": [*connections]}))  # type: ignore[list-item]  # JSON
    return [(one.id, one.url) for one in FileTenants.read(path, url).record.connections]


def test_a_file_without_connections_has_the_given_tool_server(tmp_path: Path) -> None:
    assert read(tmp_path) == [("default", URL)]
