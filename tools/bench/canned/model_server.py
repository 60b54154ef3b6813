"""``python -m tools.bench.canned.model_server PORT``: a model that costs little and answers as late as told.

``/SECONDS/v1/messages`` is the Messages API, answered after so many seconds.
"""

import asyncio
import json
import sys
from typing import Any, cast

import uvicorn

from tools.bench.canned.replies import UncannedTask, reply_to

_JSON = [(b"content-type", b"application/json")]


async def canned_model(scope: dict[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI's own shapes
    """One ASGI application. 404 for any other path, 400 where the request holds none of the bench's tasks."""
    if scope["type"] != "http":
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    seconds, _, api = scope["path"].strip("/").partition("/")
    status, answer = (200, b"") if api == "v1/messages" else (404, _refuse("not_found_error", scope["path"]))
    if status == 200:
        try:
            answer = reply_to(body)
        except (UncannedTask, ValueError, KeyError) as problem:
            status, answer = 400, _refuse("invalid_request_error", str(problem))
        await asyncio.sleep(float(seconds))
    await send({"type": "http.response.start", "status": status, "headers": _JSON})
    await send({"type": "http.response.body", "body": answer})


def _refuse(kind: str, message: str) -> bytes:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


if __name__ == "__main__":
    uvicorn.run(
        cast("Any", canned_model),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        access_log=False,
        lifespan="off",
        backlog=2048,
        timeout_keep_alive=60,
    )
