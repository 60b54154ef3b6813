"""`purple webhooks`: how a task's webhooks fare, which of a tenant's fail, and the secret."""

from functools import partial
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from cli.console import out, say_found, text_table
from cli.gateway.client import AsJson, Gateway, Name, ask_as_operator, ask_gateway, path_of, say_rows
from cli.gateway.messages import as_list
from shared.domain.exact_json import JsonObject

_OF_TASK = ("id", "url", "state", "delivered", "tries", "error", "last_try")
_FAILING = ("subject", "config_id", "host", "disabled", "tries", "error", "at")
TaskId = Annotated[str, typer.Argument(help="The task.")]

webhooks = typer.Typer(no_args_is_help=True, help="Webhooks: how a task's fare, which of a tenant's fail, the secret.")


@webhooks.command("list")
def list_webhooks(task: TaskId, url: Gateway = "", as_json: AsJson = False) -> None:
    """List a task's webhooks: active, failing or disabled, what was delivered, and the last error.

    Example:

      purple webhooks list T1
    """
    found = ask_gateway(url, "GET", path_of("tasks", task, "webhooks"))
    say_rows(found, "webhooks", partial(_build_table, _OF_TASK), "The task has no webhooks.", as_json=as_json)


@webhooks.command()
def failing(url: Gateway = "", as_json: AsJson = False) -> None:
    """List what fails of the tenant's webhooks and notices, or was given up, the newest first.

    Example:

      purple webhooks failing
    """
    found = ask_gateway(url, "GET", "/webhooks")
    say_rows(found, "failing", partial(_build_table, _FAILING), "Nothing fails.", as_json=as_json)


@webhooks.command()
def secret(name: Name = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Show what the tenant's receivers verify signatures with (Standard Webhooks). It takes the role operator.

    Example:

      purple webhooks secret
    """
    found = ask_as_operator(url, name, "webhooks", "secret")
    say_found(found, _show_secrets, as_json=as_json)


def _show_secrets(found: JsonObject) -> None:
    for one in as_list(found.get("secrets")):
        out.print(Text(str(one)))


def _build_table(shown: tuple[str, ...], rows: list[JsonObject]) -> Table:
    return text_table(shown, ([row.get(name) for name in shown] for row in rows))
