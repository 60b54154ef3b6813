"""The part ``worlds``: simulated worlds as MCP servers, those of running assessments and any other."""

from functools import partial

from services.gateway.features.participation import OpenAssessments, UndecryptableKey
from services.gateway.optional_parts import GatewayPart, PartHost
from services.gateway.worlds.server import WorldsEndpoint
from services.gateway.worlds.tool_calls import BridgedWorld, WorldToolCaller, make_guarded_transport
from shared.domain.outgoing import addresses_for_tools
from shared.infra.guard import AddressGuard


async def find_world(
    participations: OpenAssessments | None, tenant: str, session_id: str, assessment: str
) -> BridgedWorld | None:
    """The world of a running assessment; None if it no longer runs, or its key cannot be decrypted."""
    participation = await participations.find_assessment(tenant, session_id) if participations else None
    if participations is None or participation is None or participation.assessment != assessment:
        return None
    try:
        return BridgedWorld(participation.ues_url, participations.decrypt_key(participation))
    except UndecryptableKey:
        return None


def build_worlds(host: PartHost) -> GatewayPart:
    settings = host.settings
    keys = settings.world_sealing_keys
    guard = AddressGuard(
        addresses_for_tools(settings.tools_allowed_hosts, permits_loopback=settings.profile == "embedded")
    )
    participations = OpenAssessments(host.state, keys) if keys else None
    endpoint = WorldsEndpoint(partial(find_world, participations), WorldToolCaller(make_guarded_transport(guard)))
    return GatewayPart(endpoint.routes, endpoint.open)
