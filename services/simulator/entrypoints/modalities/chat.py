"""``/chat``: the user and the assistant."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.chat_actions import ClearConversation, DeleteChatMessage, PostChatMessage
from services.simulator.core.modalities.chat_query import ChatQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/chat", tags=["chat"])


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("chat:state")], compact: Compact = False
) -> Response:
    return show_state(context, "chat", compact=compact)


@router.post("/query")
async def query(context: Annotated[RequestContext, require_permission("chat:query")], body: ChatQuery) -> Response:
    return answer_query(context, "chat", body)


@router.post("/send")
async def send(
    context: Annotated[RequestContext, require_permission("chat:send")], body: PostChatMessage
) -> ActionResponse:
    return carry_out(context, "chat", "send_message", body)


@router.post("/delete")
async def delete(
    context: Annotated[RequestContext, require_permission("chat:delete")], body: DeleteChatMessage
) -> ActionResponse:
    return carry_out(context, "chat", "delete_message", body)


@router.post("/clear")
async def clear(
    context: Annotated[RequestContext, require_permission("chat:clear")], body: ClearConversation
) -> ActionResponse:
    return carry_out(context, "chat", "clear_conversation", body)
