"""Reads the admin's key from the settings or makes one, and writes it where the operator finds it."""

import json
import os
import sys
from pathlib import Path

from services.simulator.core.keys import ALL_PERMISSIONS, AccessKey, hash_secret
from services.simulator.ports.surroundings import Surroundings


def load_or_make_admin_key(secret: str | None, file: Path | None, surroundings: Surroundings) -> AccessKey:
    """The key of that secret, used as it is; else a new one, written to the file, or shown on standard output."""
    key_id = f"ues_{surroundings.new_secret(16)}"
    if secret is None:
        secret = surroundings.new_secret(64)
        _write_or_print_secret(secret, key_id, file)
    hashed, now = hash_secret(secret), surroundings.now()
    return AccessKey(key_id, "admin", (ALL_PERMISSIONS,), hashed, created_at=now, created_by=None)


def _write_or_print_secret(secret: str, key_id: str, file: Path | None) -> None:
    if file is None:
        sys.stdout.write(f"Admin API key: {secret}\n")
        sys.stdout.flush()
        return
    file.unlink(missing_ok=True)  # one that others could read would stay readable
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        json.dump({"secret": secret, "key_id": key_id}, opened)
