"""`purple task show` as a person reads it."""

from cli.console import out
from cli.task import say_task
from shared.domain.exact_json import Json, JsonObject

PARTS: Json = [{"id": f"P-{number}", "name": "brake pad set", "stock": 3} for number in range(51, 57)]


def _shown(after: Json) -> list[str]:
    doubt: JsonObject = {
        "call_id": "c1",
        "tool": "order_part",
        "arguments": {"part_id": "P-51", "quantity": 5},
        "status": "in_doubt",
        "sent": "2026-11-27T13:40:00Z",
        "before": PARTS,
        "after": after,
    }
    with out.capture() as written:
        say_task({"task_id": "T1", "state": "input-required", "metadata": {"doubts": [doubt]}})
    return written.get().splitlines()


def test_a_doubt_is_a_block_with_one_row_of_a_list_a_line() -> None:
    """Both reads, whole; one that shows the same as before is not printed twice."""
    changed = _shown([{"id": "P-51", "stock": 8}])
    row = '    {"id":"P-51","name":"brake pad set","stock":3}'
    assert 'In doubt: c1 order_part {"part_id":"P-51","quantity":5}: in_doubt' in changed
    assert [line for line in changed if "P-51" in line][1:] == [row, '    {"id":"P-51","stock":8}']
    same = _shown(PARTS)
    assert "  read before and after it:" in same
    assert same.count(row) == 1
    assert _shown({"parts": PARTS}).count(row) == 2
    assert "  read after it: nothing could be read" in _shown(None)
