"""Whether the rules of a record can be understood, as the policy service says."""

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.policy import Policy
from shared.contracts.tenant_document import FieldProblem


class PolicyUnchecked(Exception):
    """Nobody can say whether the rules of a record can be understood; the message says why."""


class PolicyCheck(Protocol):
    async def problems(self, policies: Sequence[Policy]) -> tuple[FieldProblem, ...]:
        """What is wrong with these policies' rules; raises ``PolicyUnchecked``."""
        ...
