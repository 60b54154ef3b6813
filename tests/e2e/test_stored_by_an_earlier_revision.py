"""What revision 9c12d1f stored is opened by this one: an approval that waits, open turns, an archive.

Revision 9c12d1f thought in a call of the model for each state; what it had frozen is carried out, and what it
had not is begun anew. The files stand in ``tests/golden``; the deadline of the approval is moved by a hundred years.
"""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest

from examples.company import ledger
from examples.company.books import CompanyBooks
from examples.company.seed import fill_books
from shared.domain.exact_json import JsonObject, dumps
from shared.infra.embedded_redis import EmbeddedRedis
from shared.infra.redis import connect
from tests.company_stage import NOON
from tests.e2e.commands import purple
from tests.e2e.whole_stack import whole_stack
from tests.golden.stored_state import load

_STORED = Path(__file__).parents[1] / "golden" / "revision_9c12d1f"
_WAITS = "f9af052b-cfcd-443e-a2e9-207b691f2d72"  # for a manager's word on EXP-1001
_BEGUN = "b819b423-384f-497d-890e-5d4bcbfba2a7"  # its executor was killed while the model thought about EXP-1003
_WRITING = "d2e07f8e-33d9-4401-894b-e5b1acfbf419"  # it was killed after the call that approves EXP-1009
_ENDED = "db165832-353b-4b22-b6b4-9ddbdca4dac7"
_ALSO_ENDED = "8ffe1763-d2a2-4640-9a19-6bc8a2128b60"
_MANAGER: JsonObject = {"id": "dana", "roles": ["approver"], "levels": ["manager"]}


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.promise("upgrade.opened")
async def test_what_an_earlier_revision_stored_is_opened_and_brought_to_its_end() -> None:
    with tempfile.TemporaryDirectory(prefix="pa-") as kept:
        await _go_back_to(Path(kept))
        async with whole_stack(folder=Path(kept)) as stack:
            for task in (_BEGUN, _WRITING):
                await stack.event(task, "turn_finished")
            begun, writing = await stack.record(_BEGUN), await stack.record(_WRITING)
            asked_again = await stack.send("approve", _WAITS, principal=_MANAGER)
            approved = await stack.send("approve", _WAITS, principal=_MANAGER)
            written = [write.arguments["expense_id"] for write in ledger.writes(stack.database)]
        replayed = [await purple("replay", task, "--dir", kept) for task in (_ENDED, _ALSO_ENDED)]
    assert begun.state == "completed"
    assert "no answer came, but the read-back shows it" in str(writing.answer)
    assert "the inputs or the rules changed since the plan was approved" in dumps(asked_again["status"])
    assert cast(JsonObject, approved["status"])["state"] == "completed"
    assert written == ["EXP-1003", "EXP-1001"]  # each once; EXP-1009 by the revision before
    assert ["First difference at 1.DECOMPOSE" in one.out + one.err for one in replayed] == [True, True], replayed


async def _go_back_to(folder: Path) -> None:
    """The folder of a stack as revision 9c12d1f left it: Redis, the archive, and a company that took its last call."""
    (folder / "redis").mkdir()
    with EmbeddedRedis(folder / "redis") as server:
        redis = connect(server.url)
        assert await load(redis, (_STORED / "redis.jsonl.gz").read_bytes()) > 0
        await redis.aclose()
    shutil.copytree(_STORED / "archive", folder / "archive" / "tenant=default")
    shutil.copy(_STORED / "archive.key", folder / "archive.key")
    with closing(CompanyBooks(folder / "company.sqlite3", lambda: NOON)) as books:
        fill_books(books)
    with closing(sqlite3.connect(folder / "company.sqlite3")) as database, database:
        database.execute("UPDATE expenses SET status = 'approved' WHERE id = 'EXP-1009'")
