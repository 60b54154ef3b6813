"""Where the archive of ended tasks is, for commands that read it."""

import os
from pathlib import Path

from cli.console import Complaint
from shared.infra.archive_key import folder_url, key_of


def archive_environ(folder: Path) -> dict[str, str]:
    """An environment with the archive that the present one names, or with the one in the folder of a local stack."""
    if os.environ.get("ARCHIVE_URL"):
        return dict(os.environ)
    if not (folder / "archive").is_dir():
        raise Complaint(f"{folder} holds no archive.", "Name the folder of the stack with --dir, or set ARCHIVE_URL.")
    return {**os.environ, "ARCHIVE_URL": folder_url(folder), "ARCHIVE_KEY": key_of(folder)}
