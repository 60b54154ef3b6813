"""What the routes of every modality do alike: show its state, answer its queries, carry out an action."""

from typing import Annotated, TypeAlias

from fastapi import Query, Response
from pydantic import BaseModel
from pydantic_core import to_json

from services.simulator.core.modalities.actions import stated_fields
from services.simulator.core.modalities.pages import PageQuery
from services.simulator.entrypoints.actions import ActionResponse, act
from services.simulator.entrypoints.request_context import RequestContext

Compact: TypeAlias = Annotated[bool, Query(description="Counts and short forms instead of everything.")]
_JSON = "application/json"


def show_state(place: RequestContext, modality: str, *, compact: bool) -> Response:
    """The state, as it is kept ready."""
    found, now = place.world.modality(modality), place.world.now
    return Response(to_json(found.compact(now)) if compact else found.state_json(now), media_type=_JSON)


def answer_query(place: RequestContext, modality: str, asked: PageQuery) -> Response:
    found = place.world.modality(modality).query(asked.as_json(), place.world.now)
    return Response(to_json(found), media_type=_JSON)


def carry_out(place: RequestContext, modality: str, operation: str, body: BaseModel) -> ActionResponse:
    return act(place, modality, {"operation": operation, **stated_fields(body)})
