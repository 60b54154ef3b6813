"""What a plan writes in the place of a figure of its process is that figure, or a person is asked (I2, I8)."""

from decimal import Decimal

import pytest

from services.executor.core.process.rules import deviations
from services.executor.core.process.synthesis import problems
from services.executor.core.session.values import NamedValue
from services.executor.core.states.machine import TEMPLATES, Figure, ProcessTemplate
from shared.contracts.plan import PlannedCall
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import judged, made
from tests.unit.executor.stage import Stage, decision, use
from tests.unit.executor_core.makers import call

FINANCE = Principal(id="treasurer", roles=(Role.APPROVER,), levels=("finance",))
_AGREEMENT: JsonObject = {
    "id": "SLA-1", "monthly_fee": "9000.00", "credit_pct": "10", "cap_pct": "50", "allowed_downtime_minutes": 30
}  # fmt: skip
_INCIDENT: JsonObject = {"id": "INC-1", "agreement_id": "SLA-1", "downtime_minutes": 90}


async def _credit(amount: Json) -> Stage:
    """A broken agreement whose credit is 900, and a plan that says what the credit is."""
    credit = use("issue_credit", incident_id="INC-1", amount=amount)
    reads: dict[str, Json] = {"get_agreement": _AGREEMENT, "get_incident": _INCIDENT}
    return await judged(TEMPLATES["sla_breach"], "SLA breach INC-1: issue the credit", reads, credit)


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
    [
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
    ],
)
def test_a_governed_argument_is_the_figure_however_it_is_written_and_wherever_it_stands(
    tool: str, arguments: JsonObject, differs: bool
) -> None:
    found = deviations(_FIGURES, (_call(tool, arguments),), _values())
    assert list(found) == (["credit"] if differs else [])


@pytest.mark.promise("process.governs")
def test_a_figure_of_another_record_and_a_call_that_changes_nothing_are_left_alone() -> None:
    pay = _call("pay", {"id": "INC-1", "amount": 7})
    assert deviations(_FIGURES, (pay,), _values("INC-1"))
    assert not deviations(_FIGURES, (pay,), _values("INC-2"))
    assert not deviations(_FIGURES, (_call("tell", {"amount": 7}, ToolClass.NOTIFY),), _values())


def test_a_process_file_that_governs_no_argument_is_refused() -> None:
    general = TEMPLATES["general"]
    bad = Figure(name="f", operation="sum", operands=("a.b",), governs=("Amount[]",))
    template = ProcessTemplate(process_type="t", states=general.states, figures=(bad,))
    assert "'Amount[]' is no argument" in next(problems(template))
