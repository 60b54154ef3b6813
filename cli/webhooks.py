"""`purple webhooks`: the secret that a tenant's receivers verify with."""

import typer
from rich.text import Text

from cli.console import out, say_found
from cli.gateway.client import AsJson, Gateway, Name, ask_as_operator
from cli.gateway.messages import as_list
from shared.domain.exact_json import JsonObject

webhooks = typer.Typer(no_args_is_help=True, help="Webhooks: the secret that a tenant's receivers verify with.")


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
