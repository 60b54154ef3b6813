"""The gateway's HTTP application, put together from its parts."""

from fastapi import FastAPI
from starlette.types import Lifespan

from services.gateway.core.operating.tenant_desk import TenantDesk
from services.gateway.entrypoints.a2a.routes import Backing, a2a_routes
from services.gateway.entrypoints.a2a.tenant_path import TenantPath
from services.gateway.entrypoints.edge.door import Door, Watch
from services.gateway.entrypoints.edge.face import Face
from services.gateway.entrypoints.edge.openapi import DescribedApp
from services.gateway.entrypoints.edge.plain_errors import speak_plainly
from services.gateway.entrypoints.operating.resolve import resolve_routes
from services.gateway.entrypoints.operating.rl_status import rl_status_routes
from services.gateway.entrypoints.operating.solver import SolverEndpoint
from services.gateway.entrypoints.operating.tenants import TenantEndpoints
from services.gateway.ports.learning import Statistics


def create_app(
    parts: Backing,
    statistics: Statistics,
    tenants: TenantDesk,
    face: Face,
    lifespan: Lifespan[FastAPI] | None = None,
    watch: Watch | None = None,
) -> FastAPI:
    desk, identity = parts.desk, parts.identity
    app = DescribedApp(title="Purple Agent gateway", docs_url=None, redoc_url=None, lifespan=lifespan)
    speak_plainly(app)
    app.add_middleware(TenantPath)
    app.add_middleware(Door, identity=identity, watch=watch)
    app.include_router(a2a_routes(parts, face))
    app.include_router(resolve_routes(desk, identity, face.notice, face.max_body))
    app.include_router(TenantEndpoints(tenants, identity, face.max_body).routes())
    app.include_router(SolverEndpoint(desk, identity, face.max_body).routes())
    app.include_router(rl_status_routes(statistics, identity))
    return app
