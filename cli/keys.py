"""`purple keys`: create, list and revoke API keys; your own goes into PURPLE_API_KEY."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.child_json import run_module_for_json
from cli.console import build_text_table, err, format_local_time, join_values, out, print_answer
from cli.gateway.client import AsJson, Gateway, SpeakerName, ask_as_operator, print_rows
from cli.send import parse_escalation_levels
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import Role

_TIMEOUT_SECONDS = 30.0
_SHOWN_FIELDS = (
    "key_id", "principal_id", "roles", "levels", "label", "created_at", "created_by", "last_used_at", "expires_at",
)  # fmt: skip
_LIMIT_UNITS = (
    ("requests_a_minute", "requests/min"),
    ("messages_a_minute", "messages/min"),
    ("messages_a_day", "messages/day"),
)
Principal = Annotated[str, typer.Argument(help="Whose key it is: the name that tasks, approvals and audits show.")]

keys = typer.Typer(no_args_is_help=True, help="API keys: make one, list them, revoke one. PURPLE_API_KEY is yours.")


@keys.command("first")
def create_first_key(
    principal: Principal,
    tenant: Annotated[str, typer.Option(help="The tenant it operates.")] = "default",
    again: Annotated[bool, typer.Option("--again", help="Also where an operator has a key already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create a tenant's first key, an operator's, directly in Redis (REDIS_URL), since no key can call the gateway yet.

    Example:

      REDIS_URL=redis://localhost purple keys first olga
    """
    arguments = ("first-key", "--tenant", tenant, "--principal", principal, *(("--again",) if again else ()))
    key = run_module_for_json("services.gateway", *arguments, doing="Making the key", seconds=_TIMEOUT_SECONDS)
    print_answer(key, _print_new_key, as_json=as_json)


@keys.command("create")
def create_key(
    principal: Principal,
    role: Annotated[list[Role] | None, typer.Option(help="What it may do; a client, if nothing is said.")] = None,
    level: Annotated[list[str] | None, typer.Option(help="Levels an approver may decide, such as manager.")] = None,
    days: Annotated[int | None, typer.Option(help="How long it is good; without, until it is revoked.", min=1)] = None,
    label: Annotated[str, typer.Option(help="What it is for, for whoever reads the list.")] = "",
    rate: Annotated[int | None, typer.Option(help="Requests a minute; as usual if nothing is said.", min=0)] = None,
    messages: Annotated[int | None, typer.Option(help="Messages a minute; 0 is without limit.", min=0)] = None,
    daily: Annotated[int | None, typer.Option(help="Messages a day (UTC).", min=0)] = None,
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Create a key for a principal of your own tenant. This, `list` and `revoke` require the role operator.

    Example:

      purple keys create dana --role approver --level manager --days 90
      purple keys create robot --messages 30 --daily 1000
    """
    key: JsonObject = {"principal": principal, "label": label, "levels": [*parse_escalation_levels(level)]}
    key |= {"roles": [word.value for word in role or [Role.CLIENT]]}
    numbers = {"days": days, "requests_a_minute": rate, "messages_a_minute": messages, "messages_a_day": daily}
    key |= {name: number for name, number in numbers.items() if number is not None}
    print_answer(ask_as_operator(url, speaker, "keys", "create", body={"key": key}), _print_new_key, as_json=as_json)


@keys.command("list")
def list_keys(speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """List the tenant's keys, the newest first, without their secrets.

    Example:

      purple keys list
    """
    print_rows(ask_as_operator(url, speaker, "keys", "list"), "keys", _build_key_table, "No keys.", as_json=as_json)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(help="The key's id: `purple keys list` shows them.")],
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Revoke a key: from now on every replica refuses it.

    Example:

      purple keys revoke 1f0c9a7b3d2e
    """
    revoked = ask_as_operator(url, speaker, "keys", key_id, "revoke")
    sentence = f"Key {revoked.get('key_id')} lets nobody in any more."
    print_answer(revoked, lambda _: out.print(sentence), as_json=as_json)


def _print_new_key(key: JsonObject) -> None:
    err.print(f"A key for {key.get('principal_id')}. It is shown this once:", style="dim")
    out.print(str(key.get("token")), soft_wrap=True)


def _build_key_table(rows: list[JsonObject]) -> Table:
    columns = (name.removesuffix("_id").removesuffix("_at").replace("_", " ") for name in _SHOWN_FIELDS)
    cells = (
        [
            *(_format_cell(name, row.get(name)) for name in _SHOWN_FIELDS),
            _describe_limits(row),
            _format_validity_cell(row),
        ]
        for row in rows
    )
    table = build_text_table([*columns, "limits", "good"], cells)
    table.columns[0].no_wrap = True  # whole: `revoke` takes it
    return table


def _describe_limits(row: JsonObject) -> str:
    limits = ((row.get(name), unit) for name, unit in _LIMIT_UNITS)
    return ", ".join(f"{number or 'any'} {unit}" for number, unit in limits if number is not None) or "as usual"


def _format_validity_cell(row: JsonObject) -> Text:
    if not row.get("good"):
        return Text("no", "red")
    return Text(str(row["warning"]), "yellow") if row.get("warning") else Text("yes")


def _format_cell(name: str, value: Json) -> str:
    return format_local_time(value) if name.endswith("_at") else join_values(value)
