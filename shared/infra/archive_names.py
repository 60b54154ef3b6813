"""Where an archived task lies: names that are safe in a folder and in a bucket, whatever ids clients choose."""

import hashlib
import re
from urllib.parse import quote, unquote

_LONGEST = 180  # a folder's names are limited to 255 bytes, a bucket's to 1024
_SUFFIX = ".task"
_HASHED = re.compile(r"~[0-9a-f]{64}")


def tenant_name(tenant: str) -> str:
    return f"tenant={_short(tenant)}"


def task_name(task_id: str) -> str:
    return (task_id if _HASHED.fullmatch(task_id) else _short(task_id)) + _SUFFIX


def task_id_of(name: str) -> str | None:
    """The id, or its hash where it was too long; None for a name that is none of ours."""
    stem = name.removesuffix(_SUFFIX)
    if stem == name:
        return None
    return stem if _HASHED.fullmatch(stem) else unquote(stem)


def _short(text: str) -> str:
    quoted = quote(text, safe="").replace("~", "%7E")
    return quoted if len(quoted) <= _LONGEST else f"~{hashlib.sha256(text.encode()).hexdigest()}"
