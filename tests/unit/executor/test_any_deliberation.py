"""Whatever a model says while a strategy thinks, the run ends, writes only what was let through, and is replayed."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.ports.models import ModelReply, ModelRequest
from shared.domain.answer import is_exact_match
from shared.domain.exact_json import Json, dumps, plain
from shared.domain.words import FsmState, Strategy, TaskState
from tests.doubles.scripted_model import json_reply, state_of, text_reply, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.deliberating import FOUND, READ_CLAIM, read
from tests.unit.executor.stage import CALL, TASK, Stage

_TOOLS = st.sampled_from(["get_claim", "approve_claim", "notify_person", "calculate", "drop_table", ""])
_ARGUMENTS: st.SearchStrategy[Json] = st.sampled_from(
    [{"claim_id": "C-1"}, {"claim_id": "C-2"}, {"claim_id": {"$ref": "s1.id"}}, {"claim_id": {"$ref": "s9"}}, {}, []]
)
_READS = st.builds(
    lambda name, tool, given: {**read(name, tool), "arguments_json": dumps(given)},
    st.sampled_from(["s1", "s2", "s1"]),
    _TOOLS,
    _ARGUMENTS,
)
_VALUES = st.sampled_from(
    [
        {"name": "a", "operation": "sum", "operands": [], "value": "1"},
        {
            "name": "amount",
            "operation": "sum",
            "operands": [{"source": "result", "ref": "f1", "path": "amount", "literal": ""}],
            "value": "120.50",
        },
    ]
)
_PLANS = st.fixed_dictionaries(
    {
        "reads": st.lists(st.just(READ_CLAIM) | _READS, max_size=9),
        "look_again": st.booleans(),
        "answer_format": st.sampled_from(["prose", "list"]),
    }
)
_FINDINGS = st.fixed_dictionaries(
    {"values": st.lists(_VALUES, max_size=2), "findings": st.sampled_from(["open", "not open", "C-1 is 7.00", ""])}
)
_WRITES = st.sampled_from([[CALL], [], [{**CALL, "arguments_json": '{"claim_id":"C-2"}'}]])
_JSON = st.one_of(
    _PLANS,
    _FINDINGS,
    st.just(FOUND),
    st.builds(lambda calls: {"calls": calls, "why_none": None}, _WRITES),
).map(plain)
_TEXTS = st.sampled_from(["", "done", '["C-1"]', '["C-1","C-2"]', "```json\n[1]\n```", "- a\n- b", "[", "not done"])
_REPLIES = st.one_of(
    _JSON.map(json_reply),
    st.builds(lambda said, cut: text_reply(dumps(said)[:cut]), _JSON, st.integers(0, 40)),
    _TEXTS.map(text_reply),
    st.builds(lambda tool: tool_reply((tool, {"claim_id": "C-2"})), _TOOLS),
    _TEXTS.map(lambda text: text_reply(text)._replace(stop_reason="max_tokens")),
)
_ALL = pytest.mark.parametrize("strategy", Strategy)


class _Fickle:
    """Answers a state mostly as it should, and else with the next of some other replies."""

    def __init__(self, usual: Stage, odd: list[tuple[bool, ModelReply]]) -> None:
        self._usual = dict(usual.scripts)
        self._odd: Iterator[tuple[bool, ModelReply]] = iter(odd)

    def __call__(self, request: ModelRequest) -> ModelReply:
        is_odd, reply = next(self._odd, (False, text_reply("")))
        if is_odd:
            return reply
        script = self._usual[state_of(request).lower().replace(" ", "_")]
        return script if isinstance(script, ModelReply) else script(request)


@_ALL
@pytest.mark.promise("strategy.obeys_the_gate")
@pytest.mark.promise("strategy.same_replay")
@settings(max_examples=15, deadline=None)
@given(odd=st.lists(st.tuples(st.booleans(), _REPLIES), max_size=12))
async def test_any_replies_end_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    """Reads, conclusions, plans and answers of any kind: cut off, of other states, with calls of any tool."""
    await _ends_well(strategy, odd)


@_ALL
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.promise("strategy.obeys_the_gate")
@settings(max_examples=300, deadline=None)
@given(odd=st.lists(st.tuples(st.booleans(), _REPLIES), max_size=20))
async def test_any_replies_of_many_runs_end_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    await _ends_well(strategy, odd)


async def _ends_well(strategy: Strategy, odd: list[tuple[bool, ModelReply]]) -> None:
    stage = _stage(strategy)
    fickle = _Fickle(stage, odd)
    stage.scripts = dict.fromkeys(stage.scripts, fickle)
    record = await stage.run()
    assert record.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED)
    _wrote_only_what_was_let_through(stage)
    if record.answer and is_exact_match(record.answer):
        assert _said_by_the_model(stage, record.answer)
    if record.state.is_terminal:
        assert (await replayed(stage)).difference == ""


def _stage(strategy: Strategy) -> Stage:
    stage = Stage(TASK)
    stage.limits = stage.limits._replace(strategies=(strategy,), iterations=3)
    stage.scripts["plan"] = json_reply({"reads": [READ_CLAIM], "look_again": False, "answer_format": "prose"})
    stage.scripts["conclude"] = json_reply(FOUND)
    return stage


def _wrote_only_what_was_let_through(stage: Stage) -> None:
    """Every write stands in the ledger, and was made in MUTATE over a plan that passed its verdict."""
    metadata = stage.turns.record.metadata
    states, verdict = metadata.get("states"), metadata.get("verdict")
    applied = [entry.arguments_json for entry in stage.turns.writes.values() if entry.call.tool == "approve_claim"]
    assert len(stage.claims.applied) <= len(applied)
    if stage.claims.applied:
        assert isinstance(states, list)
        assert FsmState.MUTATE in states
        assert isinstance(verdict, dict)
        assert verdict["passed"]


def _said_by_the_model(stage: Stage, answer: str) -> bool:
    """To the byte, somewhere in what the model said; nothing of ours is in it."""
    return any(dumps(answer)[1:-1] in step.data_json for step in stage.turns.steps.values() if step.kind == "model")
