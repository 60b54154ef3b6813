"""A client of one simulated world, its URL, and the base classes of the operations that become its tools."""

from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import ClassVar, TypeVar, cast
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, JsonValue, create_model

from services.gateway.features.identity.middleware import WORLDS_PATH
from shared.contracts.ues.modalities import ActionResult, SimulatorAnswer
from shared.domain.exact_json import Json, JsonObject, to_exact
from shared.infra.ues.client import AsyncUESClient
from shared.infra.ues.connection import FieldValue

ASSESSED_WORLD_PATH = WORLDS_PATH + "{tenant}/{session}/{assessment}/mcp"
_quote = partial(quote, safe="")


def build_world_url(base: str, tenant: str, session_id: str, assessment: str) -> str:
    """The URL of an assessment's world as an MCP server. ``base``: the gateway's URL."""
    path = ASSESSED_WORLD_PATH.format(tenant=_quote(tenant), session=_quote(session_id), assessment=_quote(assessment))
    return base.rstrip("/") + path


T = TypeVar("T")

_FIELDS_ALWAYS_SHOWN = frozenset({"is_read", "folder", "response"})  # of each record, whatever is usual
USERS_CHAT = "user-assistant"  # the conversation in which the user speaks with the assistant


class WorldRefused(Exception):
    """The world refused an action, and was not changed."""


class ConnectedWorld:
    """A client of one world. ``has_acted``: whether a request was sent that may have changed the world."""

    def __init__(self, client: AsyncUESClient) -> None:
        self.ues = client
        self.has_acted = False

    async def carry_out_change(self, action: Awaitable[ActionResult]) -> ActionResult:
        """Await the request that makes an operation's change; raises ``WorldRefused`` if it failed."""
        self.has_acted = True
        response = await action
        if response.status == "failed":
            raise WorldRefused(response.message or "the world says that the action failed")
        return response

    async def user_address(self) -> str:
        """The user's own mail address; raises ``WorldRefused`` if the world names none."""
        address = (await self.ues.email.get_state()).user_email_address
        if not address:
            raise WorldRefused("the world names no mail address of the user")
        return address

    async def user_number(self) -> str:
        """The user's own telephone number; raises ``WorldRefused`` if the world names none."""
        number = (await self.ues.sms.get_state()).user_phone_number
        if not number:
            raise WorldRefused("the world names no telephone number of the user")
        return number


class Operation(BaseModel):
    """An operation on a world, offered as a tool: its fields are the arguments, its docstring the description."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: ClassVar[str]
    permission: ClassVar[str]  # of the user's key; the others that it needs only read
    read_back: ClassVar[str | None] = None  # the operation that proves a change; None for one that only reads
    expect: ClassVar[dict[str, JsonValue]] = {}

    @abstractmethod
    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        """Carry out the operation; raises ``UESError`` or ``WorldRefused``."""


class MessageChange(Operation):
    """A change of one mail or text message. ``permission``: the name of the simulator's action; ``expect``: the fields
    that a read shows after the change.
    """

    message_id: str

    async def carry_out(self, world: ConnectedWorld) -> JsonObject:
        modality, action = self.permission.split(":")
        endpoints = {"email": world.ues.email, "sms": world.ues.sms}[modality]
        await world.carry_out_change(
            endpoints.post_action(action, message_ids=[self.message_id], **self.list_further_fields())
        )
        return {"message_id": self.message_id, **_replace_floats_by_decimals(self.expect)}

    def list_further_fields(self) -> dict[str, FieldValue]:
        """The action's further fields as the server names them: by default the further arguments."""
        return self.model_dump(exclude={"message_id"})


def make_message_change(
    tool: str, permission: str, description: str, read_back: str, expect: Mapping[str, JsonValue]
) -> type[MessageChange]:
    """An operation for a change that needs only the message's id."""
    operation = create_model(tool, __base__=MessageChange, __doc__=description)
    operation.tool, operation.permission = tool, permission
    operation.read_back, operation.expect = read_back, {**expect}
    return operation


def select_record_fields(answer: SimulatorAnswer, *left_out: str) -> JsonObject:
    """The answer's fields as JSON, without empty ones and those named in ``left_out``."""
    fields = answer.model_dump(mode="json", exclude_none=True, exclude=set(left_out))
    return {name: value for name, value in _replace_floats_by_decimals(fields).items() if value not in ([], {}, "")}


def select_row_fields(answer: SimulatorAnswer, *left_out: str) -> JsonObject:
    """The answer's fields for a row of a list: without empty ones, those at their defaults and ``left_out``."""
    fields = type(answer).model_fields.items()
    usual = (
        name for name, field in fields if name not in _FIELDS_ALWAYS_SHOWN and getattr(answer, name) == field.default
    )
    return select_record_fields(answer, *left_out, *usual)


def build_list_page(name: str, rows: list[JsonObject], total: int) -> JsonObject:
    """A page of a list under ``name``, with the total and returned counts that the worker's paging expects."""
    return {name: cast(Json, rows), "total_count": total, "returned_count": len(rows)}


def _replace_floats_by_decimals(fields: dict[str, JsonValue]) -> JsonObject:
    return cast(JsonObject, to_exact(fields))


def build_created_ids(response: ActionResult, name: str) -> JsonObject:
    """The id of what an action created, as ``id`` and under ``name``; ``accepted`` if the server returns no id."""
    return {"id": response.entity_id, name: response.entity_id} if response.entity_id else {"accepted": True}
