"""A remote A2A agent on the official SDK's own server, over HTTP, in either generation of the protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from tests.serving import listening, serving_on

QUESTION = "Which carrier?"
SKILL = "ship_goods"


class RemoteAgent(AgentExecutor):
    """What it does is told by the first word that it knows in the message.

    ``heard``: the messages that it was given, by id, text, context and task. ``stopped``: tasks it was told to stop.
    """

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, str, str]] = []
        self.data: list[object] = []
        self.files: list[tuple[str, bytes]] = []
        self.stopped: list[str] = []
        self.go_on = asyncio.Event()
        self.headers: list[dict[str, str]] = []
        self.cut_next = False  # whether the answer to the next message is lost
        self.takes_cut = True  # and the message was taken before

    @override
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message is not None
        assert context.task_id is not None
        assert context.context_id is not None
        text = context.get_user_input()
        self.heard.append((context.message.message_id, text, context.context_id, context.task_id))
        self.data += [part.data for part in context.message.parts if part.HasField("data")]
        self.files += [(part.filename, part.raw) for part in context.message.parts if part.HasField("raw")]
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            new = Task(id=context.task_id, context_id=context.context_id, status=status, history=[context.message])
            await event_queue.enqueue_event(new)
        await self._play(text, updater)

    async def _play(self, text: str, updater: TaskUpdater) -> None:
        words = text.split()
        if "ask" in words:
            await updater.requires_input(updater.new_agent_message([new_text_part(QUESTION)]))
        elif "fail" in words:
            await updater.failed(updater.new_agent_message([new_text_part("the lorry broke down")]))
        elif "reject" in words:
            await updater.reject(updater.new_agent_message([new_text_part("not my business")]))
        elif "auth" in words:
            await updater.requires_auth(updater.new_agent_message([new_text_part("sign in")]))
        else:
            if "slow" in words:
                await updater.start_work()
                await self.go_on.wait()
            await updater.add_artifact([new_text_part(f"done: {text}"), new_data_part({"parcels": 3})])
            await updater.complete()

    @override
    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        self.stopped.append(context.task_id)
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card_at(url: str, version: str, skill: str = SKILL, description: str = "Ships goods.") -> AgentCard:
    interface = AgentInterface(url=f"{url}/", protocol_binding="JSONRPC", protocol_version=version)
    return AgentCard(
        name="Shipper",
        description="Ships.",
        version="1",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id=skill, name="Shipping", description=description, tags=["goods"])],
    )


class _Line:
    """Notes the headers of each request, and loses an answer where it is told to."""

    def __init__(self, app: ASGIApp, agent: RemoteAgent) -> None:
        self._app, self._agent = app, agent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._agent.headers.append(dict(Request(scope).headers))
        if scope["type"] != "http" or scope["method"] != "POST" or not self._agent.cut_next:
            await self._app(scope, receive, send)
            return
        self._agent.cut_next = False

        async def lose(message: object) -> None:
            del message

        if self._agent.takes_cut:
            await self._app(scope, receive, lose)
        await Response("lost", 502)(scope, receive, send)


@asynccontextmanager
async def remote_agent(agent: RemoteAgent, version: str = "1.0", card: AgentCard | None = None) -> AsyncIterator[str]:
    """The agent's URL; ``version`` 1.0 or 0.3 is what its card names."""
    with listening() as (listener, url):
        described = card or card_at(url, version)
        handler = DefaultRequestHandler(agent, InMemoryTaskStore(), described)
        routes = [
            *create_agent_card_routes(described),
            *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=version == "0.3"),
        ]
        async with serving_on(listener, _Line(Starlette(routes=routes), agent)), aclosing(handler):
            yield url
