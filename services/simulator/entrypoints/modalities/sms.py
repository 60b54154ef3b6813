"""``/sms``: the user's text messages."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from services.simulator.core.modalities.fields import Name
from services.simulator.core.modalities.sms_conversations import UpdateConversation
from services.simulator.core.modalities.sms_messages import (
    AddReaction,
    DeleteSms,
    ReceiveMessage,
    SendSms,
    UpdateDeliveryStatus,
)
from services.simulator.core.modalities.sms_query import SmsQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.names import require_own_number
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/sms", tags=["sms"])
_NAME = "sms"


class SmsIds(BaseModel):
    """Which messages."""

    message_ids: Annotated[list[Name], Field(min_length=1)]


@router.get("/state")
async def state(
    place: Annotated[RequestContext, require_permission("sms:state")], compact: Compact = False
) -> Response:
    return show_state(place, _NAME, compact=compact)


@router.post("/query")
async def query(place: Annotated[RequestContext, require_permission("sms:query")], asked: SmsQuery) -> Response:
    return answer_query(place, _NAME, asked)


@router.post("/send")
async def send(place: Annotated[RequestContext, require_permission("sms:send")], body: SendSms) -> ActionResponse:
    return carry_out(place, _NAME, "send_message", body)


@router.post("/receive")
async def receive(
    place: Annotated[RequestContext, require_permission("sms:receive")], body: ReceiveMessage
) -> ActionResponse:
    return carry_out(place, _NAME, "receive_message", body)


@router.post("/read")
async def read(place: Annotated[RequestContext, require_permission("sms:read")], body: SmsIds) -> ActionResponse:
    return carry_out(place, _NAME, "update_delivery_status", _status_update(body, "read"))


@router.post("/unread")
async def unread(place: Annotated[RequestContext, require_permission("sms:unread")], body: SmsIds) -> ActionResponse:
    return carry_out(place, _NAME, "update_delivery_status", _status_update(body, "delivered"))


@router.post("/delete")
async def delete(place: Annotated[RequestContext, require_permission("sms:delete")], body: SmsIds) -> ActionResponse:
    return carry_out(place, _NAME, "delete_message", DeleteSms.model_validate(body.model_dump()))


@router.post("/react")
async def react(place: Annotated[RequestContext, require_permission("sms:react")], body: AddReaction) -> ActionResponse:
    """As the user. Only who may let others write may let them react."""
    require_own_number(place, body.phone_number)
    return carry_out(place, _NAME, "add_reaction", body)


@router.post("/conversation")
async def conversation(
    place: Annotated[RequestContext, require_permission("sms:conversation")], body: UpdateConversation
) -> ActionResponse:
    return carry_out(place, _NAME, "update_conversation", body)


def _status_update(body: SmsIds, status: str) -> UpdateDeliveryStatus:
    return UpdateDeliveryStatus.model_validate({**body.model_dump(), "new_status": status})
