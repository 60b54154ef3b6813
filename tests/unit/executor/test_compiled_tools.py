"""What is worked out of tools once gives the bytes that working it out each time gave."""

import hashlib
import json

from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.executor.core.model.masking import mask_request
from services.executor.core.model.model_calls import hash_request
from shared.infra.anthropic_request import encode_model_request
from shared.ports.models import Message, ModelRequest, TextBlock, Tier, ToolDefinition

TEXTS = st.text(max_size=30)
FIELDS = st.fixed_dictionaries({"type": st.just("string"), "description": TEXTS})
PROPERTIES = st.dictionaries(TEXTS, FIELDS, max_size=3)
CARD = "4111 1111 1111 1111"


@st.composite
def definitions(draw: st.DrawFn) -> ToolDefinition:
    properties = draw(PROPERTIES)
    fields: dict[str, JsonValue] = {name: dict(field) for name, field in properties.items()}
    schema: dict[str, JsonValue] = {"type": "object", "properties": fields}
    if draw(st.booleans()):
        schema |= {"required": list(properties), "additionalProperties": False}
    return ToolDefinition(draw(TEXTS), draw(TEXTS), schema, strict=draw(st.booleans()))


def request(tools: tuple[ToolDefinition, ...], text: str = "Approve it.") -> ModelRequest:
    return ModelRequest(Tier.SMALL, ("rules",), (Message("user", (TextBlock(text),)),), tools)


@given(tools=st.lists(definitions(), max_size=4), text=TEXTS)
def test_a_requests_digest_is_that_of_the_whole_written_at_once(tools: list[ToolDefinition], text: str) -> None:
    asked = request(tuple(tools), text)
    named = tuple(tool if not tool.strict else tool[:-1] for tool in tools)
    whole = (asked.tier, asked.system, asked.messages, named, asked.schema, asked.max_tokens)

    written = json.dumps(whole, sort_keys=True, ensure_ascii=False)

    expected = hashlib.sha256(written.encode()).hexdigest()[:32]
    assert [hash_request(asked), hash_request(asked)] == [expected, expected]


@given(tools=st.lists(definitions(), min_size=1, max_size=30))
def test_the_tools_of_a_body_are_written_as_one_array(tools: list[ToolDefinition]) -> None:
    first, again = (encode_model_request("model", request(tuple(tools))) for _ in range(2))
    sent = json.loads(first)["tools"]

    assert first == again
    assert [tool["input_schema"] for tool in sent] == [tool.input_schema for tool in tools]
    assert sum(tool.get("strict", False) for tool in sent) <= 20
    assert json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode() in first


def test_a_value_in_a_schema_is_masked_whoever_marks_it() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"card": {"enum": ["4111111111111111", "x"]}}}
    tools = (ToolDefinition("pay", f"Pays, say by {CARD}.", schema),)

    masked = mask_request(request(tools), "").request

    assert "4111" not in repr(masked.tools)
