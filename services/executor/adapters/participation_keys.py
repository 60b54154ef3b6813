"""The keys to the worlds of assessments, from where the gateway left them (``WorldKeys``)."""

from typing_extensions import override

from services.executor.adapters.ues_tools import WorldKeys
from services.executor.ports.tools import ToolForbidden
from shared.ports.participations import NoKey, Participations


class ParticipationKeys(WorldKeys):
    def __init__(self, participations: Participations) -> None:
        self._participations = participations

    @override
    async def key_to(self, tenant: str, session_id: str, url: str, assessment: str) -> str | None:
        """For that assessment's own world alone, and until another takes its place. An older record names none."""
        found = await self._participations.find(tenant, session_id)
        if found is None or found.ues_url.rstrip("/") != url.rstrip("/"):
            return None
        if assessment and found.assessment != assessment:
            return None
        try:
            return self._participations.key_of(found)
        except NoKey as error:
            raise ToolForbidden(str(error)) from error
