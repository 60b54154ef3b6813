"""The tool loop of one state: the model asks, the gate decides, permitted calls run, the model reads what came."""

from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

from services.executor.core.context import TurnContext
from services.executor.core.execute.model_calls import ask
from services.executor.core.side_by_side import side_by_side
from services.executor.core.spend.budget import Purse
from services.executor.ports.models import Message, ModelReply, ModelRequest, ToolResult, ToolUse


class Dispatch(Protocol):
    """Makes one call that the model asked for and says what came of it; never raises for the model's own mistakes."""

    def __call__(self, key: str, use: ToolUse, /) -> Awaitable[ToolResult]: ...


class Talk(NamedTuple):
    """How a loop ended: the model's last reply, and how many model and tool calls it took."""

    reply: ModelReply
    model_calls: int
    tool_calls: int


async def talk(
    ctx: TurnContext, step: str, request: ModelRequest, dispatch: Dispatch, purse: Purse = Purse.READING
) -> Talk:
    """Run the loop until the model asks for no tool, or the iterations are used up."""
    messages = list(request.messages)
    called = 0
    for iteration in range(ctx.limits.iterations):
        reply = await ask(ctx, f"{step}:model:{iteration}", request._replace(messages=tuple(messages)), purse)
        if not reply.tool_uses:
            return Talk(reply, iteration + 1, called)
        results = await _run(f"{step}:tool:{iteration}", reply.tool_uses, ctx.limits.tool_calls - called, dispatch)
        called += len(results)
        messages += [Message("assistant", reply.blocks), Message("user", tuple(results))]
    return Talk(reply, ctx.limits.iterations, called)


async def _run(prefix: str, uses: Sequence[ToolUse], left: int, dispatch: Dispatch) -> list[ToolResult]:
    """Run the calls of one reply side by side; those beyond the limit are answered with a refusal."""

    async def run(index: int, use: ToolUse) -> ToolResult:
        if index >= left:
            return ToolResult(use.id, "Not called: this state's limit of tool calls is reached.", is_error=True)
        return await dispatch(f"{prefix}:{index}", use)

    return await side_by_side(run(index, use) for index, use in enumerate(uses))
