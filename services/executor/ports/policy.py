"""The policy service, and the tenants' records."""

from typing import Protocol

from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.tenant import TenantRecord


class PolicyUnavailable(Exception):
    """There is no verdict: the service is down, slow or answered garbage. Without a verdict nothing is written."""


class PolicyService(Protocol):
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        """The verdict, bound to the hashes of policy, context and plan; raises ``PolicyUnavailable``."""

    async def allowances(self, request: AllowanceRequest) -> Allowances:
        """What rules about tools say of tools that are called without a plan; raises ``PolicyUnavailable``."""

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        """Which of the translated rules their source supports; raises ``PolicyUnavailable``."""


class Tenants(Protocol):
    async def get(self, tenant: str) -> TenantRecord:
        """The tenant's record as it stands; ``UnknownTenant`` if there is none. May raise ``StoreUnavailable``."""

    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:  # noqa: ARG002  where there is but one
        """The record as it stands, with the policies of the version that a task began with.

        Where that version is gone, the policies are those of the record as it stands.
        """
        return await self.get(tenant)


class UnknownTenant(LookupError):
    pass
