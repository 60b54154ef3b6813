"""A policy on which rules are evaluated as the service does it."""

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import evaluate
from shared.contracts.policy import EvaluateRequest, Verdict
from tests.unit.executor.stage import SaidPolicy


class RealPolicy(SaidPolicy):
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        self.asked.append(request)
        return evaluate(EvaluateRequest.from_json(request.to_json()), ConditionCache())
