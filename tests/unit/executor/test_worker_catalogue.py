"""The read that the operator's catalogue names proves a write, also where the model proposes none."""

import pytest

from shared.contracts.tenant import CatalogueEntry
from shared.domain.words import TaskState
from tests.doubles.scripted_model import json_reply
from tests.unit.executor.stage import CALL, Stage


@pytest.mark.promise("tools.catalogue_pairs")
@pytest.mark.parametrize(("named", "status"), [("get_claim", "verified"), (None, "unverified")])
async def test_a_write_without_a_proposed_proof_is_proved_as_the_catalogue_says(named: str | None, status: str) -> None:
    stage = Stage()
    stage.scripts["write_plan"] = json_reply({"calls": [{**CALL, "read_back": None}], "why_none": None})
    (connection,) = stage.tenants.record.connections
    catalogue = {"approve_claim": CatalogueEntry(read_back=named)}
    connection = connection.model_copy(update={"catalogue": catalogue})
    stage.tenants.record = stage.tenants.record.model_copy(update={"connections": (connection,)})

    record = await stage.run()

    assert (record.state, stage.statuses) == (TaskState.COMPLETED, [status])
