"""Idempotency keys: what is asked under one key is done once, and answered again as it was answered first."""

from pathlib import Path

import pytest

from examples.company import ledger
from examples.company.books import CompanyBooks, KeyReused
from examples.company.catalogue import TOOLS
from examples.company.over_mcp import KEY, schema_of

REFUND = {"order_id": "ORD-2001", "amount": "10.00", "reason": "late"}


def test_a_second_call_under_the_same_key_writes_nothing_and_gets_the_first_result(
    books: CompanyBooks, database: Path
) -> None:
    first = TOOLS["create_refund"].call(books, REFUND, "k1")
    before = ledger.count(database)
    assert TOOLS["create_refund"].call(books, REFUND, "k1") == first
    assert ledger.count(database) == before
    assert TOOLS["create_refund"].call(books, REFUND, "k2") != first


def test_a_key_of_another_call_is_refused(books: CompanyBooks) -> None:
    TOOLS["create_refund"].call(books, REFUND, "k1")
    with pytest.raises(KeyReused):
        TOOLS["create_refund"].call(books, {**REFUND, "amount": "11.00"}, "k1")


def test_only_keyed_tools_take_a_key_and_only_over_mcp() -> None:
    for tool in TOOLS.values():
        properties = schema_of(tool)["properties"]
        assert isinstance(properties, dict)
        assert (KEY in properties) is tool.keyed
        own = tool.input_schema()["properties"]
        assert isinstance(own, dict)
        assert KEY not in own
        assert not (tool.keyed and tool.hints.read_only)
