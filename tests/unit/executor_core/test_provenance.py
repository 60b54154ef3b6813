"""Provenance: a figure or an identifier that nobody gave does not get into a plan."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.authorize.provenance import untraced_arguments
from services.executor.core.dossier.dossier import Dossier
from shared.domain.exact_json import Json
from tests.unit.executor_core.makers import call, dossier, fact, from_fact, plan, value

TASK = "Refund $1,200.50 for order O-7 from 2026-01-15, claims E-1,E-2"
KNOWN = dossier(
    fact({"id": "O-7", "customer": "K-12", "paid": Decimal("99.90"), "balance": -40}),
    values=(value("share", "sum", "33.30", from_fact("paid")),),
)


@pytest.mark.promise("I2.provenance")
@pytest.mark.parametrize(
    "argument",
    [
        "O-7", "o-7", "1200.50", Decimal("1200.5"), "E-2", "2026-01-15", "K-12", Decimal("99.90"), Decimal("33.3"),
        -40, 40, "approved as asked", True, None, {"$ref": "c0.id"}, ["O-7", {"x": "K-12"}],
    ],
)  # fmt: skip
def test_what_task_facts_or_values_say_has_a_source(argument: Json) -> None:
    assert untraced_arguments(plan(call({"argument": argument})), KNOWN, TASK) == ()


@pytest.mark.promise("I2.provenance")
@pytest.mark.parametrize(
    "argument",
    [
        "O-8", 1200, Decimal("1200.51"), "-1200.50", -1200, 200, "2026", "2026-01-16", "E-12", 7, "٥٠٠", "５０１",
        "O-07", "refund of 12 now", {"deep": [{"er": 13}]}, {"$ref": "c1.id", "amount": 5},
        Decimal("1E+3"), "0x5", "5e2",
    ],
)  # fmt: skip
def test_an_invented_figure_is_named(argument: Json) -> None:
    (found, *_) = untraced_arguments(plan(call({"argument": argument})), KNOWN, TASK)
    assert found.startswith("c1 ")


@pytest.mark.promise("I2.provenance")
def test_what_a_refusal_repeats_is_no_source() -> None:
    """A model that guesses an identifier must not find it again in the server's "no such claim"."""
    refused = dossier(fact("no such claim C-999", ok=False))
    assert untraced_arguments(plan(call({"claim_id": "C-999"})), refused, "pay the claim") == ("c1 C-999",)


@pytest.mark.promise("I2.provenance")
@given(known=st.lists(st.integers(0, 10**35), max_size=5), planned=st.integers(0, 10**35))
def test_a_number_passes_exactly_if_it_was_collected(known: list[int], planned: int) -> None:
    collected = dossier(fact({"numbers": list(known)}))
    assert (untraced_arguments(plan(call({"n": planned})), collected, "") == ()) == (planned in known)


def test_every_call_is_looked_at_and_named() -> None:
    two = plan(call({"n": 1}), call({"n": 2}, "c2"))
    assert untraced_arguments(two, Dossier(), "") == ("c1 1", "c2 2")
