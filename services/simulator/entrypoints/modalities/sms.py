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
    """The ids of the messages to change."""

    message_ids: Annotated[list[Name], Field(min_length=1)]


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("sms:state")], compact: Compact = False
) -> Response:
    return show_state(context, _NAME, compact=compact)


@router.post("/query")
async def query(context: Annotated[RequestContext, require_permission("sms:query")], body: SmsQuery) -> Response:
    return answer_query(context, _NAME, body)


@router.post("/send")
async def send(context: Annotated[RequestContext, require_permission("sms:send")], body: SendSms) -> ActionResponse:
    return carry_out(context, _NAME, "send_message", body)


@router.post("/receive")
async def receive(
    context: Annotated[RequestContext, require_permission("sms:receive")], body: ReceiveMessage
) -> ActionResponse:
    return carry_out(context, _NAME, "receive_message", body)


@router.post("/read")
async def read(context: Annotated[RequestContext, require_permission("sms:read")], body: SmsIds) -> ActionResponse:
    return carry_out(context, _NAME, "update_delivery_status", _status_update(body, "read"))


@router.post("/unread")
async def unread(context: Annotated[RequestContext, require_permission("sms:unread")], body: SmsIds) -> ActionResponse:
    return carry_out(context, _NAME, "update_delivery_status", _status_update(body, "delivered"))


@router.post("/delete")
async def delete(context: Annotated[RequestContext, require_permission("sms:delete")], body: SmsIds) -> ActionResponse:
    return carry_out(context, _NAME, "delete_message", DeleteSms.model_validate(body.model_dump()))


@router.post("/react")
async def react(
    context: Annotated[RequestContext, require_permission("sms:react")], body: AddReaction
) -> ActionResponse:
    """Adds a reaction as the user. Another's reaction needs the permission ``sms:receive``."""
    require_own_number(context, body.phone_number)
    return carry_out(context, _NAME, "add_reaction", body)


@router.post("/conversation")
async def conversation(
    context: Annotated[RequestContext, require_permission("sms:conversation")], body: UpdateConversation
) -> ActionResponse:
    return carry_out(context, _NAME, "update_conversation", body)


def _status_update(body: SmsIds, status: str) -> UpdateDeliveryStatus:
    return UpdateDeliveryStatus.model_validate({**body.model_dump(), "new_status": status})
