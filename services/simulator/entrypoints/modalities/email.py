"""``/email``: the user's mail."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities import email_marks as marks
from services.simulator.core.modalities.email_answers import Forward, Reply, ReplyAll
from services.simulator.core.modalities.email_compose import Receive, SaveDraft, Send, SendDraft
from services.simulator.core.modalities.email_query import EmailQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/email", tags=["email"])
_NAME = "email"


@router.get("/state")
async def state(
    place: Annotated[Place, permitted("email:state")], compact: Compact = False, summary: Compact = False
) -> Response:
    return shown(place, _NAME, compact=compact or summary)


@router.post("/query")
async def query(place: Annotated[Place, permitted("email:query")], asked: EmailQuery) -> Response:
    return answered(place, _NAME, asked)


@router.post("/receive")
async def receive(place: Annotated[Place, permitted("email:receive")], body: Receive) -> ActionResponse:
    return carried_out(place, _NAME, "receive", body)


@router.post("/send")
async def send(place: Annotated[Place, permitted("email:send")], body: Send) -> ActionResponse:
    return carried_out(place, _NAME, "send", body)


@router.post("/reply")
async def reply(place: Annotated[Place, permitted("email:send")], body: Reply) -> ActionResponse:
    return carried_out(place, _NAME, "reply", body)


@router.post("/reply-all")
async def reply_all(place: Annotated[Place, permitted("email:send")], body: ReplyAll) -> ActionResponse:
    return carried_out(place, _NAME, "reply_all", body)


@router.post("/forward")
async def forward(place: Annotated[Place, permitted("email:send")], body: Forward) -> ActionResponse:
    return carried_out(place, _NAME, "forward", body)


@router.post("/draft")
async def draft(place: Annotated[Place, permitted("email:send")], body: SaveDraft) -> ActionResponse:
    return carried_out(place, _NAME, "save_draft", body)


@router.post("/draft/send")
async def send_draft(place: Annotated[Place, permitted("email:send")], body: SendDraft) -> ActionResponse:
    return carried_out(place, _NAME, "send_draft", body)


@router.post("/read")
async def read(place: Annotated[Place, permitted("email:read")], body: marks.MarkRead) -> ActionResponse:
    return carried_out(place, _NAME, "mark_read", body)


@router.post("/unread")
async def unread(place: Annotated[Place, permitted("email:unread")], body: marks.MarkUnread) -> ActionResponse:
    return carried_out(place, _NAME, "mark_unread", body)


@router.post("/star")
async def star(place: Annotated[Place, permitted("email:star")], body: marks.Star) -> ActionResponse:
    return carried_out(place, _NAME, "star", body)


@router.post("/unstar")
async def unstar(place: Annotated[Place, permitted("email:unstar")], body: marks.Unstar) -> ActionResponse:
    return carried_out(place, _NAME, "unstar", body)


@router.post("/archive")
async def archive(place: Annotated[Place, permitted("email:archive")], body: marks.Archive) -> ActionResponse:
    return carried_out(place, _NAME, "archive", body)


@router.post("/delete")
async def delete(place: Annotated[Place, permitted("email:delete")], body: marks.Delete) -> ActionResponse:
    return carried_out(place, _NAME, "delete", body)


@router.post("/label")
async def label(place: Annotated[Place, permitted("email:label")], body: marks.AddLabel) -> ActionResponse:
    return carried_out(place, _NAME, "add_label", body)


@router.post("/unlabel")
async def unlabel(place: Annotated[Place, permitted("email:unlabel")], body: marks.RemoveLabel) -> ActionResponse:
    return carried_out(place, _NAME, "remove_label", body)


@router.post("/move")
async def move(place: Annotated[Place, permitted("email:move")], body: marks.Move) -> ActionResponse:
    return carried_out(place, _NAME, "move", body)


@router.post("/spam")
async def spam(place: Annotated[Place, permitted("email:move")], body: marks.MarkSpam) -> ActionResponse:
    return carried_out(place, _NAME, "mark_spam", body)


@router.post("/not-spam")
async def not_spam(place: Annotated[Place, permitted("email:move")], body: marks.MarkNotSpam) -> ActionResponse:
    return carried_out(place, _NAME, "mark_not_spam", body)
