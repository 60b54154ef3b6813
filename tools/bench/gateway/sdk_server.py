"""``python -m tools.bench.gateway.sdk_server PORT``: the official SDK's own server, with its stores in memory.

Its agent answers at once; a text ``stream N`` is answered after N statuses.
"""

import sys

import uvicorn
from a2a.helpers import new_text_artifact, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, Task, TaskState, TaskStatus
from starlette.applications import Starlette
from typing_extensions import override


class InstantAgent(AgentExecutor):
    @override
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task_id, context_id = context.task_id or "", context.context_id or ""
        first = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
        first.history.append(context.message)
        await event_queue.enqueue_event(first)
        updater = TaskUpdater(event_queue, task_id, context_id)
        asked = context.get_user_input().split()
        for number in range(int(asked[1]) if asked[0] == "stream" else 0):
            said = new_text_message(f"Step {number}", context_id, task_id)
            await updater.update_status(TaskState.TASK_STATE_WORKING, said)
        artifact = new_text_artifact("answer", "done: hello")
        await updater.add_artifact(list(artifact.parts), name="answer")
        await updater.complete()

    @override
    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError("nothing here runs long enough to be canceled")


def sdk_application() -> Starlette:
    card = AgentCard(name="SDK", version="1", capabilities=AgentCapabilities(streaming=True))
    handler = DefaultRequestHandler(InstantAgent(), InMemoryTaskStore(), card)
    return Starlette(routes=create_jsonrpc_routes(handler, "/"))


if __name__ == "__main__":
    uvicorn.run(sdk_application(), host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="error")
