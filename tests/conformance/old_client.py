"""Run by an environment that has the 0.3 line of the official SDK: calls of its client, one a line of stdin.

``old_client.py URL JSONRPC|HTTP+JSON TOKEN``; a line ``{"method", "params"}`` is answered with a line ``{"value"}`` for
each thing that the client gives, and at last ``{"done"}`` or ``{"refused": CODE}``.
"""

# mypy: ignore-errors
# (the types are those of another version of the SDK than the one that this environment has)

import asyncio
import json
import sys

import httpx
from a2a import types
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError

_BY_STATUS = {404: -32001, 409: -32002, 415: -32005}


async def _events(stream):
    """The latest of each thing: of an update, the update; else the task or the message."""
    async for event in stream:
        yield (event[1] or event[0]) if isinstance(event, tuple) else event


async def _one(answer):
    yield await answer


def _ask(method, params, polls, streams):
    match method:
        case "SendMessage" | "SendStreamingMessage":
            said = types.MessageSendParams.model_validate(params)
            client = polls if method == "SendMessage" else streams
            return _events(client.send_message(said.message, configuration=said.configuration))
        case "SubscribeToTask":
            return _events(streams.resubscribe(types.TaskIdParams.model_validate(params)))
        case "GetTask":
            return _one(polls.get_task(types.TaskQueryParams.model_validate(params)))
        case "CancelTask":
            return _one(polls.cancel_task(types.TaskIdParams.model_validate(params)))
        case "CreateTaskPushNotificationConfig":
            return _one(polls.set_task_callback(types.TaskPushNotificationConfig.model_validate(params)))
        case "GetTaskPushNotificationConfig":
            wanted = types.GetTaskPushNotificationConfigParams.model_validate(params)
            return _one(polls.get_task_callback(wanted))
        case "GetExtendedAgentCard":
            return _one(polls.get_card())
    raise LookupError(method)


def _say(**said):
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


async def _answer(line, polls, streams):
    asked = json.loads(line)
    try:
        async for value in _ask(asked["method"], asked["params"], polls, streams):
            _say(value=value.model_dump(mode="json", by_alias=True, exclude_none=True))
    except A2AClientJSONRPCError as error:
        return _say(refused=error.error.code)
    except A2AClientHTTPError as error:
        return _say(refused=_BY_STATUS.get(error.status_code, error.status_code))
    return _say(done=True)


async def main(url, binding, token):
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(timeout=20, trust_env=False, headers=headers) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        wanted = {"httpx_client": http, "supported_transports": [binding], "use_client_preference": True}
        clients = [ClientFactory(ClientConfig(streaming=way, **wanted)).create(card) for way in (False, True)]
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            await _answer(line, *clients)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
