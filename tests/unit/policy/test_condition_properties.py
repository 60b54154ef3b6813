"""What holds for every condition, shown on generated ones."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.policy.core.conditions import decider, parse_condition
from services.policy.core.grammar import Node, parse, tokens
from services.policy.core.values import UNKNOWN, ConditionError
from shared.contracts.policy import ContextValue
from tests.unit.policy import reference
from tests.unit.policy.generated import contexts, trees
from tests.unit.policy.printed import text_of

pytestmark = pytest.mark.promise("policy.conditions")

_ANSWERS: dict[object, str] = {True: "true", False: "false", UNKNOWN: "unknown"}
_SPACES = st.sampled_from(["", " ", "\n", " \t "])


def _answer(tree: Node, context: dict[str, ContextValue]) -> str:
    try:
        return _ANSWERS[decider(tree)(context)]
    except ConditionError:
        return "invalid"


def _agree(tree: Node, context: dict[str, ContextValue]) -> None:
    assert _answer(parse(text_of(tree)), context) == reference.answer(tree, dict(context))


@given(trees)
def test_a_printed_tree_parses_to_itself(tree: Node) -> None:
    """Nothing is lost or regrouped between the tree and its text."""
    assert parse(text_of(tree)) == tree
    assert text_of(parse(text_of(tree))) == text_of(tree)  # where True and 1 differ


@given(trees, contexts)
def test_evaluation_agrees_with_an_independent_evaluator(tree: Node, context: dict[str, ContextValue]) -> None:
    """The closures and the slow reading of the policy page give the same answer."""
    _agree(tree, context)


@given(trees, st.data())
def test_spaces_never_matter(tree: Node, data: st.DataObject) -> None:
    """Any spaces between tokens, or none, make the same condition."""
    text = text_of(tree)
    found = list(tokens(text))
    pieces = [text[one.position : two.position].strip() for one, two in pairwise(found)]
    respaced = data.draw(_SPACES)
    for token, piece in zip(found, pieces, strict=False):
        needs_space = token.kind in ("NAME", "NUMBER")
        respaced += piece + (data.draw(_SPACES) or " " * needs_space)
    assert parse(respaced) == tree


@given(st.text(max_size=40) | st.text("ab!&|=<>()[]'\"\\,.-05 ", max_size=40), contexts)
def test_any_text_is_decided_or_refused_with_a_position(text: str, context: dict[str, ContextValue]) -> None:
    """No text makes the evaluator fail in another way than by a positioned error."""
    try:
        answer, position = parse_condition(text).decide(context), 0
    except ConditionError as error:
        answer, position = UNKNOWN, error.position
    assert answer in _ANSWERS
    assert 0 <= position <= len(text)
