"""Methods of the protocols that are refused as not offered, each with the error that its protocol has for that."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.core.errors import PushUnsupported, Unsupported
from services.gateway.entrypoints.a2a.jsonrpc import Method
from services.gateway.entrypoints.edge.body import Call
from shared.domain.words import Dialect

NO_EXTENDED_CARD = "there is no extended card"
NO_STREAMS = "streaming is not offered; poll the task, or read GET /tasks/{id}/events"
STREAMS: Mapping[str, Dialect] = {
    "tasks/sendSubscribe": Dialect.LEGACY,
    "message/stream": Dialect.A2A_0_3,
    "tasks/resubscribe": Dialect.A2A_0_3,
    "SendStreamingMessage": Dialect.A2A_1_0,
    "SubscribeToTask": Dialect.A2A_1_0,
}
PUSH: Mapping[str, Dialect] = {
    "tasks/pushNotification/set": Dialect.LEGACY,
    "tasks/pushNotification/get": Dialect.LEGACY,
    **{f"tasks/pushNotificationConfig/{act}": Dialect.A2A_0_3 for act in ("set", "get", "list", "delete")},
    **{f"{act}TaskPushNotificationConfig": Dialect.A2A_1_0 for act in ("Create", "Get", "Delete")},
    "ListTaskPushNotificationConfigs": Dialect.A2A_1_0,
}
EXTENDED_CARD: Mapping[str, Dialect] = {
    "agent/getAuthenticatedExtendedCard": Dialect.A2A_0_3,
    "GetExtendedAgentCard": Dialect.A2A_1_0,
}


async def no_streams(_: Call, __: Request) -> Response:
    raise Unsupported(NO_STREAMS)


async def no_push(_: Call, __: Request) -> Response:
    raise PushUnsupported


async def no_extended_card(_: Call, __: Request) -> Response:
    raise Unsupported(NO_EXTENDED_CARD)


def not_offered() -> Mapping[str, Method]:
    """Every optional method, refused; what is offered takes its place."""
    return {
        **{name: Method(dialect, no_streams) for name, dialect in STREAMS.items()},
        **{name: Method(dialect, no_push) for name, dialect in PUSH.items()},
        **{name: Method(dialect, no_extended_card) for name, dialect in EXTENDED_CARD.items()},
    }
