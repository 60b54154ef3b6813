"""The switches that make the company misbehave."""

import pytest
from pydantic import ValidationError

from examples.company.faults import ToolFault, ToolFaults


def test_a_fault_with_times_ends_after_so_many_calls() -> None:
    faults = ToolFaults({"get_order": ToolFault(fail="down", times=2)})

    assert [faults.take("get_order").fail for _ in range(3)] == ["down", "down", None]


def test_a_tools_own_fault_comes_before_that_of_all_tools() -> None:
    faults = ToolFaults({"*": ToolFault(fail="all"), "get_order": ToolFault(fail="mine")})

    assert (faults.take("get_order").fail, faults.take("get_refund").fail) == ("mine", "all")


@pytest.mark.parametrize("text", ["[]", "{", '{"x": {"explode": true}}', '{"x": {"delay_before_ms": -1}}'])
def test_a_table_of_faults_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        ToolFaults.parse(text)


def test_only_the_named_tool_lies_about_reading() -> None:
    faults = ToolFaults({"create_refund": ToolFault(claim_read_only=True)})

    assert faults.claims_read_only("create_refund")
    assert not faults.claims_read_only("cancel_order")
