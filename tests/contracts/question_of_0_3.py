"""Run by an environment that has the 0.3 line of the official SDK: one question, and its task read again."""

# mypy: ignore-errors
# (the types are those of another version of the SDK than the one that this environment has)

import asyncio
import json
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import Message, Part, Role, TaskQueryParams, TextPart


async def main(url, text):
    async with httpx.AsyncClient(timeout=60, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        message = Message(message_id=uuid4().hex, role=Role.user, parts=[Part(root=TextPart(text=text))])
        replies = [reply async for reply in client.send_message(message)]
        task = await client.get_task(TaskQueryParams(id=replies[-1][0].id))
    return {"state": task.status.state.value, "text": task.artifacts[0].parts[0].root.text}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
