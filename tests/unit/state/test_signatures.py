"""Scripts are given their keys and arguments by the names that they have for them."""

import pytest

from shared.infra import keys
from shared.infra.signatures import order_script_arguments, order_script_keys


def test_keys_come_in_the_order_of_the_script_from_groups_and_by_name() -> None:
    session, partition = keys.session_keys("t", "s"), keys.partition_keys_of("t", "s")

    found = order_script_keys("count_sessions", session, partition)

    assert found == [partition.waiting, partition.leased]
    assert order_script_keys("count_sessions", partition, leased="other") == [partition.waiting, "other"]


def test_only_what_a_script_names_last_may_be_left_out() -> None:
    with_all = order_script_arguments("signal", timer="due", waits=1, member="m", turn="{}", turn_id="t")

    assert with_all == ["t", "{}", "m", 1, "due"]
    assert order_script_arguments("signal", waits=1, member="m", turn="{}", turn_id="t") == ["t", "{}", "m", 1]
    with pytest.raises(TypeError, match=r"signal\.lua is given other names than it has: timer, waits"):
        order_script_arguments("signal", timer="due", member="m", turn="{}", turn_id="t")


def test_a_name_that_the_script_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match=r"count_sessions\.lua is given other names than it has: of, waiting"):
        order_script_keys("count_sessions", leased="d", of="o")
