"""`purple webhooks`: show the secrets with which a tenant's receivers verify webhooks."""

import typer

from cli.console import out, print_answer
from cli.gateway.client import AsJson, Gateway, SpeakerName, ask_as_operator
from cli.gateway.messages import get_list_or_empty
from shared.domain.exact_json import JsonObject

webhooks = typer.Typer(no_args_is_help=True, help="Webhooks: the secret that a tenant's receivers verify with.")


@webhooks.command("secret")
def show_secrets(speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Show the secrets with which the tenant's receivers verify signatures (Standard Webhooks). Requires an operator.

    Example:

      purple webhooks secret
    """
    answer = ask_as_operator(url, speaker, "webhooks", "secret")
    print_answer(answer, _print_secrets, as_json=as_json)


def _print_secrets(answer: JsonObject) -> None:
    for secret in get_list_or_empty(answer.get("secrets")):
        out.print(str(secret))
