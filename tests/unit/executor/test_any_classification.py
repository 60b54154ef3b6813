"""Whatever a model says of a task's process, the task is walked to an end, and nothing is written unjudged."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.executor.core.fsm.templates import TEMPLATES
from shared.domain.exact_json import Json, dumps
from shared.domain.words import FsmState, TaskState
from tests.doubles.scripted_model import json_reply, text_reply, tool_reply
from tests.unit.executor.archived import replayed
from tests.unit.executor.classified import UNCLEAR
from tests.unit.executor.stage import Stage

_WORDS = st.sampled_from([*TEMPLATES, "badge_renewal", "Badge Renewal", "unknown", "", "x" * 300, "</task>", "C-1"])
_LABELS = st.fixed_dictionaries(
    {
        "process_type": st.just("badge_renewal") | _WORDS,
        "confidence": st.sampled_from([0, 1, 2]),
        "why": st.text(max_size=9),
    }
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


def _said(reply: Json, cut: int | None) -> str:
    return dumps(reply)[:cut]


@pytest.mark.promise("synthesis.validated")
@pytest.mark.promise("prime.classify_fallback")
@settings(max_examples=30, deadline=None)
@given(label=_LABELS, design=_DESIGNS, cut=st.none() | st.integers(0, 60), calls=st.booleans())
async def test_any_label_and_any_design_end_well(
    label: dict[str, Json], design: dict[str, Json], cut: int | None, calls: bool
) -> None:
    """Cut off, of other kinds and out of order; a tool that is asked for is not called; a replay does the same."""
    stage = Stage(UNCLEAR)
    stage.scripts["classify"] = (
        tool_reply(("approve_claim", {"claim_id": "C-1"})) if calls else text_reply(_said(label, cut))
    )
    stage.scripts["new_process"] = json_reply(design)
    record = await stage.run()
    states = record.metadata["states"]
    assert record.state in (TaskState.COMPLETED, TaskState.INPUT_REQUIRED)
    assert isinstance(states, list)
    if stage.claims.applied:
        assert record.metadata["verdict"]
        assert FsmState.ASSESS in states[: states.index(FsmState.MUTATE)]
    assert (await replayed(stage)).difference == "" or record.state is TaskState.INPUT_REQUIRED
