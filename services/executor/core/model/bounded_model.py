"""A model that is waited for only so long."""

import asyncio

from typing_extensions import override

from services.executor.ports.models import Model, ModelReply, ModelRequest, ModelUnavailable


class BoundedModel(Model):
    """Raises ``ModelUnavailable`` after so many seconds; whoever asks is not cut off, and stores what it did."""

    def __init__(self, model: Model, seconds: float) -> None:
        self._model = model
        self._seconds = seconds

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._model.complete(request)
        except TimeoutError as error:
            raise ModelUnavailable(f"no answer within {self._seconds:g} seconds") from error
