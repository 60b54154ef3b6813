"""What a process brings into a run: its section, its figures, its rules beside the tenant's, and its own end."""

from decimal import Decimal

import pytest

from services.executor.core.states.machine import TEMPLATES, Figure, ProcessTemplate, with_end
from shared.contracts.policy import Rule, TriggeredRule
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import FsmState, Role, RuleAction, TaskState, ToolClass
from shared.domain.words import FsmState as S
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.begun_as import begun_as
from tests.unit.executor.stage import APPROVE, TASK, RealPolicy, Stage, decision, use

LEFT = Figure(name="left", operation="difference", operands=("claim.limit", "claim.amount"))
OVER = Rule(id="over", condition="figures.left < 0", action="require_approval", level="finance", if_known=True)
PROCESS = ProcessTemplate(
    process_type="visit",
    states=(S.DECOMPOSE, S.ASSESS, S.COMPUTE, S.POLICY_CHECK, S.MUTATE, S.COMPLETE),
    instructions={S.ASSESS: "Look at the\nclaim.", S.MUTATE: "Decide it once.", S.COMPLETE: "Say it."},
    outputs=("decision",),
    figures=(LEFT,),
    rules=(OVER,),
)
_WITH_LIMIT = use("approve_claim", claim_id="C-1", left="7", figures={"left": 7}, verb="read")

_FINANCE = Principal(id="treasurer", roles=(Role.APPROVER,), levels=("finance",))


async def _stage(template: ProcessTemplate, *calls: tuple[str, JsonObject], limit: str | None = "100.00") -> Stage:
    stage = await begun_as(template, *(calls or (APPROVE,)), text=f"{TASK}, of which 7 for taxis")
    stage.policy = RealPolicy()
    if limit is not None:
        stage.claims.rows["C-1"]["limit"] = limit
    return stage


def _told(stage: Stage) -> Json:
    """What the model is told of the process when it has said what it understood."""
    understood = texts_in(stage.model.requests[-1]).partition("<parts>\n")[2].partition("\n</parts>")[0]
    return loads_object(understood)["process"]


@pytest.mark.promise("process.rules")
async def test_a_rule_on_a_figure_decides_and_names_who_has_to_approve() -> None:
    """The claim is 20.50 over its limit, whatever the model computed."""
    stage = await _stage(PROCESS)
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], why="over: figures.left < 0")
    assert "finance" in str(record.reason)
    asked = stage.policy.asked[-1].calls[0].fields
    assert asked["figures"] == {"left": Decimal("-20.50")}
    assert (asked["verb"], asked["tool_class"]) == ("approve", "change")


@pytest.mark.promise("process.rules")
async def test_no_argument_takes_the_place_of_a_figure_or_of_the_verb_nor_does_a_value_that_the_model_states() -> None:
    """A plan may call its arguments what it likes; what the model works out is a value of its own, or nothing."""
    stage, stating = await _stage(PROCESS, _WITH_LIMIT), await _stage(PROCESS)
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE)
    stated = use("calculate", name="left", operation="sum", operands=["120.50"])
    marked = use("calculate", **{**stated[1], "name": "mine", "figure": "left"})
    stating.talk.rounds.insert(1, [stated, marked])
    for one in (stage, stating):
        await one.ends(TaskState.INPUT_REQUIRED)
        fields = one.policy.asked[-1].calls[0].fields
        assert (fields["figures"], fields["verb"]) == ({"left": Decimal("-20.50")}, "approve")


@pytest.mark.promise("process.rules")
async def test_what_was_approved_on_a_figure_is_asked_again_when_the_figure_changed() -> None:
    """The limit was raised in between: the yes was to other inputs (I7)."""
    stage = await _stage(PROCESS)
    await stage.run()
    stage.claims.rows["C-1"]["limit"] = "110.00"
    await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", by=_FINANCE))
    assert stage.policy.asked[-1].calls[0].fields["figures"] == {"left": Decimal("-10.50")}
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", by=_FINANCE, turn_id="turn-3"))


@pytest.mark.promise("process.rules")
async def test_a_process_without_a_state_for_computing_has_its_figures_all_the_same() -> None:
    states = tuple(state for state in PROCESS.states if state is not S.COMPUTE)
    stage = await _stage(PROCESS.model_copy(update={"states": states}))
    assert (await stage.run()).state is TaskState.INPUT_REQUIRED


@pytest.mark.promise("process.only_tightens")
async def test_a_tenants_own_rules_are_judged_as_before_although_a_process_rule_speaks() -> None:
    """A broken service level that escalates by its own rule goes on by itself; the tenant's own wish comes first."""
    breach = TEMPLATES["sla_breach"].model_copy(
        update={"figures": (LEFT,), "rules": (OVER.model_copy(update={"action": "escalate"}),)}
    )
    free, bound = await _stage(breach), await _stage(breach)
    bound.change_tenant(unruled_writes="approve")

    assert (await free.run()).state is TaskState.COMPLETED
    assert ((await bound.run()).state, bound.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    stage = await _stage(PROCESS, _WITH_LIMIT, limit="500")
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE)
    strict = Rule(id="SEVEN", condition='left == "7"', action="block")
    stage.set_rules(strict)
    await stage.ends(TaskState.REJECTED, [])


@pytest.mark.promise("process.required")
@each_row(
    ("verbs", "state"),
    [((), TaskState.INPUT_REQUIRED), (("approve",), TaskState.INPUT_REQUIRED), (("modify",), TaskState.COMPLETED)],
)
async def test_a_strict_tenants_change_whose_required_figure_is_not_known_asks_a_person(
    verbs: tuple[str, ...], state: TaskState
) -> None:
    needed = LEFT.model_copy(update={"required": True, "required_for": verbs})
    stage = await _stage(PROCESS.model_copy(update={"figures": (needed,)}), limit=None)
    stage.change_tenant(strict_processes=True)
    record = await stage.ends(state)
    if state is TaskState.INPUT_REQUIRED:
        assert "left could not be computed: nothing was read that is the limit of the claim" in str(record.reason)


@pytest.mark.promise("process.section", "process.rules")
async def test_the_model_is_told_what_kind_of_process_it_works_in_and_what_could_not_be_computed() -> None:
    """The instructions of its states, what the answer has to speak of, and the figures as soon as they are known.

    Within the limit nobody is asked.
    """
    stage, unknown = await _stage(PROCESS, limit="120.50"), await _stage(PROCESS, limit=None)
    await stage.ends(TaskState.COMPLETED, ["C-1"])
    instruction = "Look at the claim. Decide it once. Say it."
    assert _told(stage) == {"type": "visit", "instruction": instruction, "outputs": ["decision"]}
    first, second, *_ = stage.model.requests
    assert '{"name":"left","value":"0.00"}' not in texts_in(first)
    assert '{"name":"left","value":"0.00"}' in texts_in(second)
    await unknown.run()
    why = "left could not be computed: nothing was read that is the limit of the claim"
    assert why in texts_in(unknown.model.requests[-1])


@pytest.mark.promise("process.said_twice")
async def test_a_plan_that_makes_the_same_change_twice_asks_a_person() -> None:
    """Two parts that ask for the same change may mean one or two of it: a person may want just that."""
    text = f"{TASK}. {TASK}, for the second time"
    first, second = ((APPROVE[0], {**APPROVE[1], "_call": {"part": number}}) for number in (1, 2))
    stage = await begun_as(PROCESS, first, second, text=text)
    stage.talk.parts = [(TASK, "do"), (f"{TASK}, for the second time", "do")]
    stage.policy = RealPolicy()

    await stage.ends(TaskState.INPUT_REQUIRED, why="the same call twice")
    assert stage.turns.writes == {}


_BREACH = "Approve claim C-1 of 120.50 for the downtime that broke the service level"


def _escalating(text: str = _BREACH, indeterminate: bool = False, **says: object) -> Stage:
    stage = Stage(text)
    stage.talk.process = "sla_breach" if "downtime" in text else "expense_approval"
    rule = TriggeredRule(
        rule_id="SERIOUS",
        policy_id="p",
        action=RuleAction.ESCALATE,
        level="legal",
        reason="It is a serious breach.",
        indeterminate=indeterminate,
    )
    asks = {"passed": False, "escalate": True, "escalation_level": "legal", "triggered_rules": (rule,)}
    stage.policy.says = {**asks, **says}
    return stage


@pytest.mark.promise("fsm.escalate_as_own_end")
async def test_a_breach_that_escalates_is_written_and_ends_completed_and_escalated() -> None:
    stage, listed = _escalating(), _escalating()
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], says="Escalated to legal: SERIOUS: It is a serious breach.")
    assert (stage.statuses, stage.states[-2:]) == (["verified"], ["SCHEDULE_NOTIFY", "ESCALATE"])
    assert (record.metadata["process_type"], record.metadata["escalated"]) == ("sla_breach", True)
    assert record.metadata["quality"] == (await Stage().run()).metadata["quality"]
    listed.talk.form, listed.talk.answer = "list", '["C-1"]'
    record = await listed.run()
    assert (record.answer, record.metadata["escalated"]) == ('["C-1"]', True)


@pytest.mark.promise("fsm.escalate_as_own_end")
@each_row("stage", lambda: [_escalating(indeterminate=True), _escalating(TASK), _escalating(requires_approval=True)])
async def test_a_rule_that_lacks_a_field_another_process_or_a_rule_that_asks_waits_for_a_person_first(
    stage: Stage,
) -> None:
    await stage.ends(TaskState.INPUT_REQUIRED, [])


def test_only_the_end_of_a_path_changes() -> None:
    states = TEMPLATES["sla_breach"].states
    assert with_end(states, escalated=True) == (*states[:-1], FsmState.ESCALATE)
    assert with_end(with_end(states, escalated=True), escalated=False) == states
