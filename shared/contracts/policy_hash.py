"""Hashes over canonical JSON that name the policies and the context a verdict was decided by."""

import hashlib
from collections.abc import Sequence

from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule
from shared.domain.exact_json import Json, digest, dumps, to_exact
from shared.domain.identity_cache import IdentityCache


def hash_policies(policies: Sequence[Policy]) -> str:
    """The hash of a set of policies. Policies with equal hashes decide alike.

    It changes with a policy's version, context or rules, but not when the contract gains a field.
    """
    text = f"[{','.join(map(_encode_hashed_fields, policies))}]"
    return hashlib.sha256(text.encode()).hexdigest()


def hash_context(request: EvaluateRequest) -> str:
    """The hash of a request's facts and the task's text, and of the planned calls with all that is known of them."""
    calls: list[Json] = [_convert_call_to_json(call) for call in request.calls]
    texts: list[Json] = [] if request.text is None else [request.text]
    return digest([to_exact(request.context), calls, *texts])


def _convert_call_to_json(call: CallContext) -> Json:
    unproven: list[Json] = [to_exact(call.unproven)] if call.unproven else []
    recorded: list[Json] = [{"recorded": [to_exact(row) for row in call.recorded]}] if call.recorded else []
    summed: list[Json] = [{"summed": to_exact(call.summed)}] if call.summed else []
    unknown: list[Json] = [] if call.unknown_fields is None else [{"unknown": to_exact(call.unknown_fields)}]
    rows: list[Json] = [{"rows": [to_exact(row) for row in call.rows]}] if call.rows else []
    return [call.call_id, call.tool, to_exact(call.fields), *unproven, *recorded, *summed, *unknown, *rows]


def _select_hashed_policy_fields(policy: Policy) -> Json:
    rules: list[Json] = [
        [rule.id, rule.condition, rule.action, rule.level, rule.reason, *_list_hashed_options(rule)]
        for rule in policy.rules
    ]
    further = [
        *_convert_tool_rules_to_json(policy),
        *_convert_text_rules_to_json(policy),
        *(["judges records"] * policy.judges_records),
    ]
    return [policy.id, policy.version, to_exact(policy.context), rules, *further]


# Most policies come with each task of their tenant, beside few that are made for it.
_encode_hashed_fields = IdentityCache[Policy, str](lambda policy: dumps(_select_hashed_policy_fields(policy)), 256)


def _list_hashed_options(rule: Rule) -> list[Json]:
    approvers: list[Json] = [] if rule.approvers is None else [f"approvers {rule.approvers}"]
    return [*(["report only"] * rule.report_only), *(["if known"] * rule.if_known), *approvers]


def _convert_tool_rules_to_json(policy: Policy) -> list[Json]:
    if not policy.tool_rules and policy.tool_default == "allow":
        return []
    rules: list[Json] = [to_exact(rule.model_dump(exclude_defaults=True)) for rule in policy.tool_rules]
    return [{"tools": rules, "default": policy.tool_default}]


def _convert_text_rules_to_json(policy: Policy) -> list[Json]:
    if not policy.judges_texts:
        return []
    rules: list[Json] = [to_exact(rule.model_dump(exclude_defaults=True)) for rule in policy.text_rules]
    return [{"texts": rules, "default": policy.text_default}]
