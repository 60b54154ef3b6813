"""Where the archive of ended tasks is, for commands that read it."""

import os
from pathlib import Path
from typing import Annotated

import typer

from cli.console import Complaint
from cli.stack.registry import data_folder
from shared.infra.archive_key import folder_url, key_of

USUAL_FOLDER = Path(".purple")
Folder = Annotated[
    Path | None, typer.Option("--dir", help="The folder of a local stack; without it the one that runs, or .purple.")
]


def archive_environ(folder: Path | None) -> dict[str, str]:
    """An environment with the archive that the present one names, or with that of a local stack. Raises ``Complaint``.

    The folder that was named, else that of the stack that runs, else the usual one here.
    """
    if os.environ.get("ARCHIVE_URL"):
        return dict(os.environ)
    folder = folder or data_folder(os.environ.get("PURPLE_URL", "")) or USUAL_FOLDER
    if not (folder / "archive").is_dir():
        raise Complaint(f"{folder} holds no archive.", "Name the folder of the stack with --dir, or set ARCHIVE_URL.")
    return {**os.environ, "ARCHIVE_URL": folder_url(folder), "ARCHIVE_KEY": key_of(folder)}
