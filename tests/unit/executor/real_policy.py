"""A policy on which rules are evaluated as the service does it."""

from services.policy.core.allowances import allowances
from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import prepare
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from tests.unit.executor.stage import SaidPolicy


class RealPolicy(SaidPolicy):
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        self.asked.append(request)
        return evaluate(EvaluateRequest.from_json(request.to_json()), ConditionCache())


class RealRules(RealPolicy):
    """With the service's rules about reads, too."""

    async def allowances(self, request: AllowanceRequest) -> Allowances:
        return allowances(request, prepare(request.policies, ConditionCache()))
