"""The part ``console``: pages under ``/console`` for approvers, operators and clients."""

from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route

from services.gateway.features.console.context import ConsoleContext, InboxCache
from services.gateway.features.console.pages import PageRenderer
from services.gateway.features.console.routes import build_console_app
from services.gateway.features.console.sessions import ConsoleSessions
from services.gateway.features.identity.throttle import parse_networks
from services.gateway.optional_parts import GatewayPart, PartHost


def build_console(host: PartHost) -> GatewayPart:
    settings, services = host.settings, host.services
    context = ConsoleContext(
        services=services,
        sessions=ConsoleSessions(host.state, host.identity),
        pages=PageRenderer(settings.model_notice, host.clock),
        inbox_cache=InboxCache(services.approvals, services.lists, services.learned, host.clock),
        has_secure_cookies=settings.card_url.startswith("https://"),
        trusted_proxies=parse_networks(settings.trusted_proxies),
    )
    home = RedirectResponse("/console/", 307)  # relative, since behind a proxy the outer URL is unknown here
    return GatewayPart([Route("/console", home, methods=["GET"]), Mount("/console", build_console_app(context))])
