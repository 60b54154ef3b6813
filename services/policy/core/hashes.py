"""What a verdict is bound to: hashes over canonical JSON of the rules it applied and of the facts it saw."""

from collections.abc import Sequence

from shared.contracts.policy import EvaluateRequest, Policy
from shared.domain.exact_json import Json, digest, plain


def policy_hash(policies: Sequence[Policy]) -> str:
    """Changes when a policy, its version, its own context or any rule changes; not when a contract gains a field."""
    return digest([_identity(policy) for policy in policies])


def context_hash(request: EvaluateRequest) -> str:
    """Changes when a fact or a planned call changes."""
    calls: list[Json] = [[call.call_id, call.tool, plain(call.fields)] for call in request.calls]
    return digest([plain(request.context), calls])


def _identity(policy: Policy) -> Json:
    rules: list[Json] = [[rule.id, rule.condition, rule.action, rule.level, rule.reason] for rule in policy.rules]
    return [policy.id, policy.version, plain(policy.context), rules]
