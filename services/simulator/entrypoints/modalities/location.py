"""``/location``: where the user is."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.location import LocationQuery, Update
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/location", tags=["location"])


@router.get("/state")
async def state(place: Annotated[Place, permitted("location:state")], compact: Compact = False) -> Response:
    return shown(place, "location", compact=compact)


@router.post("/query")
async def query(place: Annotated[Place, permitted("location:query")], asked: LocationQuery) -> Response:
    return answered(place, "location", asked)


@router.post("/update")
async def update(place: Annotated[Place, permitted("location:update")], body: Update) -> ActionResponse:
    return carried_out(place, "location", "update", body)
