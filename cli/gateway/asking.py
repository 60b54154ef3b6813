"""What the commands that speak with a gateway have in common: their options, who asks, and the asking itself."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from cli.console import Complaint, give_up
from cli.gateway.client import GATEWAY_HELP, GatewayClient, connect_gateway, path_of
from cli.gateway.messages import Speaker
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role

T = TypeVar("T")
Name = Annotated[str, typer.Option("--as", help="Who speaks (believed in the embedded profile only).")]
Gateway = Annotated[str, typer.Option("--url", help=GATEWAY_HELP, envvar="PURPLE_URL")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")]


def ask_gateway(url: str, verb: str, path: str, body: JsonObject | None = None) -> JsonObject:
    """What the gateway answers at one of its own paths; ``path_of`` puts ids into it."""
    return talk_with_gateway(url, lambda client: client.ask(verb, path, body))


def ask_as_operator(url: str, name: str, *words: str, body: JsonObject | None = None) -> JsonObject:
    """What the gateway answers an operator of that name who POSTs to the path of these words."""
    return ask_gateway(url, "POST", path_of(*words), {**(body or {}), **speaker_claim(name)})


def talk_with_gateway(url: str, talk: Callable[[GatewayClient], Awaitable[T]]) -> T:
    """What comes of several questions; what is to be complained about ends the command with one sentence."""

    async def answer() -> T:
        async with connect_gateway(url) as client:
            return await talk(client)

    try:
        return asyncio.run(answer())
    except Complaint as complaint:
        give_up(complaint)


def speaker_claim(name: str, role: Role = Role.OPERATOR, levels: tuple[str, ...] = ()) -> JsonObject:
    """The claim of who speaks, as it stands in a request's body; whoever runs the command, if no name is given."""
    speaker = Speaker(name or os.environ.get("USER", "cli"), (role.value,), levels)
    return {"metadata": {"principal": speaker.as_json()}}


def objects_in(value: Json) -> list[JsonObject]:
    """The objects of a list; none of anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
