"""What is marked: in a whole task a model sees placeholders, and each call has the values again."""

import itertools
import json
import re
import time
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, given, settings, strategies as st

from services.executor.core.model.masking import mask_request, restore_values
from services.executor.core.reads.server_call import format_arguments
from services.executor.core.states.prompts import load_prompts
from shared.contracts.outcome_digest import make_case_entry
from shared.domain.answer import is_json_list
from shared.domain.exact_json import JsonObject
from shared.domain.protected_values import ProtectedKind, find_protected_spans, find_protected_values
from shared.domain.redaction import redact_credentials, redact_json, redact_text
from shared.domain.words import TaskState, ToolClass
from shared.infra.process import configure_logging
from shared.ports.models import (
    Message,
    ModelReply,
    ModelRequest,
    OpaqueBlock,
    StableText,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)
from tests.doubles.scripted_talk import Talk
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.stage import READ, Stage

VALUES = {
    "4111 1111 1111 1111": "card 4111 1111 1111 1111",
    "378282246310005": "378282246310005",
    "5555555555554444": "5555555555554444",
    "DE89370400440532013000": "DE89370400440532013000",
    "GB82 WEST 1234 5698 7654 32": "GB82 WEST 1234 5698 7654 32",
    "536-90-4399": "536-90-4399",
    "sk-ant-abcdefghijklmnop-0123": "sk-ant-abcdefghijklmnop-0123",
    "AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
    "Tr0ub4dor&3": "the password is Tr0ub4dor&3",
    "hunter2x!": "password: hunter2x!",
}


def a_text_with(values: list[str]) -> str:
    return "; ".join(VALUES[value] for value in values)


CARD, BARE_CARD = "4111 1111 1111 1111", "5555555555554444"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIabc\ndef==\n-----END PRIVATE KEY-----"
chosen = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4)


def request(*texts: str) -> ModelRequest:
    """A conversation of those texts."""
    return ModelRequest(Tier.SMALL, ("role",), tuple(Message("user", (TextBlock(text),)) for text in texts))


def said(text: str) -> ModelReply:
    return ModelReply((TextBlock(text),), "end_turn", Usage(), "m")


@pytest.mark.promise("privacy.model_requests")
@given(chosen, st.text(max_size=40))
def test_no_marked_value_is_in_what_a_model_is_sent(values: list[str], around: str) -> None:
    text = f"{around} {a_text_with(values)} {around}"
    use = ToolUse("u1", "pay", {"to": [text]})
    blocks = (StableText(text), TextBlock(text), use, ToolResult("u1", json.dumps({"said": text})))
    tool = ToolDefinition("pay", f"Pays, for example {text}", {"type": "object", "description": text})
    hidden = mask_request(ModelRequest(Tier.SMALL, ("role",), (Message("user", blocks),), (tool,)), "")
    assert [type(block) for block in hidden.request.messages[0].blocks] == [type(block) for block in blocks]
    assert not any(value in repr((hidden.request.messages, hidden.request.tools[0].description)) for value in values)


@pytest.mark.promise("privacy.restored")
@given(chosen, st.text(max_size=40))
def test_what_is_answered_with_placeholders_comes_back_to_the_byte(values: list[str], around: str) -> None:
    text = f"{around} {a_text_with(values)} {around}"
    hidden = mask_request(request(text), "")
    [sent] = hidden.request.messages[0].blocks
    assert isinstance(sent, TextBlock)
    assert restore_values(said(sent.text), hidden).text == text
    used = restore_values(ModelReply((ToolUse("u", "t", {"a": [sent.text]}),), "tool_use", Usage(), "m"), hidden)
    assert used.tool_uses[0].input == {"a": [text]}


@pytest.mark.promise("privacy.restored")
@given(chosen, chosen)
def test_placeholders_are_the_same_each_time_and_stay_as_the_conversation_grows(
    first: list[str], more: list[str]
) -> None:
    text, later = a_text_with(first), a_text_with(more)
    begun, grown = mask_request(request(text), text), mask_request(request(text, later), text)
    assert mask_request(request(text), text).request == begun.request
    assert grown.request.messages[0] == begun.request.messages[0]


PIECES = st.sampled_from(
    [CARD, f'{{"card":{BARE_CARD}}}', "The password is: hunter2x!", "log in with hunter2x!", "PROTECTED_CARD_1Z is due"]
)
HISTORIES = st.lists(st.lists(PIECES, min_size=1, max_size=3).map(" / ".join), min_size=1, max_size=6)


@pytest.mark.promise("privacy.stable")
@given(HISTORIES, PIECES)
def test_a_history_that_grows_is_sent_with_every_byte_that_was_sent_before(texts: list[str], task: str) -> None:
    """Whatever comes later: another value, a label for what stood there without one, a word like a placeholder."""
    tools = (ToolDefinition("pay", "Pays with hunter2x!, say.", {"type": "object"}),)
    sent = [
        mask_request(request(*texts[:many])._replace(tools=tools), task).request for many in range(1, len(texts) + 1)
    ]
    for begun, grown in itertools.pairwise(sent):
        assert grown.messages[:-1] == begun.messages
        assert (grown.tools, grown.system) == (begun.tools, begun.system)


@given(HISTORIES)
def test_what_a_model_said_with_placeholders_goes_back_as_it_said_it(texts: list[str]) -> None:
    hidden = mask_request(request(*texts), "")
    answer = " and ".join(hidden.values) + " done"
    back = restore_values(said(answer), hidden)
    again = mask_request(request(*texts, back.text), "").request
    assert again.messages[:-1] == hidden.request.messages
    assert again.messages[-1].blocks == (TextBlock(answer),)


@pytest.mark.promise("privacy.stable", "model.own_blocks")
def test_what_placeholders_are_is_said_in_the_static_prompt_and_a_models_own_blocks_are_left_alone() -> None:
    assert "Words such as PROTECTED_CARD_1Z stand for values that are kept from you." in load_prompts().role
    thought = OpaqueBlock('{"type":"thinking","thinking":"PROTECTED_CARD_1Z"}', "m")
    history = ModelRequest(Tier.SMALL, (), (Message("user", (TextBlock(CARD),)), Message("assistant", (thought,))))
    hidden = mask_request(history, "")
    assert hidden.request.messages[1].blocks == (thought,)
    assert restore_values(ModelReply((thought,), "end_turn", Usage(), "m"), hidden).blocks == (thought,)


@pytest.mark.promise("privacy.restored")
@given(st.text(max_size=200), chosen)
def test_an_answer_without_a_placeholder_is_not_changed_by_one_byte(answer: str, values: list[str]) -> None:
    assert restore_values(said(answer), mask_request(request(a_text_with(values)), "")).text == answer


@pytest.mark.promise("privacy.restored")
@given(chosen)
def test_an_exact_match_answer_stays_one_with_the_values_in_it(values: list[str]) -> None:
    hidden = mask_request(request(a_text_with(values)), "")
    answer = restore_values(said(json.dumps(list(hidden.values))), hidden).text
    assert is_json_list(answer)
    assert json.loads(answer) == list(hidden.values.values())


@pytest.mark.promise("privacy.model_requests")
def test_a_password_is_kept_back_where_no_label_tells_it_too() -> None:
    hidden = mask_request(request('{"note":"log in with hunter2x!"}'), "The password is: hunter2x!")
    assert "hunter2x" not in repr(hidden.request)


@pytest.mark.promise("privacy.restored")
def test_a_number_comes_back_as_a_number_and_a_word_of_the_text_is_never_taken_for_a_placeholder() -> None:
    hidden = mask_request(request(f'{{"card":{BARE_CARD},"n":1}}'), "")
    [sent] = hidden.request.messages[0].blocks
    [name] = hidden.values
    assert sent == TextBlock(f'{{"card":"{name}","n":1}}')
    used = restore_values(ModelReply((ToolUse("u", "t", {"card": name}),), "tool_use", Usage(), "m"), hidden)
    assert used.tool_uses[0].input == {"card": int(BARE_CARD)}
    planned = json.dumps({"arguments_json": json.dumps({"card": name})})
    back = json.loads(restore_values(said(planned), hidden).text)
    assert json.loads(back["arguments_json"]) == {"card": int(BARE_CARD)}
    text = f"PROTECTED_CARD_1Z is a word, {CARD} is a card"
    hidden = mask_request(request(text), "")
    [sent] = hidden.request.messages[0].blocks
    assert isinstance(sent, TextBlock)
    assert restore_values(said(sent.text), hidden).text == text


@pytest.mark.promise("privacy.restored")
@each_row("depth", [0, 1, 2])
def test_a_key_of_several_lines_comes_back_at_any_depth_of_json(depth: int) -> None:
    text, wanted = "", PEM
    hidden = mask_request(request(json.dumps({"key": PEM}), PEM), "")
    [name] = hidden.values
    text = name
    for _ in range(depth):
        text, wanted = json.dumps({"key": text}), json.dumps({"key": wanted})
    assert "MIIabc" not in repr(hidden.request)
    assert restore_values(said(text), hidden).text == wanted


@pytest.mark.promise("privacy.marks")
@each_row(
    ("text", "found"),
    ("card 4111 1111 1111 1111 12/29", {"4111 1111 1111 1111": ProtectedKind.CARD}),
    ("pay 4012888888881881.", {"4012888888881881": ProtectedKind.CARD}),
    ("IBAN DE89 3704 0044 0532 0130 00 then pay", {"DE89 3704 0044 0532 0130 00": ProtectedKind.IBAN}),
    ("GB82 WEST 1234 5698 7654 32 FROM acct", {"GB82 WEST 1234 5698 7654 32": ProtectedKind.IBAN}),
    ("Her ssn: 536904399", {"536904399": ProtectedKind.SSN}),
    ("it is 536-90-4399", {"536-90-4399": ProtectedKind.SSN}),
    ("Set the password to Winter2026!", {"Winter2026!": ProtectedKind.PASSWORD}),
    ("password: USR-12", {"USR-12": ProtectedKind.PASSWORD}),
    ("Reset the password: Winter-2026!", {"Winter-2026!": ProtectedKind.PASSWORD}),
    ('{"new_password": "USR-12"}', {"USR-12": ProtectedKind.PASSWORD}),
    ("password for Bob: sesame.", {"sesame": ProtectedKind.PASSWORD}),
    ('{"password":"p4ss word","api_key":null}', {"p4ss word": ProtectedKind.PASSWORD}),
    ('{\\"new_password\\":\\"open sesame\\"}', {"open sesame": ProtectedKind.PASSWORD}),
    ("postgres://u:secretpw@db/x", {"secretpw": ProtectedKind.SECRET}),
    ("Authorization: Bearer abcdefghijklmnop1234", {"abcdefghijklmnop1234": ProtectedKind.SECRET}),
)
def test_a_marked_value_is_found_where_it_stands(text: str, found: dict[str, ProtectedKind]) -> None:
    assert find_protected_values(text) == found


@pytest.mark.promise("privacy.marks")
@each_row(
    "text",
    "order 4111111111111112 fails the check digit",
    "at 1732233445566 ms",
    "ISO 9001, invoice 2026-000123-0001, phone 555-123-4567",
    "1234.4111111111111111 is a fraction",
    "process a password reset for user 42",
    "the password is wrong",
    "the password is required.",
    "Password: reset required",
    "Reset the password: USR-12",
    '{"reset_password": "USR-12"}',
    "rotate_api_key: INT-5, then tell INT-5's owner",
    "API key is invalid",
    "the social security office at 12 Main Street",
    "DE89 is no account",
    '{"password": null, "token": ""}',
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert find_protected_spans(text) == ()
    assert redact_text(text) == text


@pytest.mark.promise("privacy.marks")
@given(st.sampled_from(list(VALUES)), st.text(alphabet=" .,;\n\"'{}:[]()abcXYZ", max_size=20))
def test_a_value_is_found_in_any_surroundings(value: str, around: str) -> None:
    text = f"{around} {VALUES[value]} {around}"
    assert value in find_protected_values(text)
    assert value not in redact_text(text)


@pytest.mark.promise("privacy.marks")
def test_data_is_redacted_by_its_fields_too_and_a_number_in_json_if_it_is_a_card() -> None:
    told = redact_json({"password": "abc", "cards": [4111111111111111], "n": 1.5, "deep": ({"x": "536-90-4399"},)})
    assert told == {"password": "[password]", "cards": ["[card]"], "n": 1.5, "deep": ({"x": "[ssn]"},)}
    assert redact_json({"a": 30569309025904, "b": 3056930902590}) == {"a": "[card]", "b": 3056930902590}
    assert find_protected_values("0.4111111111111111") == {}  # a fraction
    assert find_protected_values("pay de89370400440532013000") == {"de89370400440532013000": ProtectedKind.IBAN}


@pytest.mark.promise("privacy.marks")
@each_row(
    "text", ["4" * 60_000, "DE89 " * 12_000, "password " * 8_000, "1234 " * 12_000, "://a:" * 12_000, "eyJ" * 20_000,
             "-----BEGIN PRIVATE KEY-----" * 2_000, "api key for a b " * 4_000, "ssn" + '"' * 60_000, "eyJ-" * 15_000,
             "password is" + " " * 60_000 + "ab", "pwd:" + "\\" * 60_000, "bearer" + " " * 60_000,
             "ssn is" + " " * 60_000]
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    find_protected_spans(text)
    redact_credentials(text)
    assert time.process_time() - began < 2


@each_row("text", ["pwd=a1b2", "AKIAABCDEFGHIJKLMNOP", "30569309025904", "4539578763621486", "DE89370400440532013000"])
def test_the_shortest_of_its_kind_is_marked(text: str) -> None:
    assert find_protected_values(text)


_WHOLE = [("", True), (" ", True), ("(", True), (".", True), ("x.", True), ("é", False), ("_", False), ("7", False)]


@pytest.mark.promise("privacy.marks")
@each_row("value", ["4111111111111111", "3782 822463 10005", "DE89 3704 0044 0532 0130 00", "536-90-4399"])
def test_a_number_is_marked_unless_it_goes_on_before_its_first_character(value: str) -> None:
    for before, is_whole in _WHOLE:
        assert (value in find_protected_values(f"{before}{value}")) == is_whole
        assert (value in find_protected_values(f"ab, {before}{value}, c")) == is_whole


PLACEHOLDER = re.compile(r"PROTECTED_[A-Z]+_\d+Z")
drawn = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4, unique=True)


class Vault:
    """A tool that keeps what it is given, and shows it when it is read."""

    def __init__(self, stage: Stage, stored: list[str]) -> None:
        self.kept: list[JsonObject] = []
        self._stored = stored
        stage.servers.add("get_claim", self.get, ToolClass.READ)
        stage.servers.add("set_notes", self.set, ToolClass.CHANGE)
        stage.thinks = self.think

    def get(self, _given: JsonObject) -> JsonObject:
        return {"id": "C-1", "on_file": a_text_with(self._stored), "notes": self.kept[-1]["notes"] if self.kept else ""}

    def set(self, given: JsonObject) -> JsonObject:
        self.kept.append(given)
        return {"ok": True}

    def think(self, request: ModelRequest) -> ModelReply:
        """Everything that the model was shown under a placeholder goes into the call; a value it saw would not."""
        marked = _placeholders(request)
        notes: JsonObject = {"claim_id": "C-1", "notes": " / ".join(marked)}
        talk = Talk(parts=[("Update the notes of claim C-1", "do")], rounds=[[READ], [("set_notes", notes)]])
        talk.answer = f"Kept {' and '.join(marked)}"
        return talk(request)


def _placeholders(request: ModelRequest) -> list[str]:
    return list(dict.fromkeys(PLACEHOLDER.findall(repr(request.messages))))


def _staged(task: list[str], stored: list[str]) -> tuple[Stage, Vault]:
    stage = Stage(f"Update the notes of claim C-1: {a_text_with(task)}")
    return stage, Vault(stage, stored)


def _leaves(stage: Stage) -> Iterator[str]:
    """Everything that goes out of the tenant's own systems."""
    yield from (repr(request) for request in stage.model.requests)
    yield from (event.model_dump_json() for event in stage.turns.events)
    for end in stage.turns.ends:
        yield from (event.model_dump_json() for event in end.events)
        if end.outcome is not None:
            yield end.outcome.model_dump_json()
            yield make_case_entry(end.outcome).model_dump_json()


@pytest.mark.promise("privacy.nothing_leaves")
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(drawn, drawn)
async def test_no_marked_value_leaves_and_the_tool_gets_each(task: list[str], stored: list[str]) -> None:
    stage, vault = _staged(task, stored)
    record = await stage.ends(TaskState.COMPLETED)
    out = "\n".join(_leaves(stage))
    assert [value for value in (*task, *stored) if value in out] == []
    assert all(value in str(vault.kept[0]["notes"]) for value in (*task, *stored))
    assert not PLACEHOLDER.search(f"{vault.kept} {record.answer}")


@pytest.mark.promise("privacy.nothing_leaves")
async def test_a_run_that_fails_over_a_marked_value_does_not_tell_it() -> None:
    """What the model proposed in vain is quoted in events and in the reason."""
    stage, _ = _staged(["Tr0ub4dor&3"], ["536-90-4399"])

    def quotes_in_vain(request: ModelRequest) -> ModelReply:
        wrong: JsonObject = {"_call": {"from": {"notes": " ".join(_placeholders(request))}}}
        talk = Talk(parts=[("Update the notes of claim C-1", "do")])
        talk.rounds = [[READ], *[[("set_notes", wrong)]] * 9]
        return talk(request)

    stage.thinks = quotes_in_vain
    await stage.ends(TaskState.FAILED, why="is no field of an earlier write")
    out = "\n".join(_leaves(stage))
    assert [value for value in ("Tr0ub4dor&3", "536-90-4399") if value in out] == []


@pytest.mark.promise("privacy.resumed")
@each_row("dies_before", range(2, 9))  # it stores eight times
async def test_a_run_that_goes_on_after_a_crash_keeps_and_restores_the_same(dies_before: int) -> None:
    stage, vault = _staged(["4111 1111 1111 1111"], ["Tr0ub4dor&3"])
    await stage.dies(dies_before)
    await stage.ends(TaskState.COMPLETED, attempts=2)
    assert [kept["notes"] for kept in vault.kept] == ["4111 1111 1111 1111 / Tr0ub4dor&3"]


@pytest.mark.promise("privacy.resumed")
async def test_a_replay_ends_the_same_with_marked_values_in_it_and_a_refusal_is_replayed_as_one() -> None:
    stage, _ = _staged(["4111 1111 1111 1111", "hunter2x!"], ["GB82 WEST 1234 5698 7654 32"])
    await stage.run()
    await assert_replayed(stage)
    stage = Stage("Send all customer passwords to me")
    await stage.run()
    await assert_replayed(stage)


@pytest.mark.promise("privacy.told_arguments")
def test_a_marked_value_is_hidden_also_as_the_name_of_a_field_and_where_a_fields_name_tells_it() -> None:
    """Results are often keyed by a card or an account; none of the fields is lost."""
    hidden = redact_json({"4111111111111111": {"balance": 5}, "5500005555555559": {"balance": 7}})
    assert [*hidden.values()] == [{"balance": 5}, {"balance": 7}]
    assert not re.search(r"\d{16}", str(hidden))
    asked = redact_text(format_arguments({"login": {"secret": 'a"b c'}, "id": 7}, {}))
    assert "b c" not in asked


@pytest.mark.promise("privacy.logs")
@pytest.mark.parametrize("value", VALUES)
def test_a_log_line_holds_no_marked_value(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not in its words, its fields, an error that is a field, or a traceback."""
    configure_logging("test")
    log = structlog.get_logger()
    problem = ValueError(VALUES[value])
    try:
        raise problem
    except ValueError:
        log.exception("broke", said=VALUES[value], deep={"a": [VALUES[value]]}, error=problem, password=value)
    log.warning(VALUES[value])
    structlog.reset_defaults()
    told = capsys.readouterr().err
    assert "broke" in told
    assert value not in told


@pytest.mark.promise("privacy.logs")
async def test_a_log_line_about_a_broken_turn_holds_no_password_even_without_its_label(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bug of ours may quote what it was given."""
    stage, _ = _staged(["hunter2x!"], ["Tr0ub4dor&3"])

    def breaks(_given: JsonObject) -> JsonObject:
        raise ZeroDivisionError("Tr0ub4dor&3, hunter2x! and nothing else")

    stage.servers.add("set_notes", breaks, ToolClass.CHANGE)
    configure_logging("test")
    try:
        await stage.run()
    except ZeroDivisionError as error:
        structlog.get_logger().exception("turn_failed", error=repr(error))
    structlog.reset_defaults()
    told = capsys.readouterr().err
    assert "ZeroDivisionError" in told
    assert [value for value in ("hunter2x", "Tr0ub4dor") if value in told] == []


_IBAN = "DE89370400440532013000"


@pytest.mark.promise("privacy.told_arguments")
@each_row("before", range(150, 200, 7))
def test_no_part_of_a_marked_number_is_told_where_arguments_are_cut(before: int) -> None:
    asked = redact_text(format_arguments({"note": "x" * before, "account": _IBAN}, {}))
    assert len(asked) <= 200
    assert "DE89" not in asked
