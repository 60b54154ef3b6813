"""The features' services in one object, for parts of the gateway that use many of them."""

from dataclasses import dataclass

from services.gateway.features.approvals.approvals import ApprovalService
from services.gateway.features.assessments import AssessmentRepository
from services.gateway.features.audit import AuditExport
from services.gateway.features.dead_letters import DeadLetters
from services.gateway.features.learning import LearnedData
from services.gateway.features.memory import TenantMemories
from services.gateway.features.tasks.listing import TaskLists
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.tasks.signals import TaskSignals
from services.gateway.features.tenants import TenantStates
from services.gateway.features.webhooks.service import WebhookService


@dataclass(frozen=True)
class FeatureServices:
    """The services that several groups of routes use."""

    tasks: TaskService
    signals: TaskSignals
    lists: TaskLists
    approvals: ApprovalService
    tenants: TenantStates
    learned: LearnedData
    webhooks: WebhookService
    dead_letters: DeadLetters
    memory: TenantMemories
    audit: AuditExport
    assessments: AssessmentRepository
