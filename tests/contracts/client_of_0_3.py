"""Run by an environment that has the 0.3 line of the official SDK: messages, tasks, an approval, streams, errors.

``client_of_0_3.py URL [JSONRPC|HTTP+JSON] [TOKEN]``
"""

# mypy: ignore-errors
# (the types are those of another version of the SDK than the one that this environment has)

import asyncio
import json
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import Message, Part, Role, TaskIdParams, TaskQueryParams, TextPart


def _message(text, **more):
    return Message(message_id=uuid4().hex, role=Role.user, parts=[Part(root=TextPart(text=text))], **more)


async def _sent(client, message):
    replies = [reply async for reply in client.send_message(message)]
    return replies[-1][0] if isinstance(replies[-1], tuple) else replies[-1]


async def _kinds(events):
    """The kinds of what a stream tells: of updates, else of the task."""
    return [(event[1] or event[0]).kind if isinstance(event, tuple) else event.kind async for event in events]


async def main(url, binding="JSONRPC", token=""):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=20, trust_env=False, headers=headers) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        wanted = {"httpx_client": http, "supported_transports": [binding], "use_client_preference": True}
        client = ClientFactory(ClientConfig(streaming=False, **wanted)).create(card)
        streaming = ClientFactory(ClientConfig(streaming=True, **wanted)).create(card)
        done = await _sent(client, _message("hello"))
        read = await client.get_task(TaskQueryParams(id=done.id))
        asked = await _sent(client, _message("ask"))
        approved = await _sent(client, _message("approve", task_id=asked.id))
        waiting = await _sent(client, _message("ask"))
        canceled = await client.cancel_task(TaskIdParams(id=waiting.id))
        try:
            await client.get_task(TaskQueryParams(id="nobody"))
            code = None
        except A2AClientJSONRPCError as error:
            code = error.error.code
        except A2AClientHTTPError as error:
            code = error.status_code
        streamed = await _kinds(streaming.send_message(_message("hello again")))
    return {
        "streamed": [streamed[0], streamed[-1]],
        "protocol": card.protocol_version,
        "streaming": bool(card.capabilities.streaming),
        "states": [task.status.state.value for task in (done, read, asked, approved, canceled)],
        "text": done.artifacts[0].parts[0].root.text,
        "same_task": approved.id == asked.id and approved.context_id == asked.context_id,
        "unknown_task": code,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
