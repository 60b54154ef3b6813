"""The part ``worlds``: simulated worlds as MCP servers, those of assessments that run here and any other."""

from services.gateway.features.participation.service import NoKey, Participations
from services.gateway.features.participation.store import RedisParticipations
from services.gateway.optional_parts import GatewayPart, PartHost
from services.gateway.worlds.calls import BridgedWorld, WorldCalls
from services.gateway.worlds.server import AssessedWorlds, WorldsEndpoint
from shared.domain.outgoing import tools_reach
from shared.infra.guard import Guard


class KeptWorlds(AssessedWorlds):
    """The worlds of the assessments that this gateway takes part in; none without ``participations``."""

    def __init__(self, participations: Participations | None) -> None:
        self._kept = participations

    async def world_of(self, tenant: str, session_id: str, assessment: str) -> BridgedWorld | None:
        found = await self._kept.find(tenant, session_id) if self._kept else None
        if self._kept is None or found is None or found.assessment != assessment:
            return None
        try:
            return BridgedWorld(found.ues_url, self._kept.key_of(found))
        except NoKey:
            return None


def build_worlds(host: PartHost) -> GatewayPart:
    settings = host.settings
    keys = settings.world_sealing_keys
    guard = Guard(tools_reach(settings.tools_allowed_hosts, loopback=settings.profile == "embedded"))
    worlds = KeptWorlds(RedisParticipations(host.state, keys) if keys else None)
    endpoint = WorldsEndpoint(worlds, WorldCalls(guard), settings.world_seconds)
    return GatewayPart(endpoint.routes, endpoint.open)
