"""A ``Model`` whose library is loaded when it is first asked: the SDK takes a second of CPU time to load."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from typing_extensions import override

from shared.ports.models import Model, ModelReply, ModelRequest


class ClosableModel(Model, Protocol):
    async def close(self) -> None: ...


class LateModel(Model):
    """``load`` imports and makes the model. It runs in a thread, once, so that everything else goes on meanwhile."""

    def __init__(self, load: Callable[[], ClosableModel]) -> None:
        self._load = load
        self._loading = asyncio.Lock()
        self._model: ClosableModel | None = None

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        model = self._model or await self._loaded_model()
        return await model.complete(request)

    async def close(self) -> None:
        """Whoever was never asked holds nothing."""
        if self._model is not None:
            await self._model.close()

    async def _loaded_model(self) -> ClosableModel:
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(self._load)
            return self._model
