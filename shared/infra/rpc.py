"""Calls from one service to another through Redis: a short list of requests, and one reply to each.

A caller without an answer asks again, so a request must be safe to repeat.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, cast
from uuid import uuid4

import structlog
from pydantic import ValidationError
from redis.asyncio import Redis

from shared.contracts.learning_files import LearningFile, LearningImportReport, LearningImportRequest
from shared.infra import keys
from shared.infra.lua import Scripts, bounded_redis_calls
from shared.ports.store import StoreUnavailable

_WAIT_SECONDS = 5
_MARGIN_SECONDS = 5.0
_POLL_SECONDS = 0.05
_RETRY_SECONDS = 0.5

log = structlog.get_logger()


class RpcRequest(NamedTuple):
    """A request that waits in a queue for its service."""

    request_id: str
    text: str


class RpcQueue:
    """Requests to one service, and their answers, over Redis. Every method may raise ``StoreUnavailable``."""

    def __init__(self, redis: Redis, service: str) -> None:
        self._redis = redis
        self._scripts = Scripts(redis)
        self._queue = keys.rpc_queue_key(service)

    async def request_answer(self, text: str, seconds: float) -> str | None:
        """Sends a request and waits for its answer; None if none comes within ``seconds``."""
        request_id = await self.post_request(text, seconds)
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until:
            answer = await self._scripts.execute("GET", keys.rpc_reply_key(request_id))
            if answer is not None:
                return str(answer)
            await asyncio.sleep(_POLL_SECONDS)
        return None

    async def post_request(self, text: str, expires_after: float) -> str:
        """Leaves a request that expires unless it is taken within about ``expires_after`` seconds; returns its id."""
        request = RpcRequest(uuid4().hex, text)
        row, lives_seconds = "\n".join(request), max(1, round(expires_after))
        await self._scripts.execute_commands(
            ("LREM", self._queue, 0, row),  # where this is repeated
            ("RPUSH", self._queue, row),
            ("EXPIRE", self._queue, lives_seconds, "NX"),  # the list does not outlive those who wait for an answer
            ("EXPIRE", self._queue, lives_seconds, "GT"),
        )
        return request.request_id

    async def answer_requests(self, do: Callable[[str], Awaitable[str]]) -> None:
        """Answers requests with ``do``, one after the other, until cancelled; waits while the store fails.

        ``do`` must raise nothing but ``StoreUnavailable``, after which the request gets no answer.
        """
        while True:
            try:
                request = await self._take_next()
                if request is not None:
                    await self._send_reply(request, await do(request.text))
            except StoreUnavailable as error:
                log.warning("rpc_request_not_answered", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _take_next(self) -> RpcRequest | None:
        async with bounded_redis_calls(_WAIT_SECONDS + _MARGIN_SECONDS):
            popped = self._redis.blpop([self._queue], _WAIT_SECONDS)
            queue_and_row = await cast("Awaitable[tuple[str, str] | None]", popped)
        if queue_and_row is None:
            return None
        request_id, _, text = queue_and_row[1].partition("\n")
        return RpcRequest(request_id, text)

    async def _send_reply(self, request: RpcRequest, text: str) -> None:
        await self._scripts.execute("SET", keys.rpc_reply_key(request.request_id), text, "EX", keys.RPC_REPLY_SECONDS)


async def serve_imports(
    queue: RpcQueue, file: LearningFile, import_file: Callable[[LearningImportRequest], Awaitable[LearningImportReport]]
) -> None:
    """Imports the learning files that other services send, until cancelled.

    A failure of ``import_file`` is sent to the caller, except ``StoreUnavailable``. ``file``: the file that the answer
    to an unreadable request names.
    """

    async def import_and_report(text: str) -> str:
        try:
            request = LearningImportRequest.model_validate_json(text)
        except ValidationError as error:
            problem = f"it is no request that this version knows: {error.error_count()} fields are wrong"
            return LearningImportReport(file=file, problems=(problem,)).model_dump_json()
        try:
            report = await import_file(request)
        except StoreUnavailable:
            raise
        except Exception as error:  # the edge of one file: what is in it stops no service
            log.exception("learning_file_not_imported", tenant=request.tenant, file=request.file.value)
            problem = f"it cannot be imported: {type(error).__name__}"
            return LearningImportReport(
                file=request.file, problems=(problem,), dry_run=request.dry_run
            ).model_dump_json()
        log.info("learning_file_imported", tenant=request.tenant, **report.model_dump(mode="json", exclude={"v"}))
        return report.model_dump_json()

    await queue.answer_requests(import_and_report)
