"""One double as all the servers that connections may name, asked as the executor asks real ones."""

from services.executor.adapters.credentials import NoCredentials
from services.executor.adapters.resilience import Resilience
from services.executor.adapters.tool_servers import ConnectedServers, ServersByProtocol
from services.executor.ports.tools import Credentials, ToolServers
from shared.domain.outgoing import AllowedAddresses


def connected(
    servers: ToolServers, resilience: Resilience | None = None, credentials: Credentials | None = None
) -> ConnectedServers:
    """Whoever names a connection, and in whatever protocol. Without ``resilience`` nothing is asked again."""
    origin = ServersByProtocol(servers, servers, servers)
    resilience, credentials = resilience or Resilience(pauses=()), credentials or NoCredentials()
    return ConnectedServers(origin, origin, origin, AllowedAddresses(), credentials, resilience)
