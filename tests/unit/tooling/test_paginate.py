"""Lists in parts: whatever their shape, page size, cap and length, exactly the rows, once each; or what is missing."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.core.tooling.paginate import page_in
from services.executor.core.tooling.paginate_walk import ListBounds, Listing, listing
from services.executor.core.tooling.validate import problems_with
from services.executor.ports import Tool
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from shared.testing.paged_lists import SHAPES, PagedList

WIDE = ListBounds(pages=100_000, rows=100_000, size=100_000_000)
PLACES: JsonObject = {"page": 1, "offset": 0, "cursor": ""}


def reader(schema: JsonObject, name: str = "list_things") -> Tool:
    return Tool("a", name, "", schema, ToolClass.READ, "test", CatalogueEntry())


def things(count: int) -> list[Json]:
    return [{"id": f"T-{number}", "amount": number} for number in range(count)]


def whole(
    answers: Callable[[JsonObject], Json], schema: JsonObject, asked: JsonObject, bounds: ListBounds = WIDE
) -> tuple[Json, Listing | None]:
    """Every call that the listing asks for, made; the merged answer."""
    tool = reader(schema)
    first = answers(asked)
    found = listing(tool, asked, first, bounds)
    while found is not None and found.following is not None:
        assert problems_with(found.following, tool) is None
        found.add(answers(found.following))
    return (found.merged(first) if found else first), found


def rows_of(content: Json) -> list[Json]:
    page = page_in(content)
    assert page is not None
    return page.rows


def asked_size(paged: PagedList, size: int | None) -> JsonObject:
    """The first page of a size, as callers ask for it: with the place of the first row, where the shape has one."""
    if size is None:
        return {}
    start = {name: value for name, value in PLACES.items() if name in paged.shape.parameters and name != "cursor"}
    return {**start, "limit": size}


@pytest.mark.promise("pages.exactly")
@pytest.mark.parametrize("shape", sorted(SHAPES))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_of_every_shape_come_exactly_the_rows_once_each(shape: str, data: st.DataObject) -> None:
    _come_right(shape, data, 12)


@pytest.mark.long
@pytest.mark.promise("pages.exactly")
@pytest.mark.parametrize("shape", sorted(SHAPES))
@settings(max_examples=300, deadline=None)
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
@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("total", [0, 1, 49, 50, 51, 287, 300, 5_000])
def test_the_pages_that_the_original_lost_or_doubled_come_right(shape: str, total: int) -> None:
    """A cap of 50 where 100 are asked for, a last page that is exactly full, a count of the page's own rows."""
    paged = PagedList(things(total), shape, 100, 50)
    asked = {} if shape == "page_from_zero" else asked_size(paged, 100)
    content, _ = whole(paged, paged.schema, asked)
    assert rows_of(content) == paged.rows
    assert paged.answers <= -(-total // 50) + 2
