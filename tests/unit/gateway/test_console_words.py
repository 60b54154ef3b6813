"""The console's words and colours: times, values, a task's story, and text that everybody can tell from its ground."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from pydantic import JsonValue

from services.gateway.features.audit import build_rows_from_record
from services.gateway.features.console.pages import ASSETS_FOLDER
from services.gateway.features.console.sessions import choose_safe_destination, derive_form_token, is_form_token_of
from services.gateway.features.console.views.evidence import (
    build_policy_evidence,
    build_write_rows,
    find_unenforced_policy,
    list_quality_parts,
)
from services.gateway.features.console.views.formatting import (
    PageClock,
    find_zone,
    format_json,
    format_time,
    relative_time,
)
from services.gateway.features.console.views.replay import build_action_rows, build_replayed_turn, list_timeline_turns
from services.gateway.features.console.views.tasks import (
    DRY_RUN_REMARK,
    build_task_page,
    format_nanos_as_dollars,
    list_writes_in_doubt,
    remark_on_task,
)
from services.gateway.features.console.views.timeline import build_stages, build_timeline_states
from shared.contracts.assessment.results import ActionLogEntry, Run, WorldAfterTurn
from shared.contracts.task import TaskEvent, TaskRecord
from shared.domain.exact_json import Json
from shared.domain.words import TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row
from tests.kept_assessments import a_run, an_assessment

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PARIS = PageClock(NOON, ZoneInfo("Europe/Paris"))


@each_row(
    ("at", "words"),
    (NOON, "13:00"),
    (NOON + timedelta(hours=11, minutes=30), "23 Nov 00:30"),
    (NOON - timedelta(days=40), "13 Oct 14:00"),  # summer time
    (NOON + timedelta(days=60), "21 Jan 2027 13:00"),
)
def test_times_are_those_of_the_readers_clock(at: datetime, words: str) -> None:
    assert format_time(at, PARIS) == words


@each_row(
    ("seconds", "words"), (0.2, "now"), (45, "in 45 s"), (-90, "1 min ago"), (3600, "in 1 h"), (172800, "in 2 days")
)
def test_how_far_away_a_time_is(seconds: float, words: str) -> None:
    assert relative_time(NOON + timedelta(seconds=seconds), NOON) == words


@each_row("name", ["", "Nowhere/At_All", "../../etc/passwd", "x" * 5000, "\x00"])
def test_a_zone_that_there_is_not_is_utc(name: str) -> None:
    assert find_zone(name).key == "UTC"


@each_row(
    ("value", "words"),
    (Decimal("2340.00"), "2340.00"),
    ("EXP-1001", "EXP-1001"),
    (None, "nothing"),
    (True, "yes"),
    (
        {"lines": [{"sku": "A", "price": Decimal("1.10")}], "none": []},
        "lines:\n  -\n    sku: A\n    price: 1.10\nnone: none",
    ),
)
def test_a_value_keeps_every_digit(value: Json, words: str) -> None:
    assert format_json(value) == words


@each_row(("nanos", "words"), [(0, "$0.00"), (4_200_000, "$0.0042")])
def test_money_is_told_to_the_cent_or_to_where_it_begins(nanos: int, words: str) -> None:
    assert format_nanos_as_dollars(nanos) == words


@pytest.mark.promise("console.forms")
@each_row(
    "wanted",
    "https://evil.example/",
    "//evil.example",
    "/console//evil.example",
    "/console/\\evil",
    "javascript:x",
    "",
    "/tasks",
)
def test_after_a_form_one_goes_on_where_one_was_and_nobody_is_led_away(wanted: str) -> None:
    assert choose_safe_destination(wanted) == "/console/"
    assert choose_safe_destination("/console/tasks/a%2Fb?page=2") == "/console/tasks/a%2Fb?page=2"


@pytest.mark.promise("console.forms")
def test_a_forms_token_is_that_of_its_secret_alone() -> None:
    assert is_form_token_of("s", derive_form_token("s"))
    assert not any(
        is_form_token_of(secret, token)
        for secret, token in [("s", derive_form_token("t")), ("s", ""), ("", derive_form_token(""))]
    )
    assert not is_form_token_of("s", "\u00e9")


CSS = (ASSETS_FOLDER / "console.css").read_text()
TEXT, PARTS = 4.5, 3.0
PAIRS = [
    *(("text", ground, TEXT) for ground in ("ground", "surface", "sunken")),
    *(("muted", ground, TEXT) for ground in ("ground", "surface", "sunken", "mute-soft")),
    *(("accent-text", ground, TEXT) for ground in ("ground", "surface", "accent-soft", "sunken")),
    ("on-accent", "accent", TEXT),
    ("on-accent", "accent-hover", TEXT),
    *((tone, f"{tone}-soft", TEXT) for tone in ("good", "warn", "bad", "info", "mute")),
    *((tone, "surface", TEXT) for tone in ("warn", "bad")),
    ("line-strong", "surface", PARTS),
    ("line-strong", "ground", PARTS),
    *(("focus", ground, PARTS) for ground in ("ground", "surface", "sunken", "accent-soft")),
    *(("accent", ground, PARTS) for ground in ("ground", "surface")),
    *((f"series-{name}", "surface", PARTS) for name in "abcd"),
]


def _tokens(place: int) -> dict[str, str]:
    """The colours of the light theme (0) or of the dark one (-1)."""
    block = CSS[: CSS.index("}")]
    told = re.findall(r"--([a-z0-9-]+): (?:light-dark\()?(#[0-9a-f]{6}(?:, #[0-9a-f]{6})?)\)?;", block)
    return {name: colours.split(", ")[place] for name, colours in told}


THEMES = {"light": _tokens(0), "dark": _tokens(-1)}


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.promise("console.everybody")
@each_row("theme", THEMES)
def test_text_and_parts_stand_out_from_their_ground(theme: str) -> None:
    tokens = THEMES[theme]
    weak = {
        (front, back): round(contrast(tokens[front], tokens[back]), 2)
        for front, back, least in PAIRS
        if contrast(tokens[front], tokens[back]) < least
    }
    assert weak == {}


def told(*events: tuple[str, dict[str, JsonValue]]) -> list[tuple[str, TaskEvent]]:
    return [
        (f"{place}-0", TaskEvent(kind=kind, at=NOON + timedelta(seconds=place), data=data))
        for place, (kind, data) in enumerate(events)
    ]


def record(state: TaskState = TaskState.WORKING, **metadata: JsonValue) -> TaskRecord:
    return a_record("s").model_copy(update={"state": state, "metadata": metadata})


STORY = told(
    ("submitted", {"turn_id": "t"}),
    ("phase", {"phase": "PRIME"}),
    ("phase", {"phase": "EXECUTE"}),
    ("note", {"strategy": "fsm", "chosen_because": "first visit"}),
    ("state", {"state": "DECOMPOSE"}),
    ("state", {"state": "ASSESS"}),
    ("tool", {"tool": "get_expense", "ok": True}),
    ("tool", {"tool": "delete_all", "refused": "a tool of class change"}),
    ("state", {"state": "POLICY_CHECK"}),
    ("verdict", {"passed": True, "rules": ["LIMIT"]}),
    ("state", {"state": "MUTATE"}),
    ("write", {"tool": "approve_expense", "status": "verified", "note": "read back: status=approved"}),
    ("something_new", {"of": "a later version", "depth": {"two": 2}}),
)


@pytest.mark.promise("console.timeline")
def test_the_rail_tells_where_the_task_is_and_stands_when_its_events_have_left() -> None:
    progress = {stop.state_name: stop.progress for stop in build_timeline_states(STORY, record())}
    assert progress == {
        "DECOMPOSE": "done", "ASSESS": "done", "COMPUTE": "passed", "POLICY_CHECK": "done", "APPROVAL_GATE": "passed",
        "MUTATE": "now", "SCHEDULE_NOTIFY": "ahead", "COMPLETE": "ahead",
    }  # fmt: skip
    states: list[JsonValue] = ["DECOMPOSE", "ASSESS", "COMPLETE", "NOT_A_STATE"]
    stops = build_timeline_states([], record(TaskState.COMPLETED, states=states))
    assert [stop.state_name for stop in stops if stop.progress == "done"] == ["DECOMPOSE", "ASSESS", "COMPLETE"]


@each_row("state", [TaskState.FAILED, TaskState.CANCELED])
def test_where_a_task_stopped_is_marked(state: TaskState) -> None:
    stops = build_timeline_states(STORY, record(state))
    assert [stop.state_name for stop in stops if stop.progress == "bad"] == ["MUTATE"]
    assert not [stop for stop in stops if stop.progress in ("now", "ahead")]


@pytest.mark.promise("console.timeline")
def test_each_step_stands_under_its_state_in_plain_words_and_what_has_none_yet_with_its_fields() -> None:
    found = {stage.state_name: [step.description.title for step in stage.steps] for stage in build_stages(STORY)}
    assert found == {
        "PRIME": ["Message received", "Strategy: State machine"],
        "DECOMPOSE": [],
        "ASSESS": ["Called get_expense", "Refused to call delete_all"],
        "POLICY_CHECK": ["The policy asks for more"],
        "MUTATE": ["Verified: approve_expense", "Something new"],
    }
    last = build_stages(STORY)[-1].steps[-1].description
    assert last.rows == (("of", "a later version"), ("depth", "two: 2"))


def test_figures_that_are_spoiled_are_left_out() -> None:
    """Whatever an older or newer executor has written, the page can be made."""
    spoiled: dict[str, JsonValue] = {
        "spend": {"dollars": "much", "tokens": "many"}, "writes": [1, {"arguments": 3}], "verdict": [], "doubts": "x",
    }  # fmt: skip
    found = record(TaskState.INPUT_REQUIRED, **spoiled)
    page = build_task_page(found, NOON)
    assert (page.asks, list_writes_in_doubt(found), build_policy_evidence(found), list_quality_parts(found)) == (
        "",
        (),
        None,
        (),
    )
    assert len(build_write_rows(build_rows_from_record(found), None)) == 1


@each_row(("asked", "dry"), [({"dry_run": True}, True), ({"dry_run": 0}, True), ({"dry_run": False}, False)])
def test_a_dry_run_is_not_taken_for_a_real_one(asked: dict[str, JsonValue], dry: bool) -> None:
    found = a_record("s")
    request = found.request.model_copy(update={"metadata": asked})
    ended = found.model_copy(update={"state": TaskState.COMPLETED, "request": request})
    assert (remark_on_task(ended) == DRY_RUN_REMARK, build_task_page(ended, NOON).brief.startswith("dry run")) == (
        dry,
        dry,
    )


def test_what_many_calls_have_in_common_is_said_once() -> None:
    events = told(
        ("plan", {"calls": ["pay", "pay", "tell"]}),
        ("verdict", {"passed": False, "rules": ["r1", "r1", "r2"], "why": ["Too much.", "Too much.", "Never."]}),
    )
    steps = [step.description for stage in build_stages(events) for step in stage.steps]
    assert [(step.title, step.text) for step in steps] == [
        ("Planned to write: pay (2 times), tell", ""),
        ("The policy does not let it pass", "r1, r2: Too much. Never."),
    ]


@pytest.mark.promise("prose.said")
@each_row(("metadata", "said"), [({"policy_unenforced": "It only advised."}, "It only advised."), ({}, "")])
def test_the_page_says_what_of_a_requests_policy_was_not_enforced(metadata: dict[str, JsonValue], said: str) -> None:
    assert find_unenforced_policy(record().model_copy(update={"metadata": metadata})) == said


def _entry(action: str, said: dict[str, JsonValue] | None = None, **more: JsonValue) -> ActionLogEntry:
    fields = {"turn": 1, "timestamp": datetime(2026, 3, 2, tzinfo=UTC), "action": action, "parameters": said or {}}
    return ActionLogEntry.model_validate({**fields, **more})


@pytest.mark.promise("console.replay")
def test_reads_that_follow_each_other_are_one_row_a_refused_one_its_own_and_an_action_tells_of_its_rows() -> None:
    reads = [_entry(name, kind="read") for name in ("chat.query", "email.state", "email.state")]
    moved = _entry("email.move", {"message_ids": ["m-1", "m-2"], "folder": "spam"})
    refused = _entry("events.list", kind="refused", success=False, error_message="was answered 403")

    rows = build_action_rows([*reads, moved, reads[0], refused], {"m-1": "You have won"})

    assert [row.title for row in rows[:3]] == ["3 reads", "Email: move", "Chat: query"]
    assert [row.gist for row in rows[:2]] == ["Chat: query, Email: state × 2", "You have won · m-2 · spam"]
    assert [(row.badge.text, row.error) for row in rows[2:]] == [("Read", ""), ("Refused", "was answered 403")]


@pytest.mark.promise("console.replay")
def test_what_the_simulator_counts_is_named_in_words_and_says_how_it_moved() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    looks = [
        WorldAfterTurn(turn=turn, time=noon, counts={"email": {"total_unread_count": 4 - turn}}) for turn in (0, 1)
    ]
    results = SimpleNamespace(world=looks, action_log=(), failed_turns=(), turns_taken=1)
    run = cast("Run", SimpleNamespace(results=results, updates=()))

    ((title, (count,)),) = build_replayed_turn(run, list_timeline_turns(run), 1).counts

    assert (title, *count) == ("Email", "Unread", 3, "-1")


@pytest.mark.promise("console.replay")
@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z", "soon", 8])
def test_a_turn_that_began_at_a_time_that_is_none_stands_without_one(time: JsonValue) -> None:
    update: JsonValue = {"message_type": "update_turn_started", "turn_number": 1, "current_time": time}
    (run,) = an_assessment(runs=[a_run(updates=[update], world=[])]).runs

    assert {turn.at for turn in list_timeline_turns(run)} == {None}
