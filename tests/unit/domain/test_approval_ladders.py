"""The levels that an approval goes on to, as a tenant's record has them."""

import pytest
from pydantic import ValidationError

from shared.contracts.approval import Rung, find_rung, rungs_above
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord, read_owned_record
from shared.domain.exact_json import JsonObject

_LADDER = tuple(Rung(level=level) for level in ("manager", "finance", "cfo"))


@pytest.mark.promise("approvals.escalation")
@pytest.mark.parametrize(
    ("level", "later"),
    [
        (None, ["manager", "finance", "cfo"]),
        ("manager", ["finance", "cfo"]),
        ("hr", ["finance", "cfo"]),
        ("cfo", []),
        ("ciso", []),
    ],
)
def test_only_higher_levels_come_after_one(level: str | None, later: list[str]) -> None:
    assert [rung.level for rung in rungs_above(_LADDER, level)] == later


def test_a_level_that_is_no_rung_has_none() -> None:
    assert (find_rung(_LADDER, "finance"), find_rung(_LADDER, "hr"), find_rung(_LADDER, None)) == (
        _LADDER[1],
        None,
        None,
    )


@pytest.mark.promise("approvals.escalation")
@pytest.mark.parametrize(
    "ladder",
    [
        [{"level": "cfo"}, {"level": "manager"}],
        [{"level": "manager"}, {"level": "Manager"}],
        [{"level": "king"}],
        [{"level": "manager", "hours": 0}],
        [{"level": "manager", "approvers": 0}],
    ],
)
def test_a_ladder_that_leads_nowhere_is_refused(ladder: list[JsonObject]) -> None:
    with pytest.raises(ValidationError):
        TenantRecord.model_validate({"id": "acme", "approval_ladder": ladder})


@pytest.mark.promise("approvals.notices_walls")
@pytest.mark.parametrize("field", ["url", "secret"])
def test_a_tenants_operator_is_told_at_once_of_a_reference_that_is_not_the_tenants(field: str) -> None:
    target: JsonObject = {"url": "https://hooks.example/x", field: "env:TOOL_CREDENTIAL__OTHER__X"}
    own: JsonObject = {**target, field: "env:TOOL_CREDENTIAL__ACME__X"}
    assert read_owned_record({"id": "acme", "notices": [own]}, "acme").notices
    with pytest.raises(BadRecord, match=f"notices.0.{field}: a variable of this tenant begins with"):
        read_owned_record({"id": "acme", "notices": [target]}, "acme")


@pytest.mark.promise("approvals.escalation")
@pytest.mark.parametrize(
    "document",
    [{"approval_ladder": [{"level": "manager", "hour": 8}]}, {"notices": [{"url": "https://x", "event": []}]}],
)
def test_a_misspelt_field_is_refused(document: JsonObject) -> None:
    with pytest.raises(BadRecord, match="nobody reads this field"):
        read_owned_record({"id": "acme", **document}, "acme")


@pytest.mark.promise("approvals.notices_walls")
@pytest.mark.parametrize("url", ["", "ftp://x", "file:///etc/passwd", "env:", "env:A B", "hooks.example"])
def test_a_notice_target_is_a_url_or_a_variable(url: str) -> None:
    with pytest.raises(ValidationError):
        TenantRecord.model_validate({"id": "acme", "notices": [{"url": url}]})
