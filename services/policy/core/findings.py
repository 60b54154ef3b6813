"""The findings of conditional rules for one call, and which rules apply to it.

A rule that applies may find nothing. An unknown field makes a call wait only if the rule applies to it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from services.policy.core.conditions import Condition, get_value_at_path
from services.policy.core.rule_index import RuleIndex
from services.policy.core.rules import (
    FIELDS_NAMING_CALLS,
    RESTS_ON_REQUEST_TEXT,
    SAID_BY_RECORD_TEXT,
    SUMMED_FIGURES_TEXT,
    Finding,
    PreparedRule,
    ReportOnlyFinding,
    RuleWithoutEffect,
    build_problem,
    select_values_for_verdict,
    write_undecided_sentence,
)
from services.policy.core.values import UNKNOWN, ConditionError, Context, Truth, UnknownTruth
from shared.contracts.policy import CallContext, EvaluateRequest, Policy, TriggeredRule
from shared.domain.words import EscalationLevel, RuleAction, ToolClass

_FIELDS_NEVER_RECORDED = ("tool", "call_id")  # no record says these


class CallFacts(NamedTuple):
    """The fields by name with which rules judge one planned call.

    ``context``: all fields, as request and call state them. ``proven``: without those that the request alone states;
    None if there are none such. ``recorded``: for each stored record that differs from the call, the fields as that
    record has them; ``judges_records``: whether the policy uses these even where the call itself decides.
    ``proven_by_record``: the proven fields, completed from such a record. ``summed``: the fields with figures summed
    over all calls that may concern the same record; None if there is no other such call. ``binding``: as in
    ``EvaluateRequest``.
    """

    call: CallContext | None
    binding: bool
    context: Context
    proven: Context | None = None
    recorded: tuple[Context, ...] = ()
    judges_records: bool = False
    proven_by_record: tuple[Context, ...] = ()
    summed: Context | None = None

    @property
    def call_id(self) -> str | None:
        return self.call.call_id if self.call else None

    @property
    def unknown_fields(self) -> tuple[str, ...] | None:
        """The call's fields without a known value; None if the sender does not say."""
        return self.call.unknown_fields if self.call else None

    @property
    def contexts(self) -> Sequence[Context]:
        """All versions of the facts that rules evaluate: as given, proven, and as records have them."""
        variants = (context for context in (self.proven, self.summed) if context is not None)
        return (self.context, *variants, *self.recorded, *self.proven_by_record)


def build_facts_by_row(policy: Policy, request: EvaluateRequest) -> tuple[CallFacts, ...]:
    """Like ``build_call_facts``, but with facts of their own for each row (one record of a call that changes several)
    where rows differ in fields that rules use.
    """
    if not any(call.rows for call in request.calls):
        return build_call_facts(policy, request)
    rows = tuple(row for call in request.calls for row in call.split_by_row())
    return build_call_facts(policy, request.model_copy(update={"calls": rows}))


def build_call_facts(policy: Policy, request: EvaluateRequest) -> tuple[CallFacts, ...]:
    """Builds the facts of each planned call, in order; of a request without calls, one whose ``call`` is None.

    Where several sources have a field, the later one counts: the policy's context, the request's, the call's fields,
    the call's actual tool.
    """
    context = {**policy.context, **request.context}
    if not request.calls:
        return (CallFacts(None, request.binding, context),)
    return tuple(_build_call_facts(policy, context, call, request.binding) for call in request.calls)


def _build_call_facts(policy: Policy, context: Context, call: CallContext, binding: bool) -> CallFacts:
    fields: Context = {**context, **call.fields, "tool": call.tool, "call_id": call.call_id}
    if not binding:
        return CallFacts(call, binding, fields)
    records = [{name: row[name] for name in row if name not in _FIELDS_NEVER_RECORDED} for row in call.recorded]
    proven, proven_by_record = None, list[Context]()
    if call.unproven:
        proven = {name: value for name, value in fields.items() if name not in call.unproven}
        completions = [{name: record[name] for name in record if name in call.unproven} for record in records]
        proven_by_record = [{**proven, **completion} for completion in completions]
    recorded = tuple({**fields, **record} for record in records)
    summed = {**fields, **call.summed} if call.summed else None
    return CallFacts(call, binding, fields, proven, recorded, policy.judges_records, tuple(proven_by_record), summed)


def find_findings_for_call(rules: RuleIndex, facts: CallFacts) -> Iterator[Finding]:
    """Yields each rule's findings for the call; nothing for a rule whose condition is false in all ``contexts``."""
    for prepared in rules.find_possible_rules(facts.contexts):
        try:
            yield from _judge_call_by_rule(prepared, facts)
        except ConditionError as error:
            yield build_problem(prepared.policy_id, prepared.rule.id, error)


def any_rule_applies_to_call(
    rules_naming_calls: RuleIndex, other_rules: Sequence[PreparedRule], facts: CallFacts
) -> bool:
    """Whether any rule with an effect applies to the call, whatever it finds."""
    naming_rules: Sequence[PreparedRule] = rules_naming_calls.all
    if facts.unknown_fields is not None:
        naming_rules = rules_naming_calls.find_possible_rules((_select_call_naming_fields(facts),))
    return any(
        _applies_to_call(rule, facts) and _can_take_effect(rule, facts) for rule in (*naming_rules, *other_rules)
    )


def has_proven_value(condition: Condition, proven: Context, *, expected: bool) -> bool:
    """Whether a condition has the expected value without fields that only the request states."""
    try:
        return condition.decide(proven) is expected
    except ConditionError:  # of a field that is not there
        return False


def _applies_to_call(prepared: PreparedRule, facts: CallFacts) -> bool:
    """Whether the rule concerns the call; always, if the sender does not say which fields are unknown."""
    if facts.unknown_fields is None or facts.call is None:
        return True
    if not prepared.names_its_calls:
        fields, unknown_fields = facts.call.fields, facts.unknown_fields
        for field in prepared.deciding_fields:
            if field.name in unknown_fields or not isinstance(get_value_at_path(fields, field.path), UnknownTruth):
                return True
        return not prepared.deciding_fields
    try:  # where tool and process leave it open that the rule acts
        return prepared.condition.decide(_select_call_naming_fields(facts)) is not False
    except ConditionError:
        return True


def _select_call_naming_fields(facts: CallFacts) -> Context:
    """The fields by which a rule may say which calls it is about (tool and process)."""
    return {name: facts.context[name] for name in FIELDS_NAMING_CALLS if name in facts.context}


def _can_take_effect(prepared: PreparedRule, facts: CallFacts) -> bool:
    """Whether the rule can have an effect: not if it only reports, or is ``if_known`` and a field is missing."""
    if prepared.rule.report_only:
        return False
    try:
        return not (prepared.rule.if_known and prepared.condition.decide(facts.context) is UNKNOWN)
    except ConditionError:  # it is a problem of the verdict
        return False


def _judge_call_by_rule(prepared: PreparedRule, facts: CallFacts) -> Iterator[Finding]:
    decision = prepared.condition.decide(facts.context)
    if decision is True:
        yield _build_triggered_rule(prepared, facts)
        return
    is_missing = decision is UNKNOWN and not prepared.rule.if_known
    if decision is UNKNOWN:
        if is_missing and facts.binding and _waits_for_unknown_field(prepared, facts):
            because = write_undecided_sentence(prepared.condition.find_missing_fields(facts.context))
            action = RuleAction.BLOCK if _forbids_for_everyone(prepared, facts) else RuleAction.ESCALATE
            yield _build_triggered_rule(prepared, facts, because, action)
        else:
            yield RuleWithoutEffect(prepared.rule.id)
    if facts.summed is not None and prepared.condition.decide(facts.summed) is True:
        yield _build_triggered_rule(prepared, facts._replace(context=facts.summed), SUMMED_FIGURES_TEXT)
        return
    if not facts.recorded and facts.proven is None:
        return
    judged_contexts = facts.recorded if facts.judges_records or is_missing else ()
    triggering = next((context for context in judged_contexts if prepared.condition.decide(context) is True), None)
    if triggering is not None:
        yield _build_triggered_rule(prepared, facts._replace(context=triggering), SAID_BY_RECORD_TEXT)
    elif facts.proven is not None and _is_decided_by_request_alone(prepared, decision, facts.proven, facts):
        yield _build_triggered_rule(prepared, facts, RESTS_ON_REQUEST_TEXT, RuleAction.ESCALATE)


def _waits_for_unknown_field(prepared: PreparedRule, facts: CallFacts) -> bool:
    """Whether an unknown field makes the call wait; a notice waits only for a rule that names its tool or process."""
    is_change = facts.unknown_fields is None or facts.call is None or facts.call.tool_class is ToolClass.CHANGE
    return _applies_to_call(prepared, facts) and (is_change or prepared.names_its_calls)


def _forbids_for_everyone(prepared: PreparedRule, facts: CallFacts) -> bool:
    """Whether nobody can approve what the rule may forbid: it has no level. False without stated ``unknown_fields``."""
    return prepared.action is RuleAction.BLOCK and prepared.level is None and facts.unknown_fields is not None


def _is_decided_by_request_alone(prepared: PreparedRule, decision: Truth, proven: Context, facts: CallFacts) -> bool:
    """Whether only fields that the request alone states keep a rule from being triggered.

    Without them it would be triggered or undecided; an ``if_known`` rule counts only if it would be triggered.
    """
    if prepared.rule.if_known:
        contexts = (proven, *facts.proven_by_record)
        return any(has_proven_value(prepared.condition, context, expected=True) for context in contexts)
    return decision is False and not has_proven_value(prepared.condition, proven, expected=False)


def _build_triggered_rule(
    prepared: PreparedRule, facts: CallFacts, because: str = "", in_doubt: RuleAction | None = None
) -> TriggeredRule | ReportOnlyFinding:
    """The rule's finding for the call.

    ``because``: added to the rule's reason; ``in_doubt``: the action where it is unknown whether the rule is triggered.
    """
    level = prepared.level or (EscalationLevel.MANAGER if in_doubt is RuleAction.ESCALATE else None)
    finding = TriggeredRule(
        rule_id=prepared.rule.id,
        policy_id=prepared.policy_id,
        action=in_doubt or prepared.action,
        level=level.word if level else None,
        approvers=prepared.rule.approvers or 1,
        reason=f"{prepared.reason} ({because})" if because else prepared.reason,
        call_id=facts.call_id,
        values=select_values_for_verdict(prepared.condition, facts.context),
        indeterminate=in_doubt is not None,
    )
    return ReportOnlyFinding(finding) if prepared.rule.report_only else finding
