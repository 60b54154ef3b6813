"""Asks the policy service whether the rules in a tenant's record are valid."""

from collections.abc import Sequence

import httpx

from services.gateway.edge.errors import Unavailable
from shared.contracts.policy import EvaluateRequest, Policy, Verdict
from shared.contracts.tenant_document import FieldProblem
from shared.infra.tls import client_tls_context

_TIMEOUT = httpx.Timeout(5.0, connect=2.0)


async def find_policy_problems(url: str, policies: Sequence[Policy]) -> tuple[FieldProblem, ...]:
    """The errors in the policies' rules. ``url``: the policy service's; if empty, rules are not checked.

    An unchecked invalid rule blocks the tasks to which it is applied. Raises ``Unavailable``.
    """
    if not policies or not url:
        return ()
    request = EvaluateRequest(policies=tuple(policies), text="")
    headers = {"content-type": "application/json"}
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT, trust_env=False, verify=client_tls_context()) as client:
            answer = await client.post(f"{url.rstrip('/')}/v1/evaluate", content=request.to_json(), headers=headers)
    except httpx.HTTPError as error:
        raise Unavailable(f"the policy service does not answer ({type(error).__name__})") from error
    return _read_problems(policies, answer)


def _read_problems(policies: Sequence[Policy], answer: httpx.Response) -> tuple[FieldProblem, ...]:
    if answer.status_code in (400, 413, 422):
        return (FieldProblem("policies", f"the policy service takes none of them: {answer.text[:300]}"),)
    try:
        verdict = Verdict.from_json(answer.content) if answer.status_code == 200 else None
    except ValueError:
        verdict = None
    if verdict is None:
        raise Unavailable(f"the policy service answered HTTP {answer.status_code} and no verdict")
    places = {policy.id: index for index, policy in enumerate(policies)}
    return tuple(
        FieldProblem(f"policies.{places.get(problem.policy_id, problem.policy_id)}.{problem.rule_id}", problem.message)
        for problem in verdict.problems
    )
