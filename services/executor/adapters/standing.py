"""How the tool servers stand: a figure for ``/health``, without their addresses."""

from collections.abc import Mapping
from typing import NamedTuple

from services.executor.adapters.breaking import BreakingTools
from services.executor.adapters.credentials import ResolvedCredentials


class ServerHealth(NamedTuple):
    breaking: BreakingTools
    credentials: ResolvedCredentials

    @property
    def circuits(self) -> Mapping[str, int]:
        """Servers by the state of their circuit breakers, and how many connections have no credential to show."""
        lacking = self.credentials.lacking
        return {**self.breaking.circuits, **({"without_credential": lacking} if lacking else {})}
