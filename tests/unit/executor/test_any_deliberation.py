"""Whatever a model says while a strategy thinks, the run ends, writes only what was let through, and is replayed."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.answer import as_list, is_exact_match
from shared.domain.exact_json import Json, JsonObject, dumps, plain
from shared.domain.words import FsmState, Strategy, TaskState
from shared.ports.models import ModelReply, ModelRequest, StopReason
from tests.doubles.scripted_model import json_reply, text_reply
from tests.doubles.scripted_talk import calls_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import only
from tests.unit.executor.stage import Stage

_TOOLS = st.sampled_from(
    ["get_claim", "approve_claim", "approve_claim", "notify_person", "calculate", "look", "understand", "leave_part",
     "what_would_policy_say", "use_tool", "drop_table", ""]
)  # fmt: skip
_CALL: st.SearchStrategy[Json] = st.sampled_from(
    [{"part": 1}, {"part": 1}, {"part": 2}, {"from": {"claim_id": "1.id"}}, {"part": "one"}, [], 5, None]
)
_ARGUMENTS: st.SearchStrategy[JsonObject] = st.one_of(
    st.sampled_from(
        [
            {"claim_id": "C-1"},
            {"claim_id": "C-2"},
            {"claim_id": {"$ref": "c1.id"}},
            {"text": "Claim C-1 is approved."},
            {"name": "twice", "operation": "sum", "operands": ["r1.amount", "r1.amount"]},
            {"name": "x", "operation": "sum", "operands": ["999.99"]},
            {"name": "open", "operation": "is_equal", "operands": ["r1.status", "open"], "part": 1},
            {"part": 1, "because": "it is not open", "ref": "r1"},
            {"ref": "r1", "fields": ["amount"]},
            {"tool": "approve_claim", "arguments": {"claim_id": "C-1"}},
            {"parts": [], "process": "payroll", "answer_form": "list"},
            {},
        ]
    ),
    st.builds(lambda said: {"claim_id": "C-1", "_call": said}, _CALL),
)
_CALLS = st.lists(st.tuples(_TOOLS, _ARGUMENTS), min_size=1, max_size=4)
_JSON = st.sampled_from([{"agrees": False, "problems": [{"part": 1, "why": "no"}]}, {"agrees": True}, [], {}]).map(
    plain
)
_BY_LINES = "- a\n- b"
_TEXTS = st.sampled_from(["", "done", '["C-1"]', '["C-1","C-2"]', "```json\n[1]\n```", _BY_LINES, "[", "not done"])
_STOPS: st.SearchStrategy[StopReason] = st.sampled_from(["end_turn", "tool_use", "max_tokens", "pause_turn"])
_REPLIES = st.one_of(
    st.builds(calls_reply, _CALLS, st.integers(50, 60), _TEXTS),
    st.builds(lambda calls, stop: calls_reply(calls, 70)._replace(stop_reason=stop), _CALLS, _STOPS),
    _JSON.map(json_reply),
    _TEXTS.map(text_reply),
    st.builds(lambda text, stop: text_reply(text)._replace(stop_reason=stop), _TEXTS, _STOPS),
    st.just(text_reply("")._replace(blocks=())),
)
_ALL = pytest.mark.parametrize("strategy", Strategy)


class _Fickle:
    """Says mostly what it should, and else the next of some other replies."""

    def __init__(self, usual: Stage, odd: list[tuple[bool, ModelReply]]) -> None:
        self._usual = usual.talk
        self._odd: Iterator[tuple[bool, ModelReply]] = iter(odd)

    def __call__(self, request: ModelRequest) -> ModelReply:
        is_odd, reply = next(self._odd, (False, text_reply("")))
        return reply if is_odd else self._usual(request)


@_ALL
@pytest.mark.promise("strategy.obeys_the_gate", "strategy.same_replay")
@settings(max_examples=15)
@given(odd=st.lists(st.tuples(st.booleans(), _REPLIES), max_size=12))
async def test_any_replies_end_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    """Reads, conclusions, plans and answers of any kind: cut off, of other states, with calls of any tool."""
    await _ends_well(strategy, odd)


@_ALL
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.promise("strategy.obeys_the_gate")
@settings(max_examples=300)
@given(odd=st.lists(st.tuples(st.booleans(), _REPLIES), max_size=20))
async def test_any_replies_of_many_runs_end_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    await _ends_well(strategy, odd)


async def _ends_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    stage = only(strategy)
    stage.limits = stage.limits._replace(iterations=10)
    stage.thinks = _Fickle(stage, odd)
    record = await stage.run()
    assert record.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED)
    _wrote_only_what_was_let_through(stage)
    if record.answer and is_exact_match(record.answer):
        assert _said_by_the_model(stage, record.answer)
    if record.state.is_terminal:
        assert (await replayed(stage)).difference == ""


def _wrote_only_what_was_let_through(stage: Stage) -> None:
    """Every write stands in the ledger, and was made in MUTATE over a plan that passed its verdict."""
    metadata = stage.turns.record.metadata
    states, verdict = metadata.get("states"), metadata.get("verdict")
    applied = [entry.arguments_json for entry in stage.turns.writes.values() if entry.call.tool == "approve_claim"]
    if stage.claims.applied:
        assert isinstance(states, list)
        assert FsmState.MUTATE in states
        assert isinstance(verdict, dict)
        assert verdict["passed"]
    assert all("999.99" not in entry.arguments_json for entry in stage.turns.writes.values())
    assert len(stage.claims.applied) == len(applied)


def _said_by_the_model(stage: Stage, answer: str) -> bool:
    """To the byte, somewhere in what the model said, or the list that it wrote by lines; nothing of ours is in it."""
    ways = (answer, *(text for text in (_BY_LINES,) if as_list(text) == answer))
    replies = [step.data_json for step in stage.turns.steps.values() if step.kind == "model"]
    return any(dumps(way)[1:-1] in reply for way in ways for reply in replies)
