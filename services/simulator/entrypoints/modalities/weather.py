"""``/weather``: the weather by place."""

from typing import Annotated

from fastapi import APIRouter, Response

from services.simulator.core.modalities.weather import Update, WeatherQuery
from services.simulator.entrypoints.actions import ActionResponse
from services.simulator.entrypoints.doorway import Place, permitted
from services.simulator.entrypoints.modalities.views import Compact, answered, carried_out, shown

router = APIRouter(prefix="/weather", tags=["weather"])


@router.get("/state")
async def state(place: Annotated[Place, permitted("weather:state")], compact: Compact = False) -> Response:
    return shown(place, "weather", compact=compact)


@router.post("/query")
async def query(place: Annotated[Place, permitted("weather:query")], asked: WeatherQuery) -> Response:
    return answered(place, "weather", asked)


@router.post("/update")
async def update(place: Annotated[Place, permitted("weather:update")], body: Update) -> ActionResponse:
    return carried_out(place, "weather", "update", body)
