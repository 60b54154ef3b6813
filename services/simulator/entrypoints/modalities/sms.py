"""``/sms``: the user's text messages."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from services.simulator.core.modalities.fields import Name
from services.simulator.core.modalities.sms_conversations import UpdateConversation
from services.simulator.core.modalities.sms_messages import (
    AddReaction,
    DeleteMessage,
    ReceiveMessage,
    SendMessage,
    UpdateDeliveryStatus,
)
from services.simulator.core.modalities.sms_query import SmsQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.names import require_own_number
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/sms", tags=["sms"])
_NAME = "sms"


class Several(BaseModel):
    """Which messages."""

    message_ids: Annotated[list[Name], Field(min_length=1)]


@router.get("/state")
async def state(place: Annotated[Place, permitted("sms:state")], compact: Compact = False) -> Response:
    return shown(place, _NAME, compact=compact)


@router.post("/query")
async def query(place: Annotated[Place, permitted("sms:query")], asked: SmsQuery) -> Response:
    return answered(place, _NAME, asked)


@router.post("/send")
async def send(place: Annotated[Place, permitted("sms:send")], body: SendMessage) -> ActionResponse:
    return carried_out(place, _NAME, "send_message", body)


@router.post("/receive")
async def receive(place: Annotated[Place, permitted("sms:receive")], body: ReceiveMessage) -> ActionResponse:
    return carried_out(place, _NAME, "receive_message", body)


@router.post("/read")
async def read(place: Annotated[Place, permitted("sms:read")], body: Several) -> ActionResponse:
    return carried_out(place, _NAME, "update_delivery_status", _as(body, "read"))


@router.post("/unread")
async def unread(place: Annotated[Place, permitted("sms:unread")], body: Several) -> ActionResponse:
    return carried_out(place, _NAME, "update_delivery_status", _as(body, "delivered"))


@router.post("/delete")
async def delete(place: Annotated[Place, permitted("sms:delete")], body: Several) -> ActionResponse:
    return carried_out(place, _NAME, "delete_message", DeleteMessage.model_validate(body.model_dump()))


@router.post("/react")
async def react(place: Annotated[Place, permitted("sms:react")], body: AddReaction) -> ActionResponse:
    """As the user. Only who may let others write may let them react."""
    require_own_number(place, body.phone_number)
    return carried_out(place, _NAME, "add_reaction", body)


@router.post("/conversation")
async def conversation(
    place: Annotated[Place, permitted("sms:conversation")], body: UpdateConversation
) -> ActionResponse:
    return carried_out(place, _NAME, "update_conversation", body)


def _as(body: Several, status: str) -> UpdateDeliveryStatus:
    return UpdateDeliveryStatus.model_validate({**body.model_dump(), "new_status": status})
