"""Lists in parts: whatever their shape, page size, cap and length, exactly the rows, once each; or what is missing."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from services.executor.core.tools.listing import ListBounds, PagedListing, open_paged_list
from services.executor.core.tools.paging import read_list_page
from services.executor.core.tools.toolbox import find_argument_problems
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.doubles.paged_lists import SHAPES, PagedList
from tests.each_row import each_row

WIDE = ListBounds(pages=100_000, rows=100_000, size=100_000_000)
PLACES: JsonObject = {"page": 1, "offset": 0, "cursor": ""}


def reader(schema: JsonObject, name: str = "list_things") -> Tool:
    return Tool("a", name, "", schema, ToolClass.READ, "test", CatalogueEntry())


def things(count: int) -> list[Json]:
    return [{"id": f"T-{number}", "amount": number} for number in range(count)]


def whole(
    answers: Callable[[JsonObject], Json], schema: JsonObject, asked: JsonObject, bounds: ListBounds = WIDE
) -> tuple[Json, PagedListing | None]:
    """Every call that the listing asks for, made; the merged answer."""
    tool = reader(schema)
    first = answers(asked)
    found = open_paged_list(tool, asked, first, bounds)
    while found is not None and found.following is not None:
        assert find_argument_problems(found.following, tool) is None
        found.add_answer(answers(found.following))
    return (found.merge_rows(first) if found else first), found


def rows_of(content: Json) -> list[Json]:
    page = read_list_page(content)
    assert page is not None
    return page.rows


def asked_size(paged: PagedList, size: int | None) -> JsonObject:
    """The first page of a size, as callers ask for it: with the place of the first row, where the shape has one."""
    if size is None:
        return {}
    start = {name: value for name, value in PLACES.items() if name in paged.shape.parameters and name != "cursor"}
    return {**start, "limit": size}


@pytest.mark.long
@pytest.mark.promise("pages.exactly")
@pytest.mark.parametrize("shape", sorted(SHAPES))
@settings(max_examples=20)
@given(data=st.data())
def test_of_every_shape_and_many_more_sizes_come_exactly_the_rows(shape: str, data: st.DataObject) -> None:
    _come_right(shape, data, 5_000)


def _come_right(shape: str, data: st.DataObject, pages: int) -> None:
    size, cap = data.draw(st.integers(1, 300), "size"), data.draw(st.integers(1, 300), "cap")
    total = data.draw(st.integers(0, min(pages * min(size, cap), 5_000)), "total")
    paged = PagedList(things(total), shape, size, cap)
    from_zero = shape == "page_from_zero"
    asked = data.draw(st.none() | st.integers(1, 500), "asked")
    content, found = whole(paged, paged.schema, {} if from_zero else asked_size(paged, asked))
    assert rows_of(content) == paged.rows
    assert found is None or found.why_partial == ""


@pytest.mark.promise("pages.exactly")
@each_row("shape", sorted(SHAPES))
@each_row("total", [0, 1, 49, 50, 51, 287, 300, 1_000])
def test_the_pages_that_the_original_lost_or_doubled_come_right(shape: str, total: int) -> None:
    """A cap of 50 where 100 are asked for, a last page that is exactly full, a count of the page's own rows."""
    paged = PagedList(things(total), shape, 100, 50)
    asked = {} if shape == "page_from_zero" else asked_size(paged, 100)
    content, _ = whole(paged, paged.schema, asked)
    assert rows_of(content) == paged.rows
    assert paged.answers <= -(-total // 50) + 2


@pytest.mark.promise("pages.exactly")
@each_row("shape", ["page_total", "offset_total", "offset_has_more", "page_alone", "link"])
def test_rows_put_in_front_while_a_list_is_read_double_none_of_it(shape: str) -> None:
    paged = PagedList(things(30), shape, 10, 10)
    before = list(paged.rows)
    paged.on_page = lambda answers: paged.rows.insert(0, {"id": f"new-{answers}", "amount": 0}) if answers else None
    content, _ = whole(paged, paged.schema, {})
    ids = [row["id"] for row in rows_of(content) if isinstance(row, dict)]
    assert len(ids) == len(set(ids))
    assert [row for row in rows_of(content) if row in before] == before


@pytest.mark.promise("pages.says_what_is_missing")
def test_rows_taken_away_while_a_list_is_read_are_said() -> None:
    paged = PagedList(things(30), "offset_total", 10, 10)

    def shrink(answers: int) -> None:
        if answers == 1:
            paged.rows.pop(0)

    paged.on_page = shrink
    _, found = whole(paged, paged.schema, {})
    assert found is not None
    assert "changed while it was read" in found.why_partial


@pytest.mark.promise("pages.says_what_is_missing")
@each_row(
    ("bounds", "rows", "named"),
    (ListBounds(pages=3), 30, "LIST_PAGES"),
    (ListBounds(rows=25), 30, "LIST_ROWS"),
    (ListBounds(size=500), 20, "LIST_BYTES"),
    (ListBounds(pages=10), 100, ""),
    (ListBounds(rows=100), 100, ""),
)
@each_row("shape", ["page_total", "offset_has_more", "cursor", "next_page"])
def test_a_ceiling_is_said_and_the_answer_goes_on_saying_that_there_is_more(
    shape: str, bounds: ListBounds, rows: int, named: str
) -> None:
    paged = PagedList(things(100), shape, 10, 10)
    content, found = whole(paged, paged.schema, {}, bounds)
    assert found is not None
    assert (len(rows_of(content)) >= rows, named in found.why_partial) == (True, True)
    assert (found.why_partial == "") is (named == "")
    said = found.summary
    assert said.startswith("NOT all rows") if named else said == "All 100 rows, from 10 pages."
    page = read_list_page(content)
    assert page is not None
    if shape == "offset_has_more":
        assert page.has_more is bool(named)
    if shape == "cursor":
        assert (page.next_hint is not None) is bool(named)


@pytest.mark.promise("pages.says_what_is_missing")
@each_row(
    ("answer", "schema"),
    ({"items": [{"id": 1}], "has_more": True}, {"type": "object", "properties": {}}),
    ({"items": [{"id": 1}], "next_cursor": "x"}, {"type": "object", "properties": {}}),
    ({"items": [{"id": 1}], "next": "/things?cursor=x"}, {"type": "object", "properties": {}}),
)
def test_a_tool_that_cannot_be_asked_for_more_has_that_said(answer: JsonObject, schema: JsonObject) -> None:
    content, found = whole(lambda _: answer, schema, {})
    assert content == answer
    assert found is not None
    assert found.why_partial


@pytest.mark.promise("pages.says_what_is_missing")
def test_a_server_that_names_new_places_for_ever_is_left_and_that_is_said() -> None:
    calls: list[JsonObject] = []

    def answers(given: JsonObject) -> Json:
        calls.append(given)
        return {"items": [{"id": 1}], "next_cursor": f"c{len(calls)}"}

    content, found = whole(answers, PagedList([], "cursor", 1, 1).schema, {})
    assert (rows_of(content), len(calls)) == ([{"id": 1}], 4)
    assert found is not None
    assert "nothing new" in found.why_partial


@pytest.mark.promise("pages.exactly")
@each_row("shape", ["page_total", "page_of_asked_size", "offset_total", "cursor", "next_page", "link"])
def test_rows_that_look_alike_are_all_kept(shape: str) -> None:
    """Without an identifier nothing tells two equal amounts apart: they count twice, as they should."""
    rows: list[Json] = [{"amount": number % 7} for number in range(65)]
    paged = PagedList(rows, shape, 10, 10)
    content, found = whole(paged, paged.schema, {})
    assert rows_of(content) == rows
    assert found is not None
    assert found.why_partial == ""


@pytest.mark.promise("pages.says_what_is_missing")
@each_row("shape", ["offset_alone", "page_has_more", "page_alone", "offset_total"])
def test_a_page_that_comes_twice_without_identifiers_is_no_end_without_a_word(shape: str) -> None:
    """All amounts are the same: whether page 2 is page 1 again, nobody can know unless the server says its place."""
    paged = PagedList([{"amount": 5} for _ in range(45)], shape, 10, 10)
    content, found = whole(paged, paged.schema, {})
    assert found is not None
    assert found.why_partial or rows_of(content) == paged.rows


@each_row(
    ("asked", "shape"), [({"page": 3}, "page_total"), ({"offset": 20}, "offset_total"), ({"cursor": "at-20"}, "cursor")]
)
def test_a_part_that_was_asked_for_is_all_that_is_read(asked: JsonObject, shape: str) -> None:
    paged = PagedList(things(50), shape, 10, 10)
    content, found = whole(paged, paged.schema, asked)
    assert (found, paged.answers, rows_of(content)) == (None, 1, things(50)[20:30])


@each_row(
    "answer",
    {"order": {"id": "O-1", "items": [{"sku": "a"}, {"sku": "b"}], "total": 120}},
    {"id": "O-1", "lines": [{"sku": "a"}], "total": 99, "count": 12},
    {"found": False, "error": "no such order"},
    [],
    "text",
)
def test_a_record_is_no_page(answer: Json) -> None:
    schema: JsonObject = {"type": "object", "properties": {"order_id": {"type": "string"}}}
    assert whole(lambda _: answer, schema, {}) == (answer, None)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.just("/x?page=2&cursor=%zz"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from("items next page total has_more cursor links meta count".split()), inner)
        ),
        max_leaves=12,
    ),
    st.sampled_from(sorted(SHAPES)),
)
def test_no_answer_is_too_odd_to_be_read_to_an_end(answer: Json, shape: str) -> None:
    """The same odd answer to every call: the reading ends within a few."""
    calls: list[JsonObject] = []

    def answers(given: JsonObject) -> Json:
        calls.append(given)
        return answer

    tool = reader(PagedList([], shape, 1, 1).schema)
    found = open_paged_list(tool, {}, answers({}), WIDE)
    while found is not None and found.following is not None:
        found.add_answer(answers(found.following))
    assert len(calls) < 10
