"""What the routes of every modality do alike: show its state, answer its queries, carry out an action."""

from typing import Annotated, TypeAlias

from fastapi import Query, Response
from pydantic import BaseModel
from pydantic_core import to_json

from services.simulator.core.modalities.actions import fields_without_nulls
from services.simulator.core.modalities.pages import PageQuery
from services.simulator.entrypoints.actions import ActionResponse, act
from services.simulator.entrypoints.request_context import RequestContext

Compact: TypeAlias = Annotated[bool, Query(description="Counts and short forms instead of everything.")]
_JSON = "application/json"


def show_state(context: RequestContext, modality: str, *, compact: bool) -> Response:
    """Answers with the modality's state, from its cache where it has one."""
    state, now = context.world.modality(modality), context.world.now
    return Response(to_json(state.compact(now)) if compact else state.state_json(now), media_type=_JSON)


def answer_query(context: RequestContext, modality: str, query: PageQuery) -> Response:
    results = context.world.modality(modality).query(query.as_json(), context.world.now)
    return Response(to_json(results), media_type=_JSON)


def carry_out(context: RequestContext, modality: str, operation: str, body: BaseModel) -> ActionResponse:
    return act(context, modality, {"operation": operation, **fields_without_nulls(body)})
