"""A tenant's record as people write it: whatever is wrong with it is named, and no value is repeated."""

import time

import pytest
from pydantic import ValidationError

from shared.contracts.approval import LadderRung, find_rung_of_level, list_rungs_above
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord, parse_record_of_tenant
from shared.domain.exact_json import Json, JsonObject
from tests.each_row import each_row

ERP: JsonObject = {
    "id": "erp",
    "url": "http://erp.internal/mcp",
    "credential": {"type": "bearer", "from": "env:TOOL_CREDENTIAL__DEFAULT__ERP"},
}
RECORD: JsonObject = {"id": "default", "time_zone": "Europe/Paris", "connections": [ERP]}
OAUTH: JsonObject = {
    "type": "oauth_client_credentials",
    "from": "file:erp",
    "client_id": "p",
    "token_url": "https://t/x",
}


@pytest.mark.promise("tenant.record_bad_fields")
@each_row(
    ("change", "fields"),
    ({"time_zon": "UTC"}, ["time_zon"]),
    ({"time_zone": "Europe/Pari"}, ["time_zone"]),
    ({"id": "globex"}, ["id"]),
    ({"connections": [{"id": "a", "url": "http://u:p@x/"}]}, ["connections.0.url"]),
    ({"connections": [{"id": "a", "url": "http://x", "author_tenant": "globex"}]}, ["connections.0.author_tenant"]),
    ({"connections": [ERP, ERP]}, ["connections.1.id"]),
    (
        {"connections": [{**ERP, "credential": {"type": "bearer", "from": "sk-live-123"}}]},
        ["connections.0.credential.from"],
    ),
    (
        {"connections": [{**ERP, "credential": {"type": "bearer", "from": "env:ANTHROPIC_API_KEY"}}]},
        ["connections.0.credential.from"],
    ),
    (
        {"connections": [{**ERP, "credential": {"type": "bearer", "from": "file:/etc/passwd"}}]},
        ["connections.0.credential.from"],
    ),
    (
        {"connections": [{**ERP, "credential": {"type": "bearer", "from": "aws-sm:purple/globex/erp"}}]},
        ["connections.0.credential.from"],
    ),
    (
        {"connections": [{**ERP, "catalogue": {"pay": {"tool_class": "reads", "read_bak": "x"}}}]},
        ["connections.0.catalogue.pay.read_bak", "connections.0.catalogue.pay.tool_class"],
    ),
    ({"policies": [{"id": "p", "rules": [{"id": "r"}]}]}, ["policies.0.rules.0.condition"]),
    ({"records": {"asset": {"keys": ["tag", "AssetTag"]}, "order": {"keys": ["asset_tags"]}}}, ["records"]),
    ({"records": {"asset": {"keys": ["tag"], "reads": ["x"]}, "order": {"keys": ["no"], "reads": ["x"]}}}, ["records"]),
    ({"records": {"--": {"keys": ["tag"]}}}, ["records"]),
    ({"records": ["asset"]}, ["records"]),
    ({"records": {"asset": {"keys": []}, "order": {"keys": [" "]}}}, ["records.asset.keys", "records.order.keys"]),
    ({"records": {"asset": {"keys": ["ID"]}, "order": {"keys": "no"}}}, ["records.asset.keys", "records.order.keys"]),
    ({"records": {"asset": {"reads": ["get_asset"], "of": "x"}}}, ["records.asset.keys", "records.asset.of"]),
    ({"approval_hours": 1e9}, ["approval_hours"]),
    ({"max_running": 0, "quiet_hours": {"start": "22:00"}}, ["max_running", "quiet_hours.end"]),
)
def test_each_bad_field_is_named(change: JsonObject, fields: list[str]) -> None:
    with pytest.raises(BadRecord) as bad:
        parse_record_of_tenant({**RECORD, **change}, "default")
    assert set(fields) <= {problem.field for problem in bad.value.problems}
    assert "sk-live-123" not in str(bad.value)


@pytest.mark.promise("tenant.record_bad_fields")
@each_row(
    "change",
    {"header": "X-Key"},
    {"token_url": ""},
    {"client_id": ""},
    {"token_url": "ftp://t"},
    {"token_url": "https://user:pw@t/x"},
    {"client_auth": "jwt"},
    {"type": "basic"},
    {"type": "header", "token_url": "https://t", "header": "X-Key"},
    {"type": "header", "header": ""},
    {"type": "header", "header": "Host"},
    {"type": "header", "header": "Mcp-Session-Id"},
    {"type": "header", "header": "X: y"},
    {"from": "env:"},
    {"from": "file:../globex/erp"},
)
def test_a_credential_with_too_much_or_too_little_is_refused(change: JsonObject) -> None:
    wrong = {**OAUTH, **change}
    if change.get("type") == "header":
        wrong = {name: wrong[name] for name in ("type", "from", *change)}
    with pytest.raises(BadRecord, match=r"connections\.0\.credential"):
        parse_record_of_tenant({**RECORD, "connections": [{**ERP, "credential": wrong}]}, "default")


@pytest.mark.promise("tenant.record_bad_fields")
def test_what_the_tools_command_writes_may_stand_in_a_record() -> None:
    """Its notes about each tool decide nothing."""
    catalogue: JsonObject = {"pay": {"tool_class": "change", "found": {"class": "change"}}}
    record = parse_record_of_tenant({**RECORD, "connections": [{**ERP, "catalogue": catalogue}]}, "default")
    oauth = parse_record_of_tenant({**RECORD, "connections": [{**ERP, "credential": OAUTH}]}, "default")
    assert record.connections[0].catalogue["pay"].tool_class == "change"
    assert oauth.connections[0].author_tenant == "default"
    assert "author_tenant" not in oauth.connections[0].model_dump()


_LADDER = tuple(LadderRung(level=level) for level in ("manager", "finance", "cfo"))


@pytest.mark.promise("approvals.escalation")
@each_row(
    ("level", "later"),
    (None, ["manager", "finance", "cfo"]),
    ("manager", ["finance", "cfo"]),
    ("hr", ["finance", "cfo"]),
    ("cfo", []),
    ("ciso", []),
)
def test_only_higher_levels_come_after_one(level: str | None, later: list[str]) -> None:
    assert [rung.level for rung in list_rungs_above(_LADDER, level)] == later


def test_a_level_that_is_no_rung_has_none() -> None:
    assert (
        find_rung_of_level(_LADDER, "finance"),
        find_rung_of_level(_LADDER, "hr"),
        find_rung_of_level(_LADDER, None),
    ) == (_LADDER[1], None, None)


@pytest.mark.promise("approvals.escalation")
@each_row(
    "ladder",
    [{"level": "cfo"}, {"level": "manager"}],
    [{"level": "manager"}, {"level": "Manager"}],
    [{"level": "king"}],
    [{"level": "manager", "hours": 0}],
    [{"level": "manager", "hours": 90_000_000}],
    [{"level": "manager", "approvers": 0}],
)
def test_a_ladder_that_leads_nowhere_is_refused(ladder: list[JsonObject]) -> None:
    with pytest.raises(ValidationError):
        TenantRecord.model_validate({"id": "acme", "approval_ladder": ladder})


@pytest.mark.promise("approvals.notices_walls")
@each_row("field", ["url", "secret"])
def test_a_tenants_operator_is_told_at_once_of_a_reference_that_is_not_the_tenants(field: str) -> None:
    target: JsonObject = {"url": "https://hooks.example/x", field: "env:TOOL_CREDENTIAL__OTHER__X"}
    own: JsonObject = {**target, field: "env:TOOL_CREDENTIAL__ACME__X"}
    assert parse_record_of_tenant({"id": "acme", "notices": [own]}, "acme").notices
    with pytest.raises(BadRecord, match=f"notices.0.{field}: a variable of this tenant begins with"):
        parse_record_of_tenant({"id": "acme", "notices": [target]}, "acme")


@pytest.mark.promise("approvals.escalation")
@each_row(
    "document",
    [{"approval_ladder": [{"level": "manager", "hour": 8}]}, {"notices": [{"url": "https://x", "event": []}]}],
)
def test_a_misspelt_field_is_refused(document: JsonObject) -> None:
    with pytest.raises(BadRecord, match="nobody reads this field"):
        parse_record_of_tenant({"id": "acme", **document}, "acme")


@pytest.mark.promise("approvals.notices_walls")
@each_row("url", ["", "ftp://x", "file:///etc/passwd", "env:", "env:A B", "hooks.example"])
def test_a_notice_target_is_a_url_or_a_variable(url: str) -> None:
    with pytest.raises(ValidationError):
        TenantRecord.model_validate({"id": "acme", "notices": [{"url": url}]})


@pytest.mark.promise("tenant.record_bad_fields")
def test_no_record_takes_long_to_read_however_many_entries_it_has() -> None:
    policies: list[Json] = [{"id": str(number), "name": 1} for number in range(30_000)]
    began = time.process_time()
    with pytest.raises(BadRecord):
        parse_record_of_tenant({**RECORD, "prose_policies": policies}, "default")
    assert time.process_time() - began < 3
