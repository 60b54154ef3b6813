"""Checkpoints: the run as it stood, exactly, and nothing stored twice."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.journal import Journal, restore_latest_progress
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from shared.contracts.policy import TriggeredRule
from shared.contracts.task import TaskRecord, TaskRequest
from shared.domain.exact_json import loads_object
from shared.domain.words import A2aVersion, FsmState
from tests.doubles.memory_turns import MemoryTurns
from tests.unit.executor_core.makers import NOON, call, fact, from_fact, plan, value, verdict

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
AMOUNTS = st.integers(-(10**9), 10**9).map(lambda cents: Decimal(cents).scaleb(-2))
SCALARS = st.none() | st.booleans() | st.integers() | AMOUNTS | TEXTS
RULES = st.builds(
    TriggeredRule,
    rule_id=TEXTS,
    policy_id=TEXTS,
    action=st.sampled_from(["block", "escalate", "require_approval"]),
    reason=TEXTS,
    values=st.dictionaries(TEXTS, SCALARS | st.lists(SCALARS, max_size=2), max_size=3),
)
DOSSIERS = st.builds(
    Dossier,
    needs=st.lists(TEXTS, max_size=2).map(tuple),
    facts=st.lists(st.builds(fact, st.dictionaries(TEXTS, SCALARS, max_size=2)), max_size=3).map(tuple),
    findings=TEXTS,
    values=st.sampled_from([(), (value("v", "sum", "1.50", from_fact("a")),)]),
    plan=st.sampled_from([None, plan(), plan(call({"amount": Decimal("1.50")}))]),
    verdict=st.none() | st.builds(lambda rules: verdict(triggered_rules=rules), st.lists(RULES, max_size=2)),
    approved_hash=st.none() | TEXTS,
    answer=st.none() | TEXTS,
)
STATES = st.lists(st.sampled_from(list(FsmState)), min_size=1, max_size=6).map(tuple)
PROGRESS = st.builds(
    Progress, template=st.sampled_from(list(BUILT_IN_TEMPLATES.values())), path=STATES, visited=STATES,
    read_only=st.booleans(), dossier=DOSSIERS,
    tool_calls=st.integers(0, 99), policy_versions=st.lists(TEXTS, max_size=2).map(tuple),
)  # fmt: skip


def turns() -> MemoryTurns:
    request = TaskRequest(text="t")
    times = {"accepted_at": NOON, "updated_at": NOON}
    base = {"tenant": "acme", "task_id": "t", "session_id": "s", "dialect": A2aVersion.LEGACY, "requester": {"id": "x"}}
    return MemoryTurns(TaskRecord.model_validate({**base, **times, "request": request}))


class OpenedTurn:
    """Checkpoints over a journal that is flushed after each."""

    def __init__(self, store: MemoryTurns) -> None:
        entries = tuple(store.steps.values())
        self._journal = Journal(store, entries, datetime.now(UTC), 60.0)
        self._journal.progress = restore_latest_progress(entries)

    async def save(self, progress: Progress, label: str = "entered") -> None:
        self._journal.save_progress(progress, label)
        await self._journal.flush()


@pytest.mark.promise("I5.paid_once")
@given(walk=st.lists(PROGRESS, min_size=1, max_size=4))
async def test_the_last_checkpoint_is_read_back_as_it_was(walk: list[Progress]) -> None:
    """By a process that was there from the start, and by one that takes over at each step."""
    kept, handed = turns(), turns()
    steady = OpenedTurn(kept)
    for number, progress in enumerate(walk):
        await steady.save(progress, f"at{number}")
        await OpenedTurn(handed).save(progress, f"at{number}")

    assert restore_latest_progress(kept.steps.values()) == restore_latest_progress(handed.steps.values()) == walk[-1]


async def test_an_unchanged_list_of_facts_is_stored_once() -> None:
    store = turns()
    start = Progress(path=(FsmState.DECOMPOSE,), visited=(FsmState.DECOMPOSE,))
    knowing = start.update_dossier(facts=(fact({"a": 1}),))

    await OpenedTurn(store).save(knowing)
    await OpenedTurn(store).save(knowing.move_to(FsmState.ASSESS).update_dossier(answer="found"))

    _, second = (loads_object(entry.data_json) for entry in store.steps.values())
    assert set(second) == {"visited", "dossier.answer"}


async def test_a_yes_that_becomes_a_one_is_a_change() -> None:
    store = turns()
    start = Progress(path=(FsmState.DECOMPOSE,), visited=(FsmState.DECOMPOSE,))
    rule = {"rule_id": "r", "policy_id": "p", "action": "block", "reason": "x"}
    for number, said in enumerate((True, 1)):
        await OpenedTurn(store).save(
            start.update_dossier(verdict=verdict(triggered_rules=[{**rule, "values": {"a": said}}])), str(number)
        )

    found = restore_latest_progress(store.steps.values())
    assert found is not None
    assert found.dossier.verdict is not None
    assert found.dossier.verdict.triggered_rules[0].values["a"] is not True


async def test_an_event_that_waits_alone_is_stored_when_a_turn_breaks_off() -> None:
    store = turns()
    journal = Journal(store, (), datetime.now(UTC), 60.0)
    for _ in range(2):
        journal.add_event("note", x=1)
        await journal.flush()
    await journal.flush()
    assert [event.kind for event in store.events] == ["note"] * 2
