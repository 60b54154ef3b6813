"""Each demand of the protocols is asked in every cell, or the page says why not there."""

import pytest

from tests.conformance.demands import DEMANDS, GAPS, OTHER_DEMANDS, SPOKEN, Demand
from tests.conformance.matrix import COLUMNS, PAGE, cells_of, exists, page

_IDS = [f"{demand.version} {demand.section}: {demand.words[:40]}" for demand in DEMANDS]


@pytest.mark.promise("gateway.conformance_table")
@pytest.mark.parametrize("demand", DEMANDS, ids=_IDS)
def test_a_demand_is_asked_in_every_cell_or_says_why_not(demand: Demand) -> None:
    assert demand.level in ("MUST", "SHOULD")
    missing = [cell.name for cell in COLUMNS[demand.version] if cell not in cells_of(demand)]
    assert bool(missing) == (demand.gap in GAPS), missing


@pytest.mark.promise("gateway.conformance_table")
@pytest.mark.parametrize("demand", DEMANDS, ids=_IDS)
def test_over_each_binding_somebody_asks_what_is_a_matter_of_both(demand: Demand) -> None:
    asked = len({cell.binding for cell in cells_of(demand)})
    assert asked == {"k": 0, "l": 0, "b": 1}.get(demand.gap, 2) or demand.gap == "k"


@pytest.mark.promise("gateway.conformance_table")
def test_every_named_test_is_there() -> None:
    lists = [one.tests for one in DEMANDS] + [one.tests for one in OTHER_DEMANDS]
    named = {test for tests in lists for test in tests} | set(SPOKEN)
    assert [test for test in sorted(named) if not exists(test)] == []


def test_the_page_is_written_from_the_demands() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.conformance.matrix"
