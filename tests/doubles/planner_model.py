"""The planner's core behind the model port, in this process: requests and replies go through their wire bodies."""

from typing_extensions import override

from services.planner.core.request import parse_request
from services.planner.core.roles import reply
from services.planner.entrypoints import messages
from services.planner.entrypoints.checks import check_request
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.infra.anthropic_request import encode_model_request, parse_model_reply
from shared.ports.models import Model, ModelReply, ModelRequest

MODEL = "offline-planner-1"


class PlannerModel(Model):
    """Refuses what the real endpoint refuses, and caches nothing. ``bodies``: each request and what answered it."""

    def __init__(self) -> None:
        self.bodies: list[tuple[JsonObject, JsonObject]] = []

    @override
    async def complete(self, request: ModelRequest) -> ModelReply:
        body = loads_object(encode_model_request(MODEL, request))
        check_request(body, MODEL)
        message = messages.make_message(body, reply(parse_request(body)), (0, 0), truncated=False).message
        self.bodies.append((body, message))
        return parse_model_reply(MODEL, dumps(message), is_json=request.schema is not None)
