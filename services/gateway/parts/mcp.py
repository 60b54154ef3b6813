"""The part ``mcp``: tasks and approvals as tools of an MCP server at ``/mcp``."""

from services.gateway.mcp_server import McpEndpoint
from services.gateway.optional_parts import GatewayPart, PartHost


def build_mcp(host: PartHost) -> GatewayPart:
    endpoint = McpEndpoint(host.services, host.identity, host.settings.model_notice)
    return GatewayPart([endpoint.route], endpoint.open)
