"""What is wrong with a tenant's record that an operator stores: all of it is named at once."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from services.gateway.edge.errors import Unavailable
from services.gateway.features.identity.model import Caller
from services.gateway.features.records import PolicyCheck, TenantRecordService
from shared.contracts.policy import Policy
from shared.contracts.task import Principal
from shared.contracts.tenant_document import BadRecord, FieldProblem, TenantVersion
from shared.domain.exact_json import JsonObject
from shared.domain.outgoing import addresses_for_operators
from shared.infra.tenant_records import RedisTenantRecords

BAD: JsonObject = {
    "max_runing": 3,
    "policies": [{"id": "p", "rules": [{"id": "R", "condition": "a and b", "action": "block"}]}],
}
OLGA = Caller("acme", Principal(id="olga", verified=True))


async def _judged(policies: Sequence[Policy]) -> tuple[FieldProblem, ...]:
    return tuple(FieldProblem(f"policies.{one.id}", "no such word: and") for one in policies)


async def _away(_: Sequence[Policy]) -> tuple[FieldProblem, ...]:
    raise Unavailable("it is away")


class _NeverStored(RedisTenantRecords):
    def __init__(self) -> None: ...

    async def add_version(self, tenant: str, version: TenantVersion) -> None:
        raise AssertionError("a bad record was stored")

    async def get_latest_number(self, tenant: str) -> int:
        return 0

    async def get_version(self, tenant: str, number: int) -> TenantVersion | None:
        return None

    async def list_versions(self, tenant: str) -> Sequence[TenantVersion]:
        return ()


async def _problems(judge: PolicyCheck, document: JsonObject) -> list[str]:
    reach = addresses_for_operators(())
    service = TenantRecordService(_NeverStored(), judge, reach, reach, lambda: datetime.now(UTC))
    with pytest.raises(BadRecord) as refused:
        await service.store_record("acme", document, 0, "", OLGA)
    return [one.field for one in refused.value.problems]


@pytest.mark.promise("tenant.record_bad_fields")
async def test_bad_fields_are_named_with_rules_that_cannot_be_understood_or_that_nobody_can_judge() -> None:
    assert await _problems(_judged, BAD) == ["max_runing", "policies.p"]
    assert await _problems(_away, BAD) == ["max_runing"]
    with pytest.raises(Unavailable):
        await _problems(_away, {"policies": BAD["policies"]})
