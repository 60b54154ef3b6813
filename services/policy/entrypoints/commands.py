"""``python -m services.policy check`` and ``backtest``: try policies before they take effect. Output is JSON."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from services.policy.core.conditions import ConditionCache
from services.policy.core.evaluate import BacktestedPlan, backtest_plan, decided_plans, evaluate, verdict_in_words
from services.policy.core.prepared import RequestTooLarge
from shared.contracts.archive import read_archived
from shared.contracts.base import first_fault
from shared.contracts.policy import EvaluateRequest, Policy, Rule, ToolRule
from shared.contracts.policy_document import sort_rules_by_kind, unknown_fields_of
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import BadRecord, FieldProblem, read_owned_record, read_record, readable_policies
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.ports.archive import Archive, ArchiveUnavailable

USABLE, NOT_USABLE, CANNOT = 0, 1, 2
_REQUEST = {"context", "calls"}  # a file with one of these is a whole request
_REQUEST_FIELDS = {*_REQUEST, "history", "confirmations", "text", "binding", "planHash"}


def check(arguments: Sequence[str]) -> int:
    """Prints the verdict, its reasons, and the rules as understood; returns 1 if the policy is invalid."""
    parser = argparse.ArgumentParser("python -m services.policy check", allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--context", type=Path, help="the facts: an object of fields, or a whole request")
    parser.add_argument("--task", help="the task's text, for rules about texts")
    parser.add_argument("--tenant", help="check a record as this tenant's, as it is when it is stored")
    given = parser.parse_args(arguments)
    try:
        policies, unread, field_problems, prose = read_policies(given.file, given.tenant)
        request = _build_request(policies, given.context, given.task)
        verdict = evaluate(request, ConditionCache())
    except (UnreadableDocument, RequestTooLarge) as error:
        return _print_refusal(str(error))
    unasked: list[Json] = [rule.id for policy in policies for rule in policy.text_rules if request.text is None]
    valid, words = not (verdict.problems or unread or field_problems), verdict_in_words(verdict)
    said: JsonObject = {
        "not_asked": unasked,
        "verdict": words if valid or not verdict.passed else "none: not all of the policy is understood",
        "valid": valid,
        "unknown_fields": [*unread],
        "fields": [{"field": one.field, "problem": one.problem} for one in field_problems],
        "prose_policies": [*prose],
        "rules": [rule for policy in policies for rule in _list_rules(policy)],
        "details": loads(verdict.to_json()),
    }
    sys.stdout.write(dumps(said) + "\n")
    return USABLE if valid else NOT_USABLE


def backtest(arguments: Sequence[str], archive: Archive) -> int:
    """Prints each archived plan that the changed policy decides differently."""
    parser = argparse.ArgumentParser("python -m services.policy backtest", allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tenant", default="default")
    given = parser.parse_args(arguments)
    try:
        changed = _usable_policies(given.file)
        plans, unread = asyncio.run(_backtest_archive(archive, given.tenant, changed))
    except (UnreadableDocument, ArchiveUnavailable) as error:
        return _print_refusal(str(error))
    differing: list[Json] = [_plan_as_json(plan) for plan in plans if plan.differs]
    said: JsonObject = {"plans": len(plans), "without_plan": unread, "different": differing}
    sys.stdout.write(dumps(said) + "\n")
    return USABLE


def _usable_policies(file: Path) -> tuple[Policy, ...]:
    """The policies of a file; raises ``UnreadableDocument`` if any of them is invalid."""
    written = read_policies(file)
    wrong = [f"nobody reads the field {name}" for name in written.unread]
    wrong += [f"{one.field}: {one.problem}" for one in written.field_problems]
    asked = EvaluateRequest(policies=written.policies, text="")
    wrong += [f"{one.policy_id}: {one.message}" for one in evaluate(asked, ConditionCache()).problems]
    if wrong:
        raise UnreadableDocument(f"{file}: {'; '.join(wrong)}")
    return written.policies


async def _backtest_archive(
    archive: Archive, tenant: str, changed: Sequence[Policy]
) -> tuple[list[BacktestedPlan], int]:
    conditions, plans, unread = ConditionCache(), list[BacktestedPlan](), 0
    for task_id in await archive.list(tenant):
        content = await archive.get(tenant, task_id)
        known = decided_plans(read_archived(content)) if content is not None else ()
        plans += [backtest_plan(plan, changed, conditions) for plan in known]
        unread += not known
    return plans, unread


def _build_request(policies: Sequence[Policy], context: Path | None, task: str | None) -> EvaluateRequest:
    facts = read_object(context) if context else {}
    whole = facts if _REQUEST & {*facts} else {"context": facts}
    if strange := [name for name in whole if name not in _REQUEST_FIELDS]:
        raise UnreadableDocument(f"{context}: {strange[0]} is no field of a request; facts stand under context")
    try:
        request = EvaluateRequest.model_validate({**whole, "text": task or whole.get("text")})
    except ValidationError as error:
        raise UnreadableDocument(f"{context}: {first_fault(error)}") from None
    asked = policies if request.text is not None else [_without_text_rules(policy) for policy in policies]
    return request.model_copy(update={"policies": tuple(asked)})


def _without_text_rules(policy: Policy) -> Policy:
    """The policy without its text rules, which need a task's text (``--task``)."""
    return policy.model_copy(update={"text_rules": (), "text_default": "allow"})


def _list_rules(policy: Policy) -> list[Json]:
    """Each rule as a row (what it is about, what it does), then the defaults that do not allow."""
    rules: list[Json] = []
    for rule in policy.rules:
        effect = _format_effect(rule.action, rule, ("level", "approvers"))
        rules.append(_rule_row(policy, rule.id, "condition", rule.condition, effect))
    for tool_rule in policy.tool_rules:
        effect = _format_effect(tool_rule.kind, tool_rule, ("limit", "counting", "after", "condition", "level", "per"))
        rules.append(_rule_row(policy, tool_rule.id, "tool", tool_rule.tool, effect))
    for text_rule in policy.text_rules:
        words = text_rule.pattern or ", ".join(text_rule.keywords)
        rules.append(_rule_row(policy, text_rule.id, "text", words, text_rule.type))
    if policy.tool_default != "allow":
        rules.append(_rule_row(policy, "toolDefault", "tool", "any other", policy.tool_default))
    if policy.text_default != "allow":
        rules.append(_rule_row(policy, "textDefault", "text", "any other", policy.text_default))
    return rules


def _format_effect(word: str, rule: Rule | ToolRule, names: Sequence[str]) -> str:
    """A rule's action with its further settings, such as report-only."""
    said = [f"{name} {_format_value(getattr(rule, name))}" for name in names if getattr(rule, name) not in (None, ())]
    known = "(if known)" if isinstance(rule, Rule) and rule.if_known else ""
    return " ".join(filter(None, [word, ", ".join(said), "(report only)" if rule.report_only else "", known]))


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _rule_row(policy: Policy, rule_id: str, about: str, what: str, effect: str) -> Json:
    return {"policy": policy.id, "rule": rule_id, "about": about, "what": what, "effect": effect}


def _plan_as_json(plan: BacktestedPlan) -> Json:
    why: list[Json] = [*plan.why]
    return {"task": plan.task_id, "text": plan.text, "before": plan.before, "after": plan.after, "rules": why}


def _print_refusal(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return CANNOT


class UnreadableDocument(ValueError):
    """The file has no usable policies; the message names it and the place."""


class WrittenPolicies(NamedTuple):
    """The policies of a file. ``unread``: fields that no reader knows.

    Of a tenant's record also ``field_problems``, its faults, and ``prose``, its policies in plain words.
    """

    policies: tuple[Policy, ...]
    unread: tuple[str, ...] = ()
    field_problems: tuple[FieldProblem, ...] = ()
    prose: tuple[JsonObject, ...] = ()


def read_policies(file: Path, tenant: str | None = None) -> WrittenPolicies:
    """The policies in a file: one, a list of them, or a tenant's record. Raises ``UnreadableDocument``."""
    value = read_value(file)
    if isinstance(value, dict) and _is_record(value):
        return _policies_of_record(value, tenant)
    documents = value.get("policies", [value]) if isinstance(value, dict) else value
    if not isinstance(documents, list) or not documents:
        raise UnreadableDocument(f"{file} holds no policy: it is an object with rules, or a list of such objects")
    policies = tuple(_read_policy(file, document, number) for number, document in enumerate(documents, 1))
    unread = [name for document in documents if isinstance(document, dict) for name in unknown_fields_of(document)]
    return WrittenPolicies(policies, tuple(unread))


def _is_record(value: JsonObject) -> bool:
    """Whether an object is a tenant's record, and not a policy or an object with a list of policies."""
    of_policies = {name for field, info in Policy.model_fields.items() for name in (field, info.alias)}
    return bool(set(value) & (set(TenantRecord.model_fields) - of_policies - {"policies"})) or (
        "policies" in value and "id" in value
    )


def _policies_of_record(document: JsonObject, tenant: str | None) -> WrittenPolicies:
    """The record's policies, and the faults for which an executor or the store of ``tenant`` would refuse it."""
    field_problems: tuple[FieldProblem, ...] = ()
    try:
        if tenant is None:
            read_record(document)
        else:
            read_owned_record({"id": tenant, **document, "version": "1"}, tenant)
    except BadRecord as bad:
        field_problems = bad.problems
    enforced = document.get("enforce_prose") is True
    said = document.get("prose_policies")
    prose: list[JsonObject] = [
        {"policy": one.get("id"), "enforced": enforced, "text": one.get("text"), "checked": False}
        for one in (said if isinstance(said, list) else ())
        if isinstance(one, dict)
    ]
    return WrittenPolicies(readable_policies(document), (), field_problems, tuple(prose))


def read_object(file: Path) -> JsonObject:
    """The JSON object in a file. Raises ``UnreadableDocument``."""
    value = read_value(file)
    if not isinstance(value, dict):
        raise UnreadableDocument(f"{file} holds no JSON object")
    return value


def read_value(file: Path) -> Json:
    try:
        return loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableDocument(f"{file} cannot be read: {error}") from None


def _read_policy(file: Path, document: Json, number: int) -> Policy:
    if not isinstance(document, dict):
        raise UnreadableDocument(f"{file}: policy {number} is no object")
    try:
        return Policy.model_validate({"id": file.stem, **sort_rules_by_kind(document)})
    except ValidationError as error:
        raise UnreadableDocument(f"{file}: policy {number}: {first_fault(error)}") from None
