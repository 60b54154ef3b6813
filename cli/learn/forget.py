"""`purple learn forget`: what was learned of a thing, a session or a whole tenant leaves the memory."""

import asyncio
import sys
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import Complaint, err, give_up, out, say_json
from cli.gateway.asking import AsJson, Gateway, Name, speaker_claim, talk_with_gateway
from cli.gateway.client import GatewayClient, path_of
from cli.send import DEFAULT_URL
from shared.domain.exact_json import Json, JsonObject, dumps

_PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.2
_NOT_YET, _SAID_NO = 3, 1


def forget(
    entity: Annotated[str, typer.Option(help="A vendor, person, id or anything else, as people write it.")] = "",
    session: Annotated[str, typer.Option(help="A session: what its tasks taught, and what it remembers.")] = "",
    tenant: Annotated[bool, typer.Option("--tenant", help="All that was learned of the tenant.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")] = False,
    name: Name = "",
    url: Gateway = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Have something forgotten, for good: cases, facts and entities that name it leave the memory.

    It is asked first. Repeat it freely. What stays, such as the audit trail of writes, is said in the end. It takes the
    role operator.

    Example:

      purple learn forget --entity "Initech Ltd"
      purple learn forget --session s-42 --yes --json
    """
    scope, subject = _what(entity, session, tenant)
    if not yes:
        _confirm(scope, subject)
    found = talk_with_gateway(url, lambda client: _forget_and_wait(client, scope, subject, name))
    if as_json:
        say_json(dumps(found))
    else:
        _say(found)
    if found.get("state") != "done":
        err.print("It goes on; look again with the same command.", style="yellow")
        raise typer.Exit(_NOT_YET)


def _what(entity: str, session: str, tenant: bool) -> tuple[str, str]:
    named = [(scope, subject) for scope, subject in (("entity", entity), ("session", session)) if subject]
    named += [("tenant", "")] if tenant else []
    if len(named) != 1:
        give_up(Complaint("Say one of --entity, --session and --tenant: what is to be forgotten."))
    return named[0]


def _confirm(scope: str, subject: str) -> None:
    what = "all that was learned of the tenant" if scope == "tenant" else f"what was learned of {scope} {subject!r}"
    if not sys.stdin.isatty():
        give_up(Complaint(f"Nobody is here to say yes to forgetting {what}.", "Say --yes."))
    if not typer.confirm(f"Forget {what}, for good?", err=True):
        err.print("Nothing was forgotten.")
        raise typer.Exit(_SAID_NO)


async def _forget_and_wait(client: GatewayClient, scope: str, subject: str, name: str) -> JsonObject:
    """The request when it is done, or as it stands when patience ends."""
    found = await client.ask("POST", "/memory/forget", {"scope": scope, "subject": subject, **speaker_claim(name)})
    until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    with err.status("Waiting for a learner ...") as status:
        while found.get("state") != "done" and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_LOOK_SECONDS)
            asked = path_of("memory", "forget", str(found["request_id"]), "show")
            found = await client.ask("POST", asked, speaker_claim(name))
            if found.get("state") == "working":
                status.update("Removed; waiting for outcomes that were under way ...")
    return found


def _say(found: JsonObject) -> None:
    table = Table("removed", "how many")
    removed = _rows(found.get("removed"))
    for what, count in removed:
        table.add_row(what, count)
    out.print(table if removed else "Nothing of it was remembered.")
    left = _rows(found.get("left"))
    if left:
        stays = Table("stays", "why, and until when")
        for what, why in left:
            stays.add_row(what, Text(why))
        out.print(stays)


def _rows(value: Json) -> list[tuple[str, str]]:
    fields = value if isinstance(value, dict) else {}
    return [(key.replace("_", " "), str(said)) for key, said in fields.items()]
