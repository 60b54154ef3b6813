"""Of a whole task: no marked value in any model request, event, outcome, case or log; and the real one in each call."""

import re
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.executor.core.reads.one_call import format_arguments
from services.learner.core.memory.lesson import lesson_of
from shared.domain.exact_json import JsonObject
from shared.domain.redaction import redact_text, without_marks
from shared.domain.words import TaskState, ToolClass
from shared.infra.process import configure_logging
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.scripted_talk import Talk
from tests.each_row import each_row
from tests.unit.executor.archived import assert_replayed
from tests.unit.executor.stage import READ, Stage
from tests.unit.privacy.marked_values import VALUES, a_text_with

PLACEHOLDER = re.compile(r"PROTECTED_[A-Z]+_\d+Z")
chosen = st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4, unique=True)


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
            yield lesson_of(end.outcome).case.model_dump_json()


@pytest.mark.promise("privacy.nothing_leaves")
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(chosen, chosen)
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


def test_a_marked_value_that_is_the_name_of_a_field_is_hidden_too() -> None:
    """Results are often keyed by a card or an account; none of the fields is lost."""
    hidden = without_marks({"4111111111111111": {"balance": 5}, "5500005555555559": {"balance": 7}})
    assert [*hidden.values()] == [{"balance": 5}, {"balance": 7}]
    assert not re.search(r"\d{16}", str(hidden))


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


@pytest.mark.promise("privacy.told_arguments")
def test_a_secret_is_told_by_its_fields_name_however_it_is_written() -> None:
    asked = redact_text(format_arguments({"login": {"secret": 'a"b c'}, "id": 7}, {}))
    assert "b c" not in asked
