"""The policy service, and the tenants' records."""

from typing import Protocol

from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import TenantRecord


class PolicyUnavailable(Exception):
    """No verdict: the service is down, slow, or sent a malformed answer. Without a verdict nothing is written."""


class PolicyService(Protocol):
    """The service that judges plans by rules. Its questions may be repeated: they change nothing."""

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        """The verdict, bound to the hashes of policy, context and plan; raises ``PolicyUnavailable``."""

    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        """Which tools may be called without a plan, by the rules about tools; raises ``PolicyUnavailable``."""

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        """Checks translated rules against the prose that they quote; raises ``PolicyUnavailable``."""


class Tenants(Protocol):
    """The records of the tenants, in versions."""

    async def get(self, tenant: str) -> TenantRecord:
        """The tenant's present record; raises ``UnknownTenant`` or ``StoreUnavailable``."""

    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:  # noqa: ARG002  where there is but one
        """The tenant's present record, but with the policies of an earlier ``version``, which a task began with.

        If that version no longer exists, the present policies are used.
        """
        return await self.get(tenant)


class UnknownTenant(LookupError):
    pass
