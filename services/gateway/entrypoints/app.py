"""The gateway's HTTP application, put together from its parts."""

from typing import NamedTuple

from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import Lifespan

from services.gateway.core.desk import TaskDesk
from services.gateway.core.push import PushDesk
from services.gateway.core.task_list import TaskListDesk
from services.gateway.core.tenant_desk import TenantDesk
from services.gateway.entrypoints.a2a_calls import A2aCalls
from services.gateway.entrypoints.a2a_rest import A2aRest
from services.gateway.entrypoints.a2a_rpc import A2aRpc
from services.gateway.entrypoints.card import agent_card, card_routes
from services.gateway.entrypoints.door import Door, Watch
from services.gateway.entrypoints.jsonrpc import JsonRpcEndpoint
from services.gateway.entrypoints.not_offered import not_offered
from services.gateway.entrypoints.push_calls import PushCalls
from services.gateway.entrypoints.push_rpc import push_methods
from services.gateway.entrypoints.resolve import resolve_routes
from services.gateway.entrypoints.rest import RestEndpoints
from services.gateway.entrypoints.rl_status import rl_status_routes
from services.gateway.entrypoints.rpc_streams import RpcStreams
from services.gateway.entrypoints.solver import SolverEndpoint
from services.gateway.entrypoints.tenants import TenantEndpoints
from services.gateway.ports import Identity, Readiness, Statistics


class Face(NamedTuple):
    """How the gateway presents itself: its public URL, what kind of model serves, and the largest body it reads."""

    url: str
    notice: str = ""
    max_body: int = 1024 * 1024


def create_app(
    desk: TaskDesk,
    lists: TaskListDesk,
    identity: Identity,
    readiness: Readiness,
    statistics: Statistics,
    tenants: TenantDesk,
    face: Face,
    lifespan: Lifespan[FastAPI] | None = None,
    watch: Watch | None = None,
) -> FastAPI:
    app = FastAPI(title="Purple Agent gateway", docs_url=None, redoc_url=None, lifespan=lifespan)
    app.add_middleware(Door, identity=identity, watch=watch)
    calls = A2aCalls(desk, lists, identity, face.notice)
    rest = A2aRest(calls, face.max_body)
    streams = RpcStreams(desk, calls, face.notice).methods()
    push = push_methods(PushCalls(PushDesk(desk, desk.webhooks), calls))
    methods = {**not_offered(), **A2aRpc(calls).methods(), **streams, **push}
    rpc = JsonRpcEndpoint(desk, identity, face.notice, face.max_body, methods)
    app.add_api_route("/", rpc.__call__, methods=["POST"], response_class=Response, name="jsonrpc")
    app.include_router(card_routes(agent_card(face.url, face.notice, push=desk.webhooks is not None)))
    app.include_router(rest.routes())
    app.include_router(RestEndpoints(desk, identity, readiness, face.notice, rest.task).routes())
    app.include_router(resolve_routes(desk, identity, face.notice, face.max_body))
    app.include_router(TenantEndpoints(tenants, identity, face.max_body).routes())
    app.include_router(SolverEndpoint(desk, identity, face.max_body).routes())
    app.include_router(rl_status_routes(statistics, identity))
    return app
