"""A scenario's evaluators run in threads of their own, so that one that never returns stops nobody else.

An evaluator that is cancelled (the judge does so when its time is over) is cancelled in its thread; Python code that
loops without awaiting anything is ended by an exception. A call into C that never returns cannot be ended: its thread
is left behind, and dies with the process.
"""

import asyncio
import ctypes
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import replace
from functools import wraps
from typing import cast

from structlog import get_logger

from services.assessor.core.evaluation import EvalContext, EvalResult, Evaluator
from services.assessor.ports.simulated_world import SimulatedWorld
from shared.contracts.assessment.messages import JsonObject
from shared.ports.models import Model

_GRACE_SECONDS = 1.0
_PLAIN_TYPES = (str, bytes, int, float, bool, type(None))
log = get_logger()


class EvaluationStopped(BaseException):
    """Raised inside a thread whose evaluator took too long. No ``except Exception`` of a scenario holds it up."""


class LoopBridge:
    """An object of one event loop for code that runs in another: its coroutines run where the object belongs."""

    def __init__(self, target: object, caller_loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._caller_loop = caller_loop

    def __getattr__(self, name: str) -> object:
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return _bind_to_loop(value, self._caller_loop)
        return value if callable(value) or isinstance(value, _PLAIN_TYPES) else LoopBridge(value, self._caller_loop)


def threaded_evaluator(evaluator: Evaluator) -> Evaluator:
    """The evaluator with the same answers and errors, in a thread and an event loop of its own for each call."""

    @wraps(evaluator)
    async def evaluate(context: EvalContext, params: JsonObject) -> EvalResult:
        caller_loop = asyncio.get_running_loop()
        bridged = replace(
            context,
            client=cast(SimulatedWorld, LoopBridge(context.client, caller_loop)),
            llm=cast(Model, LoopBridge(context.llm, caller_loop)) if context.llm else None,
        )
        return await _ThreadedCall(evaluator, bridged, params, caller_loop).run_to_result()

    return evaluate


class _ThreadedCall:
    def __init__(
        self, evaluator: Evaluator, context: EvalContext, params: JsonObject, caller_loop: asyncio.AbstractEventLoop
    ) -> None:
        self._evaluator = evaluator
        self._given = (context, params)
        self._caller_loop = caller_loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[EvalResult] | None = None
        self._done: asyncio.Future[EvalResult] = caller_loop.create_future()
        self._over: asyncio.Future[None] = caller_loop.create_future()
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name=f"evaluator-{evaluator.__name__}", daemon=True
        )

    async def run_to_result(self) -> EvalResult:
        self._thread.start()
        try:
            return await asyncio.shield(self._done)
        except asyncio.CancelledError:
            await self._stop_evaluator()
            raise

    def _run(self) -> None:
        try:
            result = asyncio.run(self._run_evaluator())
        except BaseException as error:  # noqa: BLE001  whatever a scenario's code raises, the judge is told
            self._deliver_result(_as_exception(error), None)
        else:
            self._deliver_result(None, result)

    async def _run_evaluator(self) -> EvalResult:
        self._loop = asyncio.get_running_loop()
        self._task = cast("asyncio.Task[EvalResult]", asyncio.current_task())
        return await self._evaluator(*self._given)

    def _deliver_result(self, error: Exception | None, result: EvalResult | None) -> None:
        def settle() -> None:
            self._over.set_result(None)
            if self._done.cancelled():
                return
            if error is None:
                self._done.set_result(cast(EvalResult, result))
            else:
                self._done.set_exception(error)
                self._done.exception()  # it is seen, also where nobody waits any more

        if not self._caller_loop.is_closed():
            self._caller_loop.call_soon_threadsafe(settle)

    async def _stop_evaluator(self) -> None:
        """Asks the evaluator to end, then ends its code, then leaves the thread to itself."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
        if await self._is_over() or self._thread.ident is None:
            return
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(self._thread.ident), ctypes.py_object(EvaluationStopped)
        )
        if not await self._is_over():
            log.warning("evaluator_not_stopped", evaluator=self._evaluator.__name__)

    async def _is_over(self) -> bool:
        """Whether the evaluator ends within a short wait.

        No ``asyncio.timeout``: early releases of Python 3.11 let a cancelled task's own cancellation through it.
        """
        ended, _ = await asyncio.wait({self._over}, timeout=_GRACE_SECONDS)
        return bool(ended)


def _as_exception(error: BaseException) -> Exception:
    return error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


def _bind_to_loop(
    function: Callable[..., Awaitable[object]], caller_loop: asyncio.AbstractEventLoop
) -> Callable[..., Awaitable[object]]:
    @wraps(function)
    async def call(*args: object, **kwargs: object) -> object:
        async def run() -> object:
            return await function(*args, **kwargs)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), caller_loop))

    return call
