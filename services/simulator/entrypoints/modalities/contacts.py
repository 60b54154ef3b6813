"""``/contacts``: who the user knows."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities import contact_actions as actions
from services.simulator.core.modalities.contacts import ContactsQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.modalities.views import Compact, answer_query, carry_out, show_state
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/contacts", tags=["contacts"])
_NAME = "contacts"


@router.get("/state")
async def state(
    context: Annotated[RequestContext, require_permission("contacts:state")], compact: Compact = False
) -> Response:
    return show_state(context, _NAME, compact=compact)


@router.post("/query")
async def query(
    context: Annotated[RequestContext, require_permission("contacts:query")], body: ContactsQuery
) -> Response:
    return answer_query(context, _NAME, body)


@router.post("/create")
async def create(
    context: Annotated[RequestContext, require_permission("contacts:create")], body: actions.CreateContact
) -> ActionResponse:
    return carry_out(context, _NAME, "create", body)


@router.post("/update")
async def update(
    context: Annotated[RequestContext, require_permission("contacts:update")], body: actions.UpdateContact
) -> ActionResponse:
    return carry_out(context, _NAME, "update", body)


@router.post("/delete")
async def delete(
    context: Annotated[RequestContext, require_permission("contacts:delete")], body: actions.DeleteContact
) -> ActionResponse:
    return carry_out(context, _NAME, "delete", body)


@router.post("/block")
async def block(
    context: Annotated[RequestContext, require_permission("contacts:block")], body: actions.BlockContact
) -> ActionResponse:
    return carry_out(context, _NAME, "block", body)


@router.post("/unblock")
async def unblock(
    context: Annotated[RequestContext, require_permission("contacts:unblock")], body: actions.UnblockContact
) -> ActionResponse:
    return carry_out(context, _NAME, "unblock", body)


@router.post("/favorite")
async def favorite(
    context: Annotated[RequestContext, require_permission("contacts:favorite")], body: actions.Favorite
) -> ActionResponse:
    return carry_out(context, _NAME, "favorite", body)


@router.post("/unfavorite")
async def unfavorite(
    context: Annotated[RequestContext, require_permission("contacts:unfavorite")], body: actions.Unfavorite
) -> ActionResponse:
    return carry_out(context, _NAME, "unfavorite", body)


@router.post("/group/add")
async def add_to_group(
    context: Annotated[RequestContext, require_permission("contacts:group:add")], body: actions.AddToGroup
) -> ActionResponse:
    return carry_out(context, _NAME, "add_to_group", body)


@router.post("/group/remove")
async def remove_from_group(
    context: Annotated[RequestContext, require_permission("contacts:group:remove")], body: actions.RemoveFromGroup
) -> ActionResponse:
    return carry_out(context, _NAME, "remove_from_group", body)


@router.post("/merge")
async def merge(
    context: Annotated[RequestContext, require_permission("contacts:merge")], body: actions.MergeContacts
) -> ActionResponse:
    return carry_out(context, _NAME, "merge", body)
