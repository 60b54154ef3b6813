"""A plan's verdict as the executor asks for it and the policy service's own core gives it, in one process."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from services.executor.core.authorize.persons import tools_without_rule
from services.executor.core.authorize.policy import build_verdict_request
from services.executor.core.session.context import Limits, TurnContext
from services.executor.core.session.dossier import Dossier
from services.executor.core.session.values import Fact, NamedValue
from services.executor.core.states.machine import GENERAL_TEMPLATE, ProcessTemplate
from services.executor.core.tools.toolbox import Toolbox, build_toolbox
from services.policy.core.evaluate import evaluate
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import EvaluateRequest, Policy, Rule, Verdict
from shared.contracts.tenant import TenantRecord
from shared.domain.exact_json import Json, JsonObject
from tests.unit.executor_core.makers import call, fact


def read(tool: str, result: Json, ref: str = "f1", **asked: Json) -> Fact:
    return fact(result, ref, tool, asked=asked)


def change(tool: str, arguments: JsonObject, call_id: str = "c1") -> PlannedCall:
    return call(arguments, call_id, tool=tool)


def request(
    rules: Sequence[Rule],
    calls: Sequence[PlannedCall],
    facts: Sequence[Fact],
    template: ProcessTemplate = GENERAL_TEMPLATE,
    values: Sequence[NamedValue] = (),
    task: str = "Do it",
    box: Toolbox | None = None,
    policy: Policy | None = None,
) -> EvaluateRequest:
    """What the executor asks of a plan of these calls; it travels as it does between services."""
    context = SimpleNamespace(
        policies=(policy or Policy(id="house", rules=tuple(rules)),),
        task=task,
        limits=Limits(),
        tenant=TenantRecord(id="acme"),
        toolbox=box or build_toolbox(()),
        record=SimpleNamespace(task_id="t"),
    )
    dossier = Dossier(facts=tuple(facts), values=tuple(values), plan=WritePlan(task_id="t", calls=tuple(calls)))
    asked = build_verdict_request(cast(TurnContext, context), template, dossier)
    return EvaluateRequest.from_json(asked.to_json())


def verdict(
    rules: Sequence[Rule],
    calls: Sequence[PlannedCall],
    facts: Sequence[Fact],
    template: ProcessTemplate = GENERAL_TEMPLATE,
) -> Verdict:
    return evaluate(request(rules, calls, facts, template))


def is_let_through(found: Verdict, calls: Sequence[PlannedCall]) -> bool:
    """Whether a tenant that wants every unruled write approved would ask nobody."""
    plan = WritePlan(task_id="t", calls=tuple(calls))
    return found.passed and not found.requires_approval and not tools_without_rule(found, plan)
