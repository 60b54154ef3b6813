"""The A2A SDK's own server around an agent that is one function, with stores in memory."""

from collections.abc import Awaitable, Callable

import uvicorn
from a2a.helpers import new_text_artifact
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from typing_extensions import override

Agent = Callable[[str], Awaitable[str]]
"""From the task's text to its answer."""


class _Executor(AgentExecutor):
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @override
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task_id, context_id = context.task_id or "", context.context_id or ""
        first = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
        first.history.append(context.message)
        await event_queue.enqueue_event(first)
        updater = TaskUpdater(event_queue, task_id, context_id)
        answer = await self._agent(context.get_user_input())
        await updater.add_artifact(list(new_text_artifact("answer", answer).parts), name="answer")
        await updater.complete()

    @override
    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("the bench cancels nothing")


async def serve_agent(agent: Agent, port: int) -> None:
    """Until the process is ended."""
    card = AgentCard(
        name="Agent",
        description="Carries out what it is asked.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"http://127.0.0.1:{port}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="work", name="Work", description="Business tasks over tools.", tags=["work"])],
    )
    handler = DefaultRequestHandler(_Executor(agent), InMemoryTaskStore(), card)
    app = Starlette(routes=create_jsonrpc_routes(handler, "/"))
    config = uvicorn.Config(app, host="127.0.0.1", port=port, access_log=False, log_level="error", backlog=2048)
    await uvicorn.Server(config).serve()
