"""A model sees placeholders; what it answers with them has the values again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.masking import masked, restored
from services.executor.ports.models import (
    Message,
    ModelReply,
    ModelRequest,
    StableText,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)
from shared.domain.answer import is_exact_match
from tests.unit.privacy.marked_values import VALUES, a_text_with

CARD, BARE_CARD = "4111 1111 1111 1111", "5555555555554444"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIabc\ndef==\n-----END PRIVATE KEY-----"
chosen = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4)


def request(*texts: str) -> ModelRequest:
    """A conversation of those texts."""
    return ModelRequest(Tier.HAIKU, ("role",), tuple(Message("user", (TextBlock(text),)) for text in texts))


def said(text: str) -> ModelReply:
    return ModelReply((TextBlock(text),), "end_turn", Usage(), "m")


@pytest.mark.promise("privacy.model_requests")
@given(chosen, st.text(max_size=40))
def test_no_marked_value_is_in_what_a_model_is_sent(values: list[str], around: str) -> None:
    text = f"{around} {a_text_with(values)} {around}"
    use = ToolUse("u1", "pay", {"to": [text]})
    blocks = (StableText(text), TextBlock(text), use, ToolResult("u1", json.dumps({"said": text})))
    tool = ToolDefinition("pay", f"Pays, for example {text}", {"type": "object", "description": text})
    hidden = masked(ModelRequest(Tier.HAIKU, ("role",), (Message("user", blocks),), (tool,)), "")
    assert [type(block) for block in hidden.request.messages[0].blocks] == [type(block) for block in blocks]
    assert not any(value in repr((hidden.request.messages, hidden.request.tools[0].description)) for value in values)


@pytest.mark.promise("privacy.restored")
@given(chosen, st.text(max_size=40))
def test_what_is_answered_with_placeholders_comes_back_to_the_byte(values: list[str], around: str) -> None:
    text = f"{around} {a_text_with(values)} {around}"
    hidden = masked(request(text), "")
    [sent] = hidden.request.messages[0].blocks
    assert isinstance(sent, TextBlock)
    assert restored(said(sent.text), hidden).text == text
    used = restored(ModelReply((ToolUse("u", "t", {"a": [sent.text]}),), "tool_use", Usage(), "m"), hidden)
    assert used.tool_uses[0].input == {"a": [text]}


@pytest.mark.promise("privacy.restored")
@given(chosen, chosen)
def test_placeholders_are_the_same_each_time_and_stay_as_the_conversation_grows(
    first: list[str], more: list[str]
) -> None:
    text, later = a_text_with(first), a_text_with(more)
    begun, grown = masked(request(text), text), masked(request(text, later), text)
    assert masked(request(text), text).request == begun.request
    assert grown.request.messages[0] == begun.request.messages[0]


@pytest.mark.promise("privacy.restored")
@given(st.text(max_size=200), chosen)
def test_an_answer_without_a_placeholder_is_not_changed_by_one_byte(answer: str, values: list[str]) -> None:
    assert restored(said(answer), masked(request(a_text_with(values)), "")).text == answer


@pytest.mark.promise("privacy.restored")
@given(chosen)
def test_an_exact_match_answer_stays_one_with_the_values_in_it(values: list[str]) -> None:
    hidden = masked(request(a_text_with(values)), "")
    answer = restored(said(json.dumps(list(hidden.values))), hidden).text
    assert is_exact_match(answer)
    assert json.loads(answer) == list(hidden.values.values())


@pytest.mark.promise("privacy.model_requests")
def test_a_password_is_kept_back_where_no_label_tells_it_too() -> None:
    hidden = masked(request('{"note":"log in with hunter2x!"}'), "The password is: hunter2x!")
    assert "hunter2x" not in repr(hidden.request)


@pytest.mark.promise("privacy.restored")
def test_a_number_comes_back_as_a_number() -> None:
    hidden = masked(request(f'{{"card":{BARE_CARD},"n":1}}'), "")
    [sent] = hidden.request.messages[0].blocks
    [name] = hidden.values
    assert sent == TextBlock(f'{{"card":"{name}","n":1}}')
    used = restored(ModelReply((ToolUse("u", "t", {"card": name}),), "tool_use", Usage(), "m"), hidden)
    assert used.tool_uses[0].input == {"card": int(BARE_CARD)}
    planned = json.dumps({"arguments_json": json.dumps({"card": name})})
    back = json.loads(restored(said(planned), hidden).text)
    assert json.loads(back["arguments_json"]) == {"card": int(BARE_CARD)}


@pytest.mark.promise("privacy.restored")
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_key_of_several_lines_comes_back_at_any_depth_of_json(depth: int) -> None:
    text, wanted = "", PEM
    hidden = masked(request(json.dumps({"key": PEM}), PEM), "")
    [name] = hidden.values
    text = name
    for _ in range(depth):
        text, wanted = json.dumps({"key": text}), json.dumps({"key": wanted})
    assert "MIIabc" not in repr(hidden.request)
    assert restored(said(text), hidden).text == wanted


@pytest.mark.promise("privacy.restored")
def test_a_word_of_the_text_is_never_taken_for_a_placeholder() -> None:
    text = f"PROTECTED_CARD_1Z is a word, {CARD} is a card"
    hidden = masked(request(text), "")
    [sent] = hidden.request.messages[0].blocks
    assert isinstance(sent, TextBlock)
    assert restored(said(sent.text), hidden).text == text
