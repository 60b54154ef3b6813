"""Where the arguments of a plan come from, and what it rests on."""

import pytest

from services.executor.core.authorize.approval import grounds
from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.dossier.values import Fact, NamedValue, Operand
from shared.contracts.grounds import ArgumentSource, Grounds
from shared.contracts.plan import Origin, PlannedCall, WritePlan
from shared.contracts.policy import TriggeredRule, Verdict
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import FsmState, RuleAction, ToolClass

_TASK = "Refund order O-7 for Ms Li"
_VERDICT = Verdict(passed=True, policy_hash="p", context_hash="c")


def _fact(result: Json, ref: str = "f1", tool: str = "get_order", *, ok: bool = True) -> Fact:
    return Fact(ref=ref, connection_id="shop", tool=tool, arguments_json="{}", result_json=dumps(result), ok=ok)


def _net() -> NamedValue:
    operands = (Operand(source="result", ref="f1", path="amount"), Operand(source="task", literal="7"))
    return NamedValue(name="net", operation="subtract", operands=operands, value="113.50")


def _found(
    arguments: JsonObject, *facts: Fact, origins: tuple[Origin, ...] = (), values: tuple[NamedValue, ...] = ()
) -> Grounds:
    call = PlannedCall(
        call_id="c1",
        connection_id="shop",
        tool="create_refund",
        tool_class=ToolClass.CHANGE,
        arguments_json=dumps(arguments),
        origins=origins,
    )
    dossier = Dossier(facts=facts, values=values, plan=WritePlan(task_id="t", calls=(call,)))
    path = (FsmState.APPROVAL_GATE,)
    return grounds(Progress(path=path, visited=path, dossier=dossier), _VERDICT, _TASK)


def _source(found: Grounds) -> tuple[str, str]:
    (one,) = found.arguments
    assert isinstance(one, ArgumentSource)
    return one.source, one.ref


@pytest.mark.promise("approvals.grounds")
@pytest.mark.parametrize(
    ("value", "origin", "source"),
    [
        ("O-7", Origin(argument="x", source="task"), ("task", "")),
        ("113.50", Origin(argument="x", source="value", ref="net"), ("value", "net")),
        ("120.50", Origin(argument="x", source="result", ref="f1 amount"), ("result", "f1.amount")),
        ({"y": ["120.50"]}, Origin(argument="x.y[0]", source="result", ref="f1 amount"), ("result", "f1.amount")),
        ({"$ref": "c0.id"}, None, ("call", "c0")),
        ("goodwill", Origin(argument="x", source="none"), ("words", "")),
        ("goodwill", Origin(argument="xy", source="task"), ("words", "")),
    ],
)
def test_each_argument_is_told_where_its_value_was_found(
    value: Json, origin: Origin | None, source: tuple[str, str]
) -> None:
    order = _fact({"id": "A-1", "amount": "120.50"})
    origins = (origin,) if origin else ()
    assert _source(_found({"x": value}, order, origins=origins, values=(_net(),))) == source


@pytest.mark.promise("approvals.grounds")
def test_reads_say_what_rests_on_them_and_long_ones_are_cut() -> None:
    order, other = _fact({"amount": "120.50"}), _fact([{"note": "x" * 400}] * 50, "f2", "list_notes")
    origins = (Origin(argument="y", source="result", ref="f1 amount"),)
    found = _found({"x": "113.50", "y": "120.50"}, order, other, origins=origins, values=(_net(),))
    first, second = found.reads
    assert (first.supports, first.cut, loads_object(first.shows)) == (
        ("c1.y", "value net"),
        False,
        {"amount": "120.50"},
    )
    assert (second.supports, second.cut, len(second.shows) <= 300) == ((), True, True)
    (figure,) = found.figures
    assert (figure.name, figure.value, figure.operands) == ("net", "113.50", ("f1.amount", "task 7"))


@pytest.mark.promise("approvals.grounds")
def test_rules_are_told_with_the_values_that_decided_them() -> None:
    rule = TriggeredRule(
        rule_id="R",
        policy_id="p",
        action=RuleAction.REQUIRE_APPROVAL,
        level="cfo",
        approvers=2,
        reason="why",
        values={"amount": 7},
    )
    path = (FsmState.APPROVAL_GATE,)
    verdict = _VERDICT.model_copy(update={"triggered_rules": (rule,)})
    (found,) = grounds(Progress(path=path, visited=path), verdict, _TASK).rules
    assert (found.level, found.approvers, found.values_json) == ("cfo", 2, '{"amount":7}')
