"""`purple replay`: run an archived task again, in memory, with today's code, without any outside call."""

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.child_json import run_module_for_json
from cli.console import CommandError, build_text_table, err, out, print_answer
from cli.stack.registry import find_data_folder
from shared.domain.exact_json import JsonObject, objects_in
from shared.infra.archive_open import build_local_archive_url, get_or_create_key_file

DEFAULT_FOLDER = Path(".purple")
Folder = Annotated[
    Path | None, typer.Option("--dir", help="The folder of a local stack; without it the one that runs, or .purple.")
]


def build_archive_environ(folder: Path | None) -> dict[str, str]:
    """The environment, with ``ARCHIVE_URL`` and ``ARCHIVE_KEY`` of a local stack unless it has an ``ARCHIVE_URL``.

    The stack's folder is ``folder``, else that of the stack that runs here, else ``.purple``. Raises ``CommandError``.
    """
    if os.environ.get("ARCHIVE_URL"):
        return dict(os.environ)
    folder = folder or find_data_folder(os.environ.get("PURPLE_URL", "")) or DEFAULT_FOLDER
    if not (folder / "archive").is_dir():
        advice = "Name the folder of the stack with --dir, or set ARCHIVE_URL."
        raise CommandError(f"{folder} holds no archive.", advice, _EXIT_FAILED)
    return {**os.environ, "ARCHIVE_URL": build_local_archive_url(folder), "ARCHIVE_KEY": get_or_create_key_file(folder)}


_TIMEOUT_SECONDS = 120.0
_EXIT_FAILED = 2


def replay(
    task: Annotated[str, typer.Argument(help="The id of an ended task.")],
    tenant: Annotated[str, typer.Option(help="Whose task it is; the embedded profile has one tenant.")] = "default",
    folder: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Run an archived task again, in memory, with today's code, prompts and templates, without any outside call.

    Every model reply, tool result and verdict comes from the archive. Shows the steps, and the first one that would
    differ today. The archive is that of the stack that runs here, of --dir, or of ARCHIVE_URL.

    Exit code 0 if the task ends the same, 1 if it differs, 2 if it cannot be replayed.

    Examples:

      purple replay TASK

      ARCHIVE_URL=s3://bucket/prefix ARCHIVE_KEY=... purple replay TASK --tenant acme --json
    """
    environ = build_archive_environ(folder)
    command = ("services.executor", "replay", task, "--tenant", tenant, "--json")
    result = run_module_for_json(
        *command, doing="Replaying", seconds=_TIMEOUT_SECONDS, environ=environ, code=_EXIT_FAILED
    )
    print_answer(result, _print_replay, as_json=as_json)
    raise typer.Exit(0 if result.get("same") else 1)


def _print_replay(result: JsonObject) -> None:
    columns = ("turn", "step", "kind", "characters")
    title = f"{result.get('task')}: its steps, taken again"
    rows = ([step.get(name, "") for name in columns] for step in objects_in(result.get("steps")))
    out.print(build_text_table(columns, rows, title))
    difference = result.get("difference")
    if isinstance(difference, dict):
        err.print(f"First difference at {difference.get('at')}: {difference.get('how')}.", style="bold red")
        for name in ("then", "now"):
            if name in difference:
                err.print(f"{name}: {difference[name] or '(nothing more)'}", soft_wrap=True)
    else:
        err.print(f"It ends the same: {result.get('state')}.", style="bold")
