"""What a model's endpoint may answer: a message of bounded size, with a bounded number of calls."""

import json

import pytest

from shared.infra.anthropic_request import MOST_REPLY_CALLS, MOST_REPLY_CHARACTERS, parse_model_reply
from shared.ports.models import ModelUnavailable, ToolUse
from tests.each_row import each_row

pytestmark = pytest.mark.promise("model.reply_bounded")


def message(*blocks: dict[str, object], **usage: object) -> str:
    body = {"type": "message", "model": "m", "content": blocks, "stop_reason": "tool_use", "usage": usage}
    return json.dumps(body)


def calls(count: int) -> list[dict[str, object]]:
    return [{"type": "tool_use", "id": f"t{number}", "name": "read", "input": {}} for number in range(count)]


def test_a_reply_may_ask_for_so_many_calls_and_be_so_long_and_no_more() -> None:
    reply = parse_model_reply("m", message(*calls(MOST_REPLY_CALLS)))
    assert sum(isinstance(block, ToolUse) for block in reply.blocks) == MOST_REPLY_CALLS
    with pytest.raises(ModelUnavailable, match="calls at once"):
        parse_model_reply("m", message(*calls(MOST_REPLY_CALLS + 1)))
    with pytest.raises(ModelUnavailable, match="over the limit"):
        parse_model_reply("m", message({"type": "text", "text": "x" * MOST_REPLY_CHARACTERS}))


@each_row("told", ["12", 1.5, None, True, {"n": 1}, [7]])
def test_usage_that_is_no_count_is_none(told: object) -> None:
    """Who pays is then billed by what was sent and said: the tariff does not believe a missing count."""
    reply = parse_model_reply("m", message({"type": "text", "text": "x"}, input_tokens=told, output_tokens=told))
    assert tuple(reply.usage) == (0, 0, 0, 0)
