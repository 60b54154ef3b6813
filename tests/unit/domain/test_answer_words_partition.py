"""Exact-match answers, the fixed words, and the partition of a session."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.answer import is_exact_match
from shared.domain.partition import PARTITIONS, partition_of
from shared.domain.words import Level

JSON = st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=8)


@pytest.mark.promise("I9.exact_answers")
@given(items=st.lists(JSON, max_size=5))
def test_every_json_list_is_an_exact_match(items: list[object]) -> None:
    assert is_exact_match(json.dumps(items))


@pytest.mark.promise("I9.exact_answers")
@pytest.mark.parametrize(
    "text",
    ["[note] the claim is paid [1]", "[1, 2", "[1] ", "\n[1]", '{"a": [1]}', "", "[a]", "[1]\n[2]", "[" * 9999 + "]"],
)
def test_brackets_alone_make_no_exact_match(text: str) -> None:
    assert not is_exact_match(text)


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'vp'.*manager, hr, finance, committee, legal, cfo, ciso"):
        Level.parse("vp")


def test_the_partition_of_a_known_session_never_moves() -> None:
    """Keys written by an older release must be found by a newer one."""
    assert (partition_of("acme", "session-1"), PARTITIONS) == (20, 64)
