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
    place: Annotated[RequestContext, require_permission("chat:state")], compact: Compact = False
) -> Response:
    return show_state(place, "chat", compact=compact)


@router.post("/query")
async def query(place: Annotated[RequestContext, require_permission("chat:query")], asked: ChatQuery) -> Response:
    return answer_query(place, "chat", asked)


@router.post("/send")
async def send(
    place: Annotated[RequestContext, require_permission("chat:send")], body: PostChatMessage
) -> ActionResponse:
    return carry_out(place, "chat", "send_message", body)


@router.post("/delete")
async def delete(
    place: Annotated[RequestContext, require_permission("chat:delete")], body: DeleteChatMessage
) -> ActionResponse:
    return carry_out(place, "chat", "delete_message", body)


@router.post("/clear")
async def clear(
    place: Annotated[RequestContext, require_permission("chat:clear")], body: ClearConversation
) -> ActionResponse:
    return carry_out(place, "chat", "clear_conversation", body)
