"""What every ``Model`` does, held by the scripted double and by the real adapter alike."""

from collections.abc import AsyncIterator

import pytest

from shared.domain.exact_json import Json
from shared.ports.models import (
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    TextBlock,
    Tier,
    ToolDefinition,
)
from tests.doubles.mock_anthropic import error, message, mock_anthropic
from tests.doubles.scripted_model import Script, ScriptedModel, in_order, text_reply, tool_reply
from tests.integration.planner_server import model_at

_REQUEST = ModelRequest(
    tier=Tier.SMALL,
    system=("role", "state"),
    messages=(Message("user", (TextBlock("hello"),)),),
    tools=(ToolDefinition("look", "Looks.", {"type": "object", "properties": {}}),),
)
_USE: Json = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "door"}}


@pytest.fixture(params=["double", "adapter"])
async def model(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    """A model that answers with text, then with a call, then not at all."""
    if request.param == "double":
        yield ScriptedModel(_scripted())
        return
    plays = message("done"), message(stop_reason="tool_use", content=[_USE]), error(401)
    async with mock_anthropic(*plays) as mock, model_at(mock.url) as real:
        yield real


def _scripted() -> Script:
    replies = in_order([text_reply("done"), tool_reply(("look", {"at": "door"}))])
    asked: list[ModelRequest] = []

    def script(request: ModelRequest) -> ModelReply:
        asked.append(request)
        if len(asked) > 2:
            raise ModelUnavailable("refused")
        return replies(request)

    return script


async def test_text_calls_and_failures_come_in_one_form(model: Model) -> None:
    """Text in ``text``, calls in ``tool_uses``, anything that cannot be used as ``ModelUnavailable``."""
    said = await model.complete(_REQUEST)
    asked = await model.complete(_REQUEST)
    assert (said.text, said.tool_uses, said.stop_reason) == ("done", (), "end_turn")
    assert [(use.name, use.input) for use in asked.tool_uses] == [("look", {"at": "door"})]
    assert asked.stop_reason == "tool_use"
    with pytest.raises(ModelUnavailable):
        await model.complete(_REQUEST)
