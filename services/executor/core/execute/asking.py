"""When a plan needs a person's decision."""

from services.executor.core.execute.escalation import ends_escalated
from services.executor.core.fsm.templates import Template
from shared.contracts.policy import Verdict
from shared.contracts.tenant import TenantRecord


def needs_person(verdict: Verdict, tenant: TenantRecord, template: Template) -> bool:
    """Whether a rule asks for a person, or the tenant does for every write that no rule speaks about."""
    asked = verdict.requires_approval or not (verdict.passed or ends_escalated(template, verdict))
    return asked or (tenant.unruled_writes == "approve" and not verdict.triggered_rules)
