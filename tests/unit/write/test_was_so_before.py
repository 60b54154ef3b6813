"""Whether what was read before a call already shows all that it sets: it was so, or the call was made before."""

import pytest

from services.executor.core.write.settling import was_so_before
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import ToolClass, WriteStatus
from tests.each_row import each_row

pytestmark = pytest.mark.promise("redis.tail_lost")


def _entry(tool: str, arguments: JsonObject, expect: JsonObject, before: Json) -> LedgerEntry:
    read_back = ReadBack(tool="get_it", arguments_json=dumps({"id": "E-1"}), expect_json=dumps(expect))
    call = PlannedCall(
        call_id="c1",
        connection_id="co",
        tool=tool,
        tool_class=ToolClass.CHANGE,
        arguments_json=dumps(arguments),
        read_back=read_back,
    )
    return LedgerEntry(
        key="t:h:c1",
        call=call,
        arguments_json=dumps(arguments),
        plan_hash="h",
        status=WriteStatus.SENDING,
        before_json=dumps(before),
    )


_APPROVE: tuple[str, JsonObject, JsonObject] = ("approve_expense", {"expense_id": "E-1"}, {"status": "approved"})
_PLAINLY: tuple[str, JsonObject, JsonObject] = ("approve_expense", {"expense_id": "E-1"}, {})
_BOOK: tuple[str, JsonObject, JsonObject] = ("book_room", {"room": "R-9", "day": "2026-04-02"}, {})


@each_row(
    ("call", "before", "shown"),
    [
        (_APPROVE, {"expense_id": "E-1", "status": "pending"}, False),
        (_APPROVE, {"expense_id": "E-1", "status": "approved"}, True),
        (_APPROVE, None, False),
        (_PLAINLY, {"expense_id": "E-1", "status": "pending"}, False),
        (_PLAINLY, {"expense_id": "E-1", "status": "approved"}, True),
        (_BOOK, [], False),
        (_BOOK, [{"booking_id": "B-1", "room": "R-9", "day": "2026-04-02"}], True),
        (_BOOK, [{"booking_id": "B-1", "room": "R-9", "day": "2026-04-09"}], False),
    ],
)
def test_only_a_record_that_has_all_of_it_shows_it(
    call: tuple[str, JsonObject, JsonObject], before: Json, shown: bool
) -> None:
    assert was_so_before(_entry(*call, before)) is shown
