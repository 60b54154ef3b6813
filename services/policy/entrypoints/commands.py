"""``python -m services.policy check`` and ``backtest``: try policies before they take effect. Output is JSON."""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from services.policy.core.evaluate import BacktestedPlan, backtest_plan, describe_verdict, evaluate, list_decided_plans
from services.policy.core.named_facts import list_absent_fields, list_unlisted_tools
from services.policy.core.prepared import RequestTooLarge
from shared.contracts.archive import parse_archived_task
from shared.contracts.base import describe_first_error
from shared.contracts.policy import EvaluateRequest, Policy, Rule, ToolRule
from shared.contracts.policy_document import list_unknown_fields, sort_rules_by_kind
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import (
    BadRecord,
    FieldProblem,
    parse_readable_policies,
    parse_record_of_tenant,
    parse_tenant_record,
)
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.ports.archive import Archive, ArchiveUnavailable, UnreadableArchivedContent

EXIT_USABLE = 0
EXIT_NOT_USABLE = 1
EXIT_CANNOT_READ = 2
EXIT_UNDECIDED = 3
_FIELDS_OF_WHOLE_REQUEST = {"context", "calls"}  # a file with one of these is a whole request
_REQUEST_FIELDS = {*_FIELDS_OF_WHOLE_REQUEST, "history", "confirmations", "text", "binding", "planHash"}


def run_check_command(arguments: Sequence[str]) -> int:
    """Runs ``check``: prints the verdict, its reasons, and the rules as understood. Returns 1 if the policy is invalid,
    2 if it is unreadable, 3 if the given facts leave a rule undecided or a rule names a tool that is not listed, else
    0.
    """
    parser = argparse.ArgumentParser("python -m services.policy check", allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--context", type=Path, help="the facts: an object of fields, or a whole request")
    parser.add_argument("--task", help="the task's text, for rules about texts")
    parser.add_argument("--tools", help="the names of all tools, with commas between them")
    parser.add_argument("--tenant", help="check a record as this tenant's, as it is when it is stored")
    options = parser.parse_args(arguments)
    try:
        policies, unread, field_problems, prose = _read_policies(options.file, options.tenant)
        request = _build_request(policies, options.context, options.task)
        verdict = evaluate(request)
    except (UnreadableDocument, RequestTooLarge) as error:
        return _print_refusal(str(error))
    text_rules = [rule for policy in policies for rule in policy.text_rules]
    unasked_rules: list[Json] = [rule.id for rule in text_rules] if request.text is None else []
    unlisted_tools = list_unlisted_tools(policies, options.tools.split(",")) if options.tools else ()
    is_decided = not (unlisted_tools or (options.context and verdict.indeterminate))
    is_valid, words = not (verdict.problems or unread or field_problems), describe_verdict(verdict)
    result: JsonObject = {
        "not_asked": unasked_rules,
        "verdict": words if is_valid or not verdict.passed else "none: not all of the policy is understood",
        "valid": is_valid,
        "decided": is_decided,
        "unlisted_tools": [*unlisted_tools],
        "tools_never_called": [*_list_tools_never_called(policies, request)],
        "fields_never_given": [*list_absent_fields(policies, request)],
        "unknown_fields": [*unread],
        "shared_ids": [*_list_repeated_rule_ids(policies)],
        "fields": [{"field": problem.field, "problem": problem.problem} for problem in field_problems],
        "prose_policies": [*prose],
        "rules": [rule for policy in policies for rule in _list_rule_rows(policy)],
        "details": loads(verdict.to_json()),
    }
    sys.stdout.write(dumps(result) + "\n")
    if not is_valid:
        return EXIT_NOT_USABLE
    return EXIT_USABLE if is_decided else EXIT_UNDECIDED


def _list_tools_never_called(policies: Sequence[Policy], request: EvaluateRequest) -> tuple[str, ...]:
    """The tools that the rules name and that are not the tool of any call in the request; empty if the request names no
    tool.
    """
    called = [*(call.tool for call in request.calls), *(call.tool for call in request.history)]
    called += [tool] if isinstance(tool := request.context.get("tool"), str) else []
    return list_unlisted_tools(policies, called) if called else ()


def _list_repeated_rule_ids(policies: Sequence[Policy]) -> Iterator[str]:
    """Yields ``policy.rule`` for each id that several rules of a policy have: whoever reads a verdict cannot tell which
    of them it names.
    """
    for policy in policies:
        tool_and_text_ids = (*(rule.id for rule in policy.tool_rules), *(rule.id for rule in policy.text_rules))
        counts = Counter((*(rule.id for rule in policy.rules), *tool_and_text_ids))
        yield from (f"{policy.id}.{rule_id}" for rule_id, count in counts.items() if count > 1)


def run_backtest_command(arguments: Sequence[str], archive: Archive) -> int:
    """Runs ``backtest``: prints the archived plans that the changed policy would decide differently. Returns 2 if
    policy or archive is unusable, else 0.
    """
    parser = argparse.ArgumentParser("python -m services.policy backtest", allow_abbrev=False)
    parser.add_argument("file", type=Path)
    parser.add_argument("--tenant", default="default")
    options = parser.parse_args(arguments)
    try:
        changed_policies = _read_valid_policies(options.file)
        result = asyncio.run(_backtest_archive(archive, options.tenant, changed_policies))
    except (UnreadableDocument, ArchiveUnavailable) as error:
        return _print_refusal(str(error))
    sys.stdout.write(dumps(result) + "\n")
    return EXIT_USABLE


def _read_valid_policies(file: Path) -> tuple[Policy, ...]:
    """The policies of a file; raises ``UnreadableDocument`` if any of them is invalid."""
    document = _read_policies(file)
    faults = [f"nobody reads the field {name}" for name in document.unread]
    faults += [f"{problem.field}: {problem.problem}" for problem in document.field_problems]
    request = EvaluateRequest(policies=document.policies, text="")
    faults += [f"{problem.policy_id}: {problem.message}" for problem in evaluate(request).problems]
    if faults:
        raise UnreadableDocument(f"{file}: {'; '.join(faults)}")
    return document.policies


async def _backtest_archive(archive: Archive, tenant: str, changed_policies: Sequence[Policy]) -> JsonObject:
    """The result for all archived tasks; one that cannot be read, as a newer release writes it, is named in it."""
    plans = list[BacktestedPlan]()
    tasks_without_plan = 0
    unread = list[Json]()
    for task_id in await archive.list(tenant):
        try:
            content = await archive.get(tenant, task_id)
            decided_here = list_decided_plans(parse_archived_task(content)) if content is not None else ()
        except (ValueError, UnreadableArchivedContent) as error:
            unread.append(f"{task_id}: {str(error).splitlines()[0]}")
            continue
        plans += [backtest_plan(plan, changed_policies) for plan in decided_here]
        tasks_without_plan += not decided_here
    differing_plans: list[Json] = [_convert_plan_to_json(plan) for plan in plans if plan.differs]
    return {"plans": len(plans), "without_plan": tasks_without_plan, "unread": unread, "different": differing_plans}


def _build_request(policies: Sequence[Policy], context: Path | None, task: str | None) -> EvaluateRequest:
    facts = read_json_object(context) if context else {}
    fields = facts if _FIELDS_OF_WHOLE_REQUEST & {*facts} else {"context": facts}
    if unknown_names := [name for name in fields if name not in _REQUEST_FIELDS]:
        raise UnreadableDocument(f"{context}: {unknown_names[0]} is no field of a request; facts stand under context")
    try:
        request = EvaluateRequest.model_validate({**fields, "text": task or fields.get("text")})
    except ValidationError as error:
        raise UnreadableDocument(f"{context}: {describe_first_error(error)}") from None
    asked_policies = policies if request.text is not None else [_remove_text_rules(policy) for policy in policies]
    return request.model_copy(update={"policies": tuple(asked_policies)})


def _remove_text_rules(policy: Policy) -> Policy:
    """The policy without its text rules, which need a task's text (``--task``)."""
    return policy.model_copy(update={"text_rules": (), "text_default": "allow"})


def _list_rule_rows(policy: Policy) -> list[Json]:
    """A row for each rule (what it is about, what it does), then one for each default that is not ``allow``."""
    rules: list[Json] = []
    for rule in policy.rules:
        effect = _format_effect(rule.action, rule, ("level", "approvers"))
        rules.append(_build_rule_row(policy, rule.id, "condition", rule.condition, effect))
    for tool_rule in policy.tool_rules:
        effect = _format_effect(tool_rule.kind, tool_rule, ("limit", "counting", "after", "condition", "level", "per"))
        rules.append(_build_rule_row(policy, tool_rule.id, "tool", tool_rule.tool, effect))
    for text_rule in policy.text_rules:
        words = text_rule.pattern or ", ".join(text_rule.keywords)
        rules.append(_build_rule_row(policy, text_rule.id, "text", words, text_rule.type))
    if policy.tool_default != "allow":
        rules.append(_build_rule_row(policy, "toolDefault", "tool", "any other", policy.tool_default))
    if policy.text_default != "allow":
        rules.append(_build_rule_row(policy, "textDefault", "text", "any other", policy.text_default))
    return rules


def _format_effect(word: str, rule: Rule | ToolRule, names: Sequence[str]) -> str:
    """A rule's action with its further settings, such as report-only."""
    values = {name: getattr(rule, name) for name in names}
    settings = [f"{name} {_format_value(value)}" for name, value in values.items() if value not in (None, ())]
    if_known = "(if known)" if isinstance(rule, Rule) and rule.if_known else ""
    return " ".join(filter(None, [word, ", ".join(settings), "(report only)" if rule.report_only else "", if_known]))


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _build_rule_row(policy: Policy, rule_id: str, subject_kind: str, subject: str, effect: str) -> Json:
    return {"policy": policy.id, "rule": rule_id, "about": subject_kind, "what": subject, "effect": effect}


def _convert_plan_to_json(plan: BacktestedPlan) -> Json:
    verdicts: JsonObject = {"before": plan.verdict_before, "after": plan.verdict_after}
    return {"task": plan.task_id, "text": plan.text, **verdicts, "rules": [*plan.differing_rules]}


def _print_refusal(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return EXIT_CANNOT_READ


class UnreadableDocument(ValueError):
    """The file has no usable policies; the message names the file and the place in it."""


class PoliciesFromFile(NamedTuple):
    """The policies of a file. ``unread``: the names of fields that this version does not know.

    For a file with a tenant's record also ``field_problems``, what is wrong with the record, and ``prose``, its
    policies in plain words.
    """

    policies: tuple[Policy, ...]
    unread: tuple[str, ...] = ()
    field_problems: tuple[FieldProblem, ...] = ()
    prose: tuple[JsonObject, ...] = ()


def _read_policies(file: Path, tenant: str | None = None) -> PoliciesFromFile:
    """The policies in a file: one, a list of them, or a tenant's record. Raises ``UnreadableDocument``."""
    content = read_json_value(file)
    if isinstance(content, dict) and _is_tenant_record(content):
        return _read_policies_of_record(content, tenant)
    documents = content.get("policies", [content]) if isinstance(content, dict) else content
    if not isinstance(documents, list) or not documents:
        raise UnreadableDocument(f"{file} holds no policy: it is an object with rules, or a list of such objects")
    policies = tuple(_read_policy(file, document, number) for number, document in enumerate(documents, 1))
    unread = [name for document in documents if isinstance(document, dict) for name in list_unknown_fields(document)]
    return PoliciesFromFile(policies, tuple(unread))


def _is_tenant_record(document: JsonObject) -> bool:
    """Whether an object is a tenant's record, and not a policy or an object with a list of policies."""
    policy_names = {name for field, info in Policy.model_fields.items() for name in (field, info.alias)}
    if "policies" in document and "id" in document:
        return True
    return not set(TenantRecord.model_fields).difference(policy_names, {"policies"}).isdisjoint(document)


def _read_policies_of_record(document: JsonObject, tenant: str | None) -> PoliciesFromFile:
    """The record's policies, and the faults for which an executor or the store of ``tenant`` would refuse it."""
    field_problems: tuple[FieldProblem, ...] = ()
    try:
        if tenant is None:
            parse_tenant_record(document)
        else:
            parse_record_of_tenant({"id": tenant, **document, "version": "1"}, tenant)
    except BadRecord as error:
        field_problems = error.problems
    is_enforced = document.get("enforce_prose") is True
    entries = document.get("prose_policies")
    prose: list[JsonObject] = [
        {"policy": entry.get("id"), "enforced": is_enforced, "text": entry.get("text"), "checked": False}
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict)
    ]
    return PoliciesFromFile(parse_readable_policies(document), (), field_problems, tuple(prose))


def read_json_object(file: Path) -> JsonObject:
    """The JSON object in a file. Raises ``UnreadableDocument``."""
    content = read_json_value(file)
    if not isinstance(content, dict):
        raise UnreadableDocument(f"{file} holds no JSON object")
    return content


def read_json_value(file: Path) -> Json:
    """The JSON value in a file. Raises ``UnreadableDocument``."""
    try:
        return loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableDocument(f"{file} cannot be read: {error}") from None


def _read_policy(file: Path, document: Json, number: int) -> Policy:
    if not isinstance(document, dict):
        raise UnreadableDocument(f"{file}: policy {number} is no object")
    try:
        return Policy.model_validate({"id": file.stem, **sort_rules_by_kind(document)})
    except ValidationError as error:
        raise UnreadableDocument(f"{file}: policy {number}: {describe_first_error(error)}") from None
