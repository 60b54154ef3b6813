"""``/email``: the user's mail."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities import email_marks as marks
from services.simulator.core.modalities.email_answers import Forward, ReplyAll, ReplyEmail
from services.simulator.core.modalities.email_compose import ReceiveMail, SaveDraft, SendDraft, SendMail
from services.simulator.core.modalities.email_query import EmailQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/email", tags=["email"])
_NAME = "email"


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("email:state")],
    compact: Compact = False,
    summary: Compact = False,
) -> Response:
    return show_state(context, _NAME, compact=compact or summary)


@router.post("/query")
async def query(context: Annotated[RequestContext, require_permission("email:query")], body: EmailQuery) -> Response:
    return answer_query(context, _NAME, body)


@router.post("/receive")
async def receive(
    context: Annotated[RequestContext, require_permission("email:receive")], body: ReceiveMail
) -> ActionResponse:
    return carry_out(context, _NAME, "receive", body)


@router.post("/send")
async def send(context: Annotated[RequestContext, require_permission("email:send")], body: SendMail) -> ActionResponse:
    return carry_out(context, _NAME, "send", body)


@router.post("/reply")
async def reply(
    context: Annotated[RequestContext, require_permission("email:send")], body: ReplyEmail
) -> ActionResponse:
    return carry_out(context, _NAME, "reply", body)


@router.post("/reply-all")
async def reply_all(
    context: Annotated[RequestContext, require_permission("email:send")], body: ReplyAll
) -> ActionResponse:
    return carry_out(context, _NAME, "reply_all", body)


@router.post("/forward")
async def forward(
    context: Annotated[RequestContext, require_permission("email:send")], body: Forward
) -> ActionResponse:
    return carry_out(context, _NAME, "forward", body)


@router.post("/draft")
async def draft(
    context: Annotated[RequestContext, require_permission("email:send")], body: SaveDraft
) -> ActionResponse:
    return carry_out(context, _NAME, "save_draft", body)


@router.post("/draft/send")
async def send_draft(
    context: Annotated[RequestContext, require_permission("email:send")], body: SendDraft
) -> ActionResponse:
    return carry_out(context, _NAME, "send_draft", body)


@router.post("/read")
async def read(
    context: Annotated[RequestContext, require_permission("email:read")], body: marks.MarkRead
) -> ActionResponse:
    return carry_out(context, _NAME, "mark_read", body)


@router.post("/unread")
async def unread(
    context: Annotated[RequestContext, require_permission("email:unread")], body: marks.MarkUnread
) -> ActionResponse:
    return carry_out(context, _NAME, "mark_unread", body)


@router.post("/star")
async def star(
    context: Annotated[RequestContext, require_permission("email:star")], body: marks.Star
) -> ActionResponse:
    return carry_out(context, _NAME, "star", body)


@router.post("/unstar")
async def unstar(
    context: Annotated[RequestContext, require_permission("email:unstar")], body: marks.Unstar
) -> ActionResponse:
    return carry_out(context, _NAME, "unstar", body)


@router.post("/archive")
async def archive(
    context: Annotated[RequestContext, require_permission("email:archive")], body: marks.ArchiveMail
) -> ActionResponse:
    return carry_out(context, _NAME, "archive", body)


@router.post("/delete")
async def delete(
    context: Annotated[RequestContext, require_permission("email:delete")], body: marks.DeleteMail
) -> ActionResponse:
    return carry_out(context, _NAME, "delete", body)


@router.post("/label")
async def label(
    context: Annotated[RequestContext, require_permission("email:label")], body: marks.AddLabel
) -> ActionResponse:
    return carry_out(context, _NAME, "add_label", body)


@router.post("/unlabel")
async def unlabel(
    context: Annotated[RequestContext, require_permission("email:unlabel")], body: marks.RemoveLabel
) -> ActionResponse:
    return carry_out(context, _NAME, "remove_label", body)


@router.post("/move")
async def move(
    context: Annotated[RequestContext, require_permission("email:move")], body: marks.Move
) -> ActionResponse:
    return carry_out(context, _NAME, "move", body)


@router.post("/spam")
async def spam(
    context: Annotated[RequestContext, require_permission("email:move")], body: marks.MarkSpam
) -> ActionResponse:
    return carry_out(context, _NAME, "mark_spam", body)


@router.post("/not-spam")
async def not_spam(
    context: Annotated[RequestContext, require_permission("email:move")], body: marks.MarkNotSpam
) -> ActionResponse:
    return carry_out(context, _NAME, "mark_not_spam", body)
