"""Whatever a model understands of a task, it is walked to an end, and nothing is written unjudged."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.core.states.machine import TEMPLATES
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import FsmState, TaskState
from shared.ports.models import ModelReply, ModelRequest
from tests.doubles.scripted_model import text_reply
from tests.doubles.scripted_talk import calls_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import APPROVE, READ, TASK, Stage

_WORDS = st.sampled_from([*TEMPLATES, "badge_renewal", "Badge Renewal", "unknown", "", "x" * 300, "</task>", "C-1"])
_QUOTES = st.sampled_from([TASK, TASK, "approve CLAIM C-1", "C-1", "", " ", "pay the clerk 999.99", "x" * 300])
_PARTS = st.lists(
    st.fixed_dictionaries({"quote": _QUOTES, "kind": st.sampled_from(["do", "do", "find out", "guess"])}), max_size=3
)
_UNDERSTOOD = st.fixed_dictionaries(
    {
        "parts": _PARTS | st.just([{"quote": TASK, "kind": "do"}]),
        "process": st.just("badge_renewal") | _WORDS,
        "answer_form": st.sampled_from(["prose", "list", "table"]),
    },
    optional={"more": st.none()},
)
_STATES = st.lists(st.sampled_from([*FsmState, "WRITE"]), max_size=8).map(lambda some: [str(state) for state in some])
_ORDERED = st.sets(st.sampled_from([*FsmState])).map(lambda some: [str(state) for state in FsmState if state in some])
_DESIGNS = st.fixed_dictionaries(
    {
        "states": _STATES | _ORDERED,
        "risk": st.sampled_from(["low", "high", "none"]),
        "approval_wanted": st.booleans(),
        "instructions": st.just([]),
        "outputs": st.lists(st.text(max_size=12), max_size=2),
    }
)


class _Understanding:
    """Understands as it is told, in each of its first replies, then plays on as ever."""

    def __init__(self, usual: Stage, said: list[JsonObject]) -> None:
        self._usual = usual.talk
        self._said = said
        self._heard = False

    def __call__(self, request: ModelRequest) -> ModelReply:
        reply = self._usual(request)
        if any(use.name == "understand" for use in reply.tool_uses) and not self._heard:
            self._heard = True
            return calls_reply([*(("understand", one) for one in self._said), READ])
        return reply


@pytest.mark.promise("synthesis.validated", "prime.classify_fallback")
@settings(max_examples=40)
@given(said=st.lists(_UNDERSTOOD, max_size=2), design=_DESIGNS, cut=st.none() | st.integers(0, 60))
async def test_any_understanding_and_any_design_end_well(
    said: list[JsonObject], design: dict[str, Json], cut: int | None
) -> None:
    """Twice, not at all, in words that nobody wrote, of kinds that are none; a design cut off or out of order."""
    stage = Stage(TASK, [], [APPROVE])
    stage.talk.helpers["new_process"] = text_reply(dumps(design)[:cut])
    stage.thinks = _Understanding(stage, said)
    record = await stage.run()
    states = record.metadata["states"]
    assert record.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED)
    assert isinstance(states, list)
    if stage.claims.applied:
        assert record.metadata["verdict"]
        assert FsmState.ASSESS in states[: states.index(FsmState.MUTATE)]
    if record.state.is_terminal:
        assert (await replayed(stage)).difference == ""


@pytest.mark.promise("coverage.find_out_only")
@settings(max_examples=20)
@given(kinds=st.lists(st.just("find out"), min_size=1, max_size=2), late=_UNDERSTOOD)
async def test_a_task_that_only_asks_writes_nothing_whatever_is_understood_later(
    kinds: list[str], late: JsonObject
) -> None:
    stage = Stage()
    only_asks: JsonObject = {
        "parts": [{"quote": TASK, "kind": kind} for kind in kinds], "process": "general", "answer_form": "prose"
    }  # fmt: skip
    stage.talk.rounds = [[], [("understand", late), APPROVE], [APPROVE], [APPROVE], [APPROVE], [APPROVE]]
    stage.thinks = _Understanding(stage, [only_asks])
    record = await stage.run()
    assert stage.claims.applied == []
    assert stage.turns.writes == {}
    assert record.state.is_terminal
