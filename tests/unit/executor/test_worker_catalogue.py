"""The read that the operator's catalogue names proves a write, also where none fits by its words."""

import pytest

from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import JsonObject
from shared.domain.words import TaskState
from tests.unit.executor.stage import Stage


@pytest.mark.promise("tools.catalogue_pairs")
@pytest.mark.parametrize(("named", "status"), [("fetch_dossier", "verified"), (None, "unverified")])
async def test_a_write_whose_proof_nobody_could_guess_is_proved_as_the_catalogue_says(
    named: str | None, status: str
) -> None:
    stage = Stage()
    stage.cannot_read()
    about: JsonObject = {"type": "object", "properties": {"claim_id": {"type": "string"}, "depth": {"type": "integer"}}}
    stage.servers.add("fetch_dossier", stage.claims.get, input_schema=about)
    (connection,) = stage.tenants.record.connections
    catalogue = {"approve_claim": CatalogueEntry(read_back=named)}
    connection = connection.model_copy(update={"catalogue": catalogue})
    stage.tenants.record = stage.tenants.record.model_copy(update={"connections": (connection,)})

    record = await stage.run()

    assert (record.state, stage.statuses) == (TaskState.COMPLETED, [status])
