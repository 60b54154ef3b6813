"""The archive and the secrets of a stack on one machine: a folder, and files beside it that only its owner can read."""

import os
from pathlib import Path
from uuid import uuid4


def folder_url(folder: Path) -> str:
    """What ``ARCHIVE_URL`` is for a stack whose data lie in that folder."""
    return (folder.resolve() / "archive").as_uri()


def key_of(folder: Path) -> str:
    """The key of that stack's archive, made now if there is none. Two who make one at once get the same."""
    return _read_or_make_key(folder / "archive.key")


def webhook_secret_of(folder: Path) -> str:
    """What that stack signs webhooks with, made in the same way."""
    return _read_or_make_key(folder / "webhook.key")


def assessment_key_of(folder: Path) -> str:
    """What that stack keeps the keys to assessed worlds under, made in the same way."""
    return _read_or_make_key(folder / "assessment.key")


def _read_or_make_key(path: Path) -> str:
    if not path.exists():
        _make(path)
    return path.read_text().strip()


def _make(path: Path) -> None:
    """Written whole beside its place first: whoever finds the file finds the key in it."""
    from shared.infra.archive_open import new_key  # loads the cryptography, which most commands never need

    beside = path.with_name(f"{path.name}.{uuid4().hex}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as file:
        file.write(new_key())
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(beside)
    except FileExistsError:
        return
    finally:
        beside.unlink()
