"""The switches that make the company misbehave."""

from examples.company.faults import ToolFault, ToolFaults


def test_a_fault_with_times_ends_after_so_many_calls() -> None:
    faults = ToolFaults({"get_order": ToolFault(fail="down", times=2)})

    assert [faults.take("get_order").fail for _ in range(3)] == ["down", "down", None]


def test_only_the_named_tool_lies_about_reading() -> None:
    faults = ToolFaults({"create_refund": ToolFault(claim_read_only=True)})

    assert faults.claims_read_only("create_refund")
    assert not faults.claims_read_only("cancel_order")
