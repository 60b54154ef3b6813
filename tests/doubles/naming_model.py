"""A ``Model`` that names a task's process as it is told, whatever the model behind it says of it."""

from typing_extensions import override

from shared.ports.models import Model, ModelReply, ModelRequest, ToolUse


class NamingModel(Model):
    """``process``: the name; None leaves the other model's own."""

    def __init__(self, inner: Model) -> None:
        self._inner = inner
        self.process: str | None = None

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await self._inner.complete(request)
        if self.process is None:
            return reply
        named = {"process": self.process}
        blocks = (
            block._replace(input={**block.input, **named})
            if isinstance(block, ToolUse) and block.name == "understand"
            else block
            for block in reply.blocks
        )
        return reply._replace(blocks=tuple(blocks))
