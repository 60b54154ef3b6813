"""``/chat``: the user and the assistant."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.chat_actions import ClearConversation, DeleteMessage, SendMessage
from services.simulator.core.modalities.chat_query import ChatQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/chat", tags=["chat"])


@router.get("/state")
async def state(place: Annotated[Place, permitted("chat:state")], compact: Compact = False) -> Response:
    return shown(place, "chat", compact=compact)


@router.post("/query")
async def query(place: Annotated[Place, permitted("chat:query")], asked: ChatQuery) -> Response:
    return answered(place, "chat", asked)


@router.post("/send")
async def send(place: Annotated[Place, permitted("chat:send")], body: SendMessage) -> ActionResponse:
    return carried_out(place, "chat", "send_message", body)


@router.post("/delete")
async def delete(place: Annotated[Place, permitted("chat:delete")], body: DeleteMessage) -> ActionResponse:
    return carried_out(place, "chat", "delete_message", body)


@router.post("/clear")
async def clear(place: Annotated[Place, permitted("chat:clear")], body: ClearConversation) -> ActionResponse:
    return carried_out(place, "chat", "clear_conversation", body)
