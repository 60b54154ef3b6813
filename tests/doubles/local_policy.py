"""The policy service's own core behind the port, in this process: real rules without HTTP."""

from typing_extensions import override

from services.executor.ports.services import PolicyService
from services.policy.core.allowances import decide_allowances
from services.policy.core.evaluate import evaluate
from services.policy.core.prepared import prepare_policies
from services.policy.core.prose import check_translated_rules
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest


class LocalPolicy(PolicyService):
    """Messages go through their JSON, as they do over the wire."""

    def __init__(self) -> None:
        self.asked: list[EvaluateRequest] = []

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        self.asked.append(request)
        read = EvaluateRequest.from_json(request.to_json())
        return Verdict.from_json(evaluate(read).to_json())

    @override
    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        return decide_allowances(request, prepare_policies(request.policies))

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return check_translated_rules(ProseRequest.from_json(request.to_json()))
