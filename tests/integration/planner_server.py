"""The planner on a real socket."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from services.executor.adapters.anthropic_model import AnthropicModel, Limits
from services.executor.ports import Tier
from services.planner.bootstrap import build
from services.planner.settings import Settings

MODEL = "offline-planner-1"
_PATIENCE = 10.0


class _Server(uvicorn.Server):
    """A server among others in one process: signals are the test run's own."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.serving = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.serving.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def planner_server(settings: Settings | None = None) -> AsyncIterator[str]:
    """A planner's base URL."""
    app = build(settings or Settings())
    # asyncio turns Nagle's delay off only for sockets that name their protocol, which create_server's do not.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve([listening]))
            async with asyncio.timeout(_PATIENCE):
                await server.serving.wait()
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
            server.should_exit = True


@asynccontextmanager
async def model_at(
    url: str, limits: Limits | None = None, fallback: str | None = None
) -> AsyncIterator[AnthropicModel]:
    """The adapter against an endpoint, both tiers being the planner's model."""
    model = AnthropicModel(
        tiers=dict.fromkeys(Tier, MODEL),
        fallbacks=dict.fromkeys(Tier, fallback) if fallback else None,
        api_key="sk-test",
        base_url=url,
        limits=limits or Limits(seconds=10, retries=1),
    )
    try:
        yield model
    finally:
        await model.close()
