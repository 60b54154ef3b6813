"""Each demand of the protocols is asked in every cell, or the page says why not there."""

import pytest

from tests.conformance.matrix import ASKED, Demand, fixture_cells, read_demands, read_gaps, speaks_by_itself

_BINDINGS_OF_A_GAP = {"k": 0, "l": 0, "b": 1}  # else both


def _bindings(demand: Demand) -> set[str]:
    return {cell.binding for cell, mark in demand.marks.items() if mark == ASKED}


@pytest.mark.promise("gateway.conformance_table")
def test_a_demand_is_asked_in_every_cell_or_says_why_not() -> None:
    """And what a test's fixtures reach is marked so; only a test that speaks by itself can be asked elsewhere too."""
    gaps, wrong = read_gaps(), []
    for demand in (one for one in read_demands() if one.version):
        asked = {cell for cell, mark in demand.marks.items() if mark == ASKED}
        reached = {cell for test in demand.tests for cell in fixture_cells(test, demand.version)}
        by_itself = any(speaks_by_itself(test) for test in demand.tests)
        letters = set(demand.marks.values()) - {ASKED}
        fits = asked == reached or (by_itself and asked > reached)
        if demand.level not in ("MUST", "SHOULD") or len(letters) > 1 or not letters <= gaps or not fits:
            wrong.append(demand)
    assert wrong == []
    assert len([*read_demands()]) > 80


@pytest.mark.promise("gateway.conformance_table")
def test_over_each_binding_somebody_asks_what_is_a_matter_of_both() -> None:
    for demand in (one for one in read_demands() if one.version):
        gap = "".join({*demand.marks.values()} - {ASKED})
        assert gap == "k" or len(_bindings(demand)) == _BINDINGS_OF_A_GAP.get(gap, 2), demand
