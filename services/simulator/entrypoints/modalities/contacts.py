"""``/contacts``: who the user knows."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities import contact_actions as actions
from services.simulator.core.modalities.contacts import ContactsQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/contacts", tags=["contacts"])
_NAME = "contacts"


@router.get("/state")
async def state(place: Annotated[Place, permitted("contacts:state")], compact: Compact = False) -> Response:
    return shown(place, _NAME, compact=compact)


@router.post("/query")
async def query(place: Annotated[Place, permitted("contacts:query")], asked: ContactsQuery) -> Response:
    return answered(place, _NAME, asked)


@router.post("/create")
async def create(place: Annotated[Place, permitted("contacts:create")], body: actions.Create) -> ActionResponse:
    return carried_out(place, _NAME, "create", body)


@router.post("/update")
async def update(place: Annotated[Place, permitted("contacts:update")], body: actions.Update) -> ActionResponse:
    return carried_out(place, _NAME, "update", body)


@router.post("/delete")
async def delete(place: Annotated[Place, permitted("contacts:delete")], body: actions.Delete) -> ActionResponse:
    return carried_out(place, _NAME, "delete", body)


@router.post("/block")
async def block(place: Annotated[Place, permitted("contacts:block")], body: actions.Block) -> ActionResponse:
    return carried_out(place, _NAME, "block", body)


@router.post("/unblock")
async def unblock(place: Annotated[Place, permitted("contacts:unblock")], body: actions.Unblock) -> ActionResponse:
    return carried_out(place, _NAME, "unblock", body)


@router.post("/favorite")
async def favorite(place: Annotated[Place, permitted("contacts:favorite")], body: actions.Favorite) -> ActionResponse:
    return carried_out(place, _NAME, "favorite", body)


@router.post("/unfavorite")
async def unfavorite(
    place: Annotated[Place, permitted("contacts:unfavorite")], body: actions.Unfavorite
) -> ActionResponse:
    return carried_out(place, _NAME, "unfavorite", body)


@router.post("/group/add")
async def add_to_group(
    place: Annotated[Place, permitted("contacts:group:add")], body: actions.AddToGroup
) -> ActionResponse:
    return carried_out(place, _NAME, "add_to_group", body)


@router.post("/group/remove")
async def remove_from_group(
    place: Annotated[Place, permitted("contacts:group:remove")], body: actions.RemoveFromGroup
) -> ActionResponse:
    return carried_out(place, _NAME, "remove_from_group", body)


@router.post("/merge")
async def merge(place: Annotated[Place, permitted("contacts:merge")], body: actions.Merge) -> ActionResponse:
    return carried_out(place, _NAME, "merge", body)
