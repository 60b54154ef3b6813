"""Lists that come in parts: the planner asks for what follows, and plans nothing on half of a list."""

import pytest

from services.planner.core.pages import next_parts, read_in_part
from services.planner.core.records import ToolFact
from services.planner.core.request import ToolSpec
from shared.domain.exact_json import Json, JsonObject
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_ROWS: list[Json] = [{"id": f"KIT-{number}", "state": "open"} for number in range(1, 4)]


def _lister(*places: str) -> ToolSpec:
    properties: dict[str, JsonObject] = {name: {"type": "integer"} for name in places}
    return ToolSpec("list_kites", "", properties, ())


@pytest.mark.promise("planner.reads_all_parts")
@pytest.mark.parametrize(
    ("around", "places", "arguments", "further"),
    [
        ({"page": 1, "limit": 3, "total": 7}, ("page", "limit"), {}, {"page": 2}),
        ({"page": 2, "per_page": 3, "total_pages": 3}, ("page", "per_page"), {"page": 2}, {"page": 3}),
        ({"offset": 3, "limit": 3, "has_more": True}, ("offset", "limit"), {"offset": 3}, {"offset": 6}),
        ({"hasMore": True}, ("skip",), {"state": "open"}, {"state": "open", "skip": 3}),
        ({"total": 9}, ("offset",), {}, {"offset": 3}),
        ({"next_cursor": "abc"}, ("cursor", "limit"), {}, {"cursor": "abc"}),
        ({"nextPageToken": "t"}, ("pageToken",), {}, {"pageToken": "t"}),
    ],
)
def test_what_follows_a_part_is_asked_for_in_the_tools_own_way(
    around: JsonObject, places: tuple[str, ...], arguments: JsonObject, further: JsonObject
) -> None:
    """By page and total, by offset and whether there is more, or by an opaque mark; the criteria stay."""
    part = ToolFact("f1", "list_kites", arguments, {"items": _ROWS, **around})
    assert [given for _, given in next_parts([part], [_lister(*places)])] == [further]
    assert read_in_part((part,)) == ("list_kites",)


@pytest.mark.promise("planner.reads_all_parts")
@pytest.mark.parametrize(
    "around",
    [
        {"page": 3, "limit": 3, "total": 9},
        {"has_more": False, "offset": 0},
        {"next_cursor": None},
        {"count": 3},
        {},
    ],
)
def test_a_list_at_its_end_is_not_asked_for_more(around: JsonObject) -> None:
    """The last part, and a list that is whole."""
    part = ToolFact("f1", "list_kites", {}, {"items": _ROWS, **around})
    assert not [*next_parts([part], [_lister("page", "offset", "cursor")])]
    assert read_in_part((part,)) == ()


@pytest.mark.promise("planner.reads_all_parts")
def test_every_one_of_a_list_that_was_not_read_to_its_end_is_not_planned() -> None:
    """``every`` means the whole list: with a part of it, nothing is written and the reason is said."""
    approve: Json = tool("approve_kite", kite_id="string")
    seen: JsonObject = {"items": _ROWS, "next_cursor": "abc"}
    plan = planned("Approve every open kite.", [fact("f1", "list_kites", {}, seen)], [approve])
    assert calls(plan) == []
    assert "not read to its end" in plan.text
    whole = fact("f2", "list_kites", {"cursor": "abc"}, {"items": [], "next_cursor": None})
    assert len(calls(planned("Approve every open kite.", [fact("f1", "list_kites", {}, seen), whole], [approve]))) == 3
