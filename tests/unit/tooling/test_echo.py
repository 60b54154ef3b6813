"""Answers that only repeat the call are told from answers that say something."""

import pytest

from services.executor.core.tools.failures import is_echo
from shared.domain.exact_json import Json


@pytest.mark.parametrize(
    "content",
    [
        {"status": "ok", "tool": "pay", "params": {}},
        {"tool": "pay", "params": {"amount": 5}},
        {"status": "ok", "tool": "pay", "params": {"amount": 5}, "session_id": "s"},
    ],
)
def test_tool_and_params_and_nothing_else_is_an_echo(content: Json) -> None:
    assert is_echo("pay", content)


@pytest.mark.parametrize(
    "content",
    [
        {"status": "ok", "tool": "refund", "params": {}},
        {"status": "ok", "tool": "pay", "params": "none"},
        {"status": "ok", "tool": "pay", "params": {}, "payment_id": "P-1"},
        {"status": "ok"},
        {"tool": "hammer"},
        [],
        None,
        "ok",
    ],
)
def test_an_answer_that_says_more_or_less_is_none(content: Json) -> None:
    assert not is_echo("pay", content)
