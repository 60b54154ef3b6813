"""What the audit export says of a write, what it does not, and how it is read from the archive."""

import hashlib
import json
from datetime import UTC, datetime

import pytest
from typing_extensions import override

from services.gateway.features.audit import ArchivedTaskReader, build_audit_rows, build_rows_from_record
from shared.contracts.archive import ArchivedTask
from shared.contracts.grounds import FigureGround, Grounds
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import ArgumentOrigin, ReadBack, WritePlan
from shared.contracts.task import TaskRecord, TaskRequest
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.words import WriteStatus
from shared.ports.archive import Archive
from tests.doubles.redis_tasks import a_record
from tests.unit.executor_core.makers import approval, call, entry

_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
_CARD = "4111111111111111"
_GIVEN: JsonObject = {"card": _CARD, "password": "hunter2-and-more", "amount": "12.50"}


def _record(**metadata: object) -> TaskRecord:
    asked = TaskRequest(text=f"Pay with {_CARD}, password: hunter2-and-more")
    return a_record("s1", "t1").model_copy(update={"request": asked, "metadata": metadata})


def _entry(number: int = 1, sent: datetime | None = _NOW) -> LedgerEntry:
    read_back = ReadBack(tool="get_payment", arguments_json="{}")
    pay = call(_GIVEN, f"c{number}", tool="pay", read_back=read_back)
    proof = {"proof_json": dumps({"card": _CARD, "status": "paid"}), "note": f"the read-back shows card {_CARD}"}
    return entry(WriteStatus.VERIFIED, of=pay).model_copy(update={"sending_at": sent, **proof})


@pytest.mark.promise("audit.masked")
def test_what_the_guard_marks_is_masked_and_its_digest_is_exact() -> None:
    task = ArchivedTask(record=_record(), ledger={"k1": _entry()})
    (row,) = build_audit_rows(task, "store")
    told = json.dumps(row, default=str)
    assert _CARD not in told
    assert "hunter2" not in told
    assert row["arguments_sha256"] == hashlib.sha256(dumps(_GIVEN).encode()).hexdigest()
    assert isinstance(row["arguments"], dict)
    assert row["arguments"]["amount"] == "12.50"


@pytest.mark.promise("audit.masked", "audit.kept")
def test_of_a_record_alone_no_more_is_told_and_a_task_without_writes_has_no_row() -> None:
    write = {"call_id": "c1", "tool": "pay", "arguments": {"card": _CARD}, "status": "verified", "note": _CARD}
    (row,) = build_rows_from_record(_record(writes=[write], approval="approved by dana"))
    assert _CARD not in json.dumps(row, default=str)
    assert (row["tool"], row["allowed_by"], row["kept_in"]) == ("pay", "approved by dana", "record")
    assert build_audit_rows(ArchivedTask(record=_record()), "store") == []
    assert build_rows_from_record(_record()) == []


@pytest.mark.promise("audit.export")
def test_writes_stand_in_the_order_of_their_sending_and_the_workers_own_words_are_told_as_that() -> None:
    later = _NOW.replace(hour=13)
    ledger = {"k3": _entry(3, None), "k2": _entry(2, later), "k1": _entry(1)}
    rows = build_audit_rows(ArchivedTask(record=_record(), ledger=ledger), "store")
    assert [row["call_id"] for row in rows] == ["c1", "c2", "c3"]
    write = _entry()
    own = write.call.model_copy(update={"origins": (ArgumentOrigin(argument="note", source="none"),)})
    (row,) = build_audit_rows(
        ArchivedTask(record=_record(), ledger={"k1": write.model_copy(update={"call": own})}), "store"
    )
    assert row["provenance"] == [{"argument": "note", "source": "words", "ref": ""}]


@pytest.mark.promise("audit.export")
def test_figures_are_told_with_their_origin_where_a_person_was_shown_them() -> None:
    """Else by their values, as the record has them."""
    figure = FigureGround(name="net", value="12.50", operation="subtract", operands=("f1.gross", "task 7"))
    asked = approval(WritePlan(task_id="t1"), plan_hash="w", grounds=Grounds(figures=(figure,)))
    record = _record(values={"net": "12.50"})
    (shown,) = build_audit_rows(ArchivedTask(record=record, ledger={"k1": _entry()}, approvals=(asked,)), "store")
    (plain,) = build_audit_rows(ArchivedTask(record=record, ledger={"k1": _entry()}), "store")
    assert shown["figures"] == [
        {"name": "net", "value": "12.50", "operation": "subtract", "operands": ["f1.gross", "task 7"]}
    ]
    assert plain["figures"] == [{"name": "net", "value": "12.50"}]


class CountedArchive(Archive):
    """``listings``: of which tenants it was asked for all names."""

    def __init__(self) -> None:
        self.listings: list[str] = []

    @override
    async def put(self, tenant: str, task_id: str, content: bytes) -> None:
        raise NotImplementedError

    @override
    async def get(self, tenant: str, task_id: str) -> bytes | None:
        return None

    @override
    async def list(self, tenant: str) -> tuple[str, ...]:
        self.listings.append(tenant)
        return (f"{tenant}-1", f"{tenant}-2")

    @override
    async def delete(self, tenant: str, task_id: str) -> bool:
        raise NotImplementedError


@pytest.mark.promise("audit.one_listing")
async def test_the_pages_of_an_export_share_one_listing_of_their_tenant() -> None:
    archive = CountedArchive()
    audit = ArchivedTaskReader(archive)
    named = [list(await audit.list_task_ids(tenant)) for tenant in ("acme", "acme", "globex", "acme")]
    assert archive.listings == ["acme", "globex"]
    assert named == [["acme-1", "acme-2"], ["acme-1", "acme-2"], ["globex-1", "globex-2"], ["acme-1", "acme-2"]]
