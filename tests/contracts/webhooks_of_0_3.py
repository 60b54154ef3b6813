"""Run by an environment that has the 0.3 line of the official SDK: a webhook with a message, and one set later."""

# mypy: ignore-errors
# (the types are those of another version of the SDK than the one that this environment has)

import asyncio
import json
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskPushNotificationConfig,
    TextPart,
    TransportProtocol,
)


async def main(url, hook, transport):
    first = PushNotificationConfig(id="first", url=hook, token="t0k")
    async with httpx.AsyncClient(timeout=20, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            streaming=False,
            supported_transports=[TransportProtocol(transport)],
            push_notification_configs=[first],
        )
        client = ClientFactory(config).create(card)
        message = Message(message_id=uuid4().hex, role=Role.user, parts=[Part(root=TextPart(text="ask"))])
        replies = [reply async for reply in client.send_message(message)]
        task = replies[-1][0]
        second = PushNotificationConfig(id="second", url=f"{hook}/second")
        made = await client.set_task_callback(
            TaskPushNotificationConfig(task_id=task.id, push_notification_config=second)
        )
        asked = GetTaskPushNotificationConfigParams(id=task.id, push_notification_config_id="first")
        found = await client.get_task_callback(asked)
    return {
        "push": card.capabilities.push_notifications,
        "task": task.id,
        "made": made.push_notification_config.id,
        "found": [found.push_notification_config.url, found.push_notification_config.token or None],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(*sys.argv[1:]))))
