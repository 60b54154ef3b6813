"""What rules of a process decide: by its own figures, by what nobody knows, and that a figure is written as it is."""

from decimal import Decimal

import pytest

from services.executor.core.process.rules import find_deviating_arguments
from services.executor.core.process.synthesis import find_template_problems
from services.executor.core.session.values import NamedValue
from services.executor.core.states.machine import BUILT_IN_TEMPLATES, Figure, ProcessTemplate
from shared.contracts.plan import PlannedCall
from shared.contracts.policy import Rule, TriggeredRule
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import FsmState as S, Role, RuleAction, TaskState, ToolClass
from tests.doubles.scripted_talk import texts_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, judged, made
from tests.unit.executor.stage import APPROVE, TASK, RealPolicy, Stage, Use, decision, use
from tests.unit.executor_core.makers import call

_FINANCE = Principal(id="treasurer", roles=(Role.APPROVER,), levels=("finance",))


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
async def test_no_argument_or_record_stands_for_a_figure_or_the_verb_nor_does_a_value_that_the_model_states() -> None:
    """Both may call their fields what they like; what the model works out is a value of its own, or nothing."""
    stage, stating = await _stage(PROCESS, _WITH_LIMIT), await _stage(PROCESS)
    stage.servers.add("approve_claim", stage.claims.approve, ToolClass.CHANGE)
    stated = use("calculate", name="left", operation="sum", operands=["120.50"])
    marked = use("calculate", **{**stated[1], "name": "mine", "figure": "left"})
    stating.talk.rounds.insert(1, [stated, marked])
    for one in (stage, stating):
        one.claims.rows["C-1"]["verb"] = "read"
        await one.ends(TaskState.INPUT_REQUIRED)
        asked = one.policy.asked[-1].calls[0]
        assert (asked.fields["figures"], asked.fields["verb"]) == ({"left": Decimal("-20.50")}, "approve")
        assert not any("verb" in shown for shown in asked.recorded)


@pytest.mark.promise("process.rules")
async def test_what_was_approved_on_a_figure_is_asked_again_when_the_figure_changed() -> None:
    """The limit was raised in between: the yes was to other inputs (I7)."""
    stage = await _stage(PROCESS)
    await stage.run()
    stage.claims.rows["C-1"]["limit"] = "110.00"
    await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", by=_FINANCE))
    assert stage.policy.asked[-1].calls[0].fields["figures"] == {"left": Decimal("-10.50")}
    await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", by=_FINANCE, turn_id="turn-3"))


@pytest.mark.promise("process.only_tightens")
async def test_a_tenants_own_rules_are_judged_as_before_although_a_process_rule_speaks() -> None:
    """A broken service level that escalates by its own rule goes on by itself; the tenant's own wish comes first."""
    breach = BUILT_IN_TEMPLATES["sla_breach"].model_copy(
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
    template = PROCESS.model_copy(update={"figures": (needed,)})
    stage, told = await _stage(template, limit=None), await _stage(template, limit=None)
    stage.change_tenant(strict_processes=True)
    told.change_tenant(unruled_writes="approve")
    record, asked = await stage.ends(state), await told.ends(TaskState.INPUT_REQUIRED)
    why = "left could not be computed: nothing was read that is the limit of the claim"
    assert (why in str(record.reason)) is (state is TaskState.INPUT_REQUIRED)
    wanted = 1 if state is TaskState.INPUT_REQUIRED else 0
    assert [str(asked.reason).count(one) for one in ("Not known:", f"Not known:\n- {why}")] == [wanted, wanted]


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


_CLAIMS: dict[str, Json] = {
    "EXP-1": {"id": "EXP-1", "amount": "600.00", "department": "Ops"},
    "EXP-2": {"id": "EXP-2", "amount": "700.00", "department": "Ops"},
}
_BUDGET: JsonObject = {"id": "BUD-1", "department": "Ops", "available": "1000.00"}
_INVOICE: JsonObject = {
    "id": "INV-1",
    "vendor_id": "V-1",
    "order_id": "PO-1",
    "invoice_number": "N-7",
    "amount": "100.00",
}
_TOOLS: dict[str, Json] = {
    "get_expense": {"expenses": [*_CLAIMS.values()]},
    "get_budget": _BUDGET,
    "get_whole_budget": {**_BUDGET, "available": "1300.00"},
    "list_budgets": {"budgets": [_BUDGET, {**_BUDGET, "id": "BUD-2", "available": "9000.00"}]},
    "get_purchase_order": {"id": "PO-1", "amount": "1100.00", "department": "Ops"},
    "get_invoice": _INVOICE,
    "list_invoices": {"invoices": [_INVOICE]},
    "get_incident": {"id": "INC-1", "agreement_id": "SLA-1", "downtime_minutes": 90},
    "get_period": {"id": "P-1", "ledger_balance": "100000.00"},
    "get_order": {"id": "ORD-1", "total": "100.00"},
    "get_customer": {"id": "CUS-1", "name": "Ann"},
    "get_dispute": {"id": "D-1", "status": "open"},
    "get_payroll": {
        "payroll_runs": [{"id": "PR-1", "period": "2026-02", "country": "UK", "gross": "10", "tax": "2", "net": "8"}]
    },
}


async def _run(kind: str, text: str, read: tuple[str, ...], *calls: Use) -> tuple[Stage, list[JsonObject]]:
    """A strict tenant's task as this kind, with these tools read and these calls planned; and what was written."""
    stage = await judged(BUILT_IN_TEMPLATES[kind], text, {tool: _TOOLS[tool] for tool in read}, *calls, strict=True)
    return stage, made(stage)


_ONE = use("approve_expense", expense_id="EXP-1")


@pytest.mark.promise("process.needs_read")
@each_row(
    ("kind", "text", "read", "tool", "about", "needed"),
    ("expense_approval", "Approve EXP-1", ("get_expense",), *_ONE, "budget_after"),
    ("expense_approval", "Approve EXP-1", ("get_expense", "list_budgets"), *_ONE, "budget_after"),
    ("procurement", "Approve PO-1", ("get_purchase_order",), "approve_order", {"order_id": "PO-1"}, "budget_after"),
    ("invoice_reconciliation", "Pay INV-1", ("get_invoice",), "pay_invoice", {"invoice_id": "INV-1"}, "duplicates"),
    ("invoice_reconciliation", "Pay INV-1", ("list_invoices",), "pay_invoice", {"invoice_id": "INV-1"}, "variance"),
    ("sla_breach", "Credit INC-1", ("get_incident",), "issue_credit", {"incident_id": "INC-1"}, "sla_credit"),
    ("month_end_close", "Close P-1", ("get_period",), "close_period", {"period_id": "P-1"}, "close_variance"),
    ("compliance_audit", "CUS-1", ("get_customer",), "note_customer", {"customer_id": "CUS-1"}, "risk_rating"),
    ("dispute_resolution", "D-1", ("get_dispute",), "settle_dispute", {"dispute_id": "D-1"}, "elevated_review"),
    ("order_management", "Change ORD-1", ("get_order",), "add_order_item", {"order_id": "ORD-1"}, "price_delta"),
    ("payroll", "Payroll 2026-02", ("get_payroll",), "execute_run", {"run_id": "PR-1"}, "bank_difference"),
)
async def test_a_change_asks_where_what_decides_was_not_read(
    kind: str, text: str, read: tuple[str, ...], tool: str, about: JsonObject, needed: str
) -> None:
    """Whether it was not read or is ambiguous: nothing is written without somebody."""
    stage, written = await _run(kind, text, read, (tool, about))
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, [])
    assert f"needs-{needed}" in str(stage.turns.record.reason)


@pytest.mark.promise("process.needs_read")
@each_row(
    ("kind", "text", "read", "tool", "about"),
    ("expense_approval", "Reject EXP-1", ("get_expense",), "reject_expense", {"expense_id": "EXP-1"}),
    ("expense_approval", "Approve EXP-1", ("get_expense", "get_budget"), *_ONE),
    ("invoice_reconciliation", "Hold INV-1", ("get_invoice",), "hold_invoice", {"invoice_id": "INV-1"}),
    ("order_management", "Cancel ORD-1", ("get_order",), "cancel_order", {"order_id": "ORD-1"}),
)
async def test_a_harmless_change_and_a_well_read_one_ask_nobody(
    kind: str, text: str, read: tuple[str, ...], tool: str, about: JsonObject
) -> None:
    stage, written = await _run(kind, text, read, (tool, about))
    assert (stage.turns.record.state, written) == (TaskState.COMPLETED, [about]), stage.turns.record.reason


@pytest.mark.promise("process.several_subjects")
@each_row(
    ("text", "about"),
    ("Approve EXP-1 and EXP-2", {"expense_ids": ["EXP-1", "EXP-2"]}),
    ("Approve EXP-1 and EXP-2", {"expense_id": "EXP-1", "batch": "EXP-2"}),
    ("Approve EXP-1 and EXP-2", {"note": "both"}),
    ("Approve EXP-1", {"expense_id": "EXP-2"}),
)
async def test_a_call_that_names_several_records_or_another_one_asks(text: str, about: JsonObject) -> None:
    """A figure is known of one record, and of no call that is about more than it, or about another."""
    stage, written = await _run("expense_approval", text, ("get_expense", "get_budget"), ("approve_expense", about))
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, []), stage.turns.record.reason
    assert "needs-budget_after" in str(stage.turns.record.reason)


_BOTH = tuple(use("approve_expense", expense_id=one) for one in _CLAIMS)
_TWO = "Approve EXP-1 and EXP-2"


@pytest.mark.promise("process.several_subjects", "process.drawn_together")
@each_row(
    ("reads", "why"),
    (("get_expense", "get_budget"), "exp-1, exp-2 draw on the same: -300.00 is left after all of them"),
    (("get_expense", "get_whole_budget", "get_budget"), "needs-budget_after"),
)
async def test_two_claims_that_are_too_much_together_or_draw_on_a_budget_that_is_not_plain_ask_a_person(
    reads: tuple[str, ...], why: str
) -> None:
    """Although each is within the budget: whoever decides is told what both would leave."""
    stage, written = await _run("expense_approval", _TWO, reads, *_BOTH)
    assert (stage.turns.record.state, written) == (TaskState.INPUT_REQUIRED, [])
    assert why in str(stage.turns.record.reason)


@pytest.mark.promise("process.drawn_together")
async def test_claims_that_are_within_one_budget_together_ask_nobody_and_rules_see_what_both_leave() -> None:
    """To the cent; what one of them alone leaves is nobody's measure."""
    stage, written = await _run("expense_approval", _TWO, ("get_expense", "get_whole_budget"), *_BOTH)
    assert (stage.turns.record.state, written) == (TaskState.COMPLETED, [given for _, given in _BOTH])
    (asked, *_) = [request for request in stage.policy.asked if request.binding]
    assert [call.fields["figures"] for call in asked.calls] == [{"budget_after": Decimal("0.00")}] * 2
    assert stage.turns.record.metadata["values"] == {}  # neither is what is left now


@pytest.mark.promise("process.drawn_together")
@each_row(
    ("others", "state"), [([], TaskState.FAILED), ([("reject_expense", {"expense_id": "EXP-2"})], TaskState.COMPLETED)]
)
async def test_only_what_the_plan_draws_counts(others: list[tuple[str, JsonObject]], state: TaskState) -> None:
    """Not the claim that the task names too, and that the plan leaves alone or turns down; what is left is not done."""
    stage, written = await _run("expense_approval", _TWO, ("get_expense", "get_budget"), _ONE, *others)
    expected = [given for _, given in (_ONE, *others)]
    assert (stage.turns.record.state, written) == (state, expected), stage.turns.record.reason
    values = stage.turns.record.metadata["values"]
    assert isinstance(values, dict)
    assert [*values] == ["budget_after_exp_1"]


FINANCE = Principal(id="treasurer", roles=(Role.APPROVER,), levels=("finance",))
_AGREEMENT: JsonObject = {
    "id": "SLA-1", "monthly_fee": "9000.00", "credit_pct": "10", "cap_pct": "50", "allowed_downtime_minutes": 30
}  # fmt: skip
_INCIDENT: JsonObject = {"id": "INC-1", "agreement_id": "SLA-1", "downtime_minutes": 90}


async def _credit(amount: Json) -> Stage:
    """A broken agreement whose credit is 900, and a plan that says what the credit is."""
    credit = use("issue_credit", incident_id="INC-1", amount=amount)
    reads: dict[str, Json] = {"get_agreement": _AGREEMENT, "get_incident": _INCIDENT}
    return await judged(BUILT_IN_TEMPLATES["sla_breach"], "SLA breach INC-1: issue the credit", reads, credit)


@pytest.mark.promise("process.governs")
@each_row("amount", ["900.00", "$900", 900, Decimal("900.0")])
async def test_the_figure_itself_is_written_and_nobody_asked(amount: Json) -> None:
    stage = await _credit(amount)
    assert (stage.turns.record.state, len(made(stage))) == (TaskState.COMPLETED, 1), stage.turns.record.reason


@pytest.mark.promise("process.governs")
async def test_another_amount_waits_for_the_processs_highest_level_which_sees_both() -> None:
    """Ten times too much; that it stands in the agreement as the fee makes it traced, not right."""
    stage = await _credit("9000.00")
    record = stage.turns.record
    assert (record.state, made(stage)) == (TaskState.INPUT_REQUIRED, [])
    assert "the process's own sla_credit is 900.00; issue_credit has amount 9000.00" in (record.answer or "")
    assert "needed from finance" in (record.answer or "")
    await stage.ends(TaskState.COMPLETED, turn=decision("approve", FINANCE))
    assert len(made(stage)) == 1
    assert (await replayed(stage)).difference == ""


_FIGURES = (
    Figure(name="credit", operation="sum", operands=("x.y",), governs=("amount", "sla|service_level.total")),
    Figure(name="other", operation="sum", operands=("x.y",)),
)


def _values(about: str = "") -> tuple[NamedValue, ...]:
    return tuple(
        NamedValue(name=name, operation="sum", operands=(), value="900.00", figure=name, about=about)
        for name in ("credit", "other")
    )


def _call(tool: str, arguments: JsonObject, tool_class: ToolClass = ToolClass.CHANGE) -> PlannedCall:
    return call(arguments, tool_class=tool_class, tool=tool)


@pytest.mark.promise("process.governs")
@each_row(
    ("tool", "arguments", "differs"),
    ("pay", {"amount": "900"}, False),
    ("pay", {"amount": "900.01"}, True),
    ("pay", {"amount": "-900"}, True),
    ("pay", {"amount_cents": 90000}, False),
    ("pay", {"amountCents": 900}, True),
    ("pay", {"total_amount": 90}, True),
    ("pay", {"credit": {"lines": [{"amount": 900}, {"amount": 1}]}}, True),
    ("pay", {"amount": {"$ref": "c0.amount"}}, True),
    ("pay", {"amount": [900]}, True),
    ("pay", {"amount": "9000 for the outage"}, True),
    ("pay", {"amount": "as agreed"}, False),
    ("pay", {"amount": None, "other": 7, "fee": 7}, False),
    ("book_service_level", {"total": 7}, True),
    ("book_service", {"account_total": 7}, False),
)
def test_a_governed_argument_is_the_figure_however_it_is_written_and_wherever_it_stands(
    tool: str, arguments: JsonObject, differs: bool
) -> None:
    found = find_deviating_arguments(_FIGURES, (_call(tool, arguments),), _values())
    assert list(found) == (["credit"] if differs else [])


@pytest.mark.promise("process.governs")
def test_a_figure_of_another_record_and_a_call_that_changes_nothing_are_left_alone() -> None:
    pay = _call("pay", {"id": "INC-1", "amount": 7})
    assert find_deviating_arguments(_FIGURES, (pay,), _values("INC-1"))
    assert not find_deviating_arguments(_FIGURES, (pay,), _values("INC-2"))
    assert not find_deviating_arguments(_FIGURES, (_call("tell", {"amount": 7}, ToolClass.NOTIFY),), _values())


def test_a_process_file_that_governs_no_argument_is_refused() -> None:
    general = BUILT_IN_TEMPLATES["general"]
    bad = Figure(name="f", operation="sum", operands=("a.b",), governs=("Amount[]",))
    template = ProcessTemplate(process_type="t", states=general.states, figures=(bad,))
    assert "'Amount[]' is no argument" in next(find_template_problems(template))
