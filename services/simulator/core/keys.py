"""API keys of a world: who calls, and what they may do. A key never grants more than it has itself."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from services.simulator.core.refusals import Conflict, MeaninglessRequest, Missing, SimulatorRefusal

ALL_PERMISSIONS = "*"
_MINUTE = timedelta(minutes=1)


class Forbidden(SimulatorRefusal):
    """The key does not allow it: 403."""

    status = 403


class KeyLimitReached(SimulatorRefusal):
    """The key was used more often than it may be: 429."""

    status = 429


class KeyCaller(NamedTuple):
    key_id: str
    name: str
    permissions: frozenset[str]

    def may(self, permission: str) -> bool:
        return any(permission_covers(held_permission, permission) for held_permission in self.permissions)


@dataclass(frozen=True, slots=True)
class AccessKey:
    """An API key of a world, with what it permits. Only the hash of its secret is kept."""

    key_id: str
    name: str
    permissions: tuple[str, ...]
    secret_hash: str
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    requests_per_minute: int | None = None

    @property
    def is_active(self) -> bool:
        return self.revoked_at is None

    def is_valid_at(self, wall: datetime) -> bool:
        return self.is_active and (self.expires_at is None or wall < self.expires_at)


class _UsesOfMinute(NamedTuple):
    """One that began with a key's first request, and how many there were since."""

    began: datetime
    used: int


def permission_covers(held_permission: str, wanted_permission: str) -> bool:
    """Whether one permission includes another: itself, ``*``, or a prefix such as ``email:*``."""
    return held_permission in (ALL_PERMISSIONS, wanted_permission) or (
        held_permission.endswith(":*") and wanted_permission.startswith(held_permission[:-1])
    )


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyRing:
    """The keys of one world; the admin's key is in every ring, and cannot be revoked."""

    def __init__(self, admin: AccessKey) -> None:
        self._admin = admin.key_id
        self._keys: dict[str, AccessKey] = {}
        self._by_hash: dict[str, str] = {}
        self._minutes: dict[str, _UsesOfMinute] = {}
        self._add(admin)

    def __iter__(self) -> Iterator[AccessKey]:
        return iter(self._keys.values())

    def admit_caller(self, secret: str, wall: datetime) -> KeyCaller | None:
        """The caller with that secret, whose use of the key is counted; None if no valid key has it.

        Raises ``KeyLimitReached`` for a key that was used too often.
        """
        key_id = self._by_hash.get(hash_secret(secret))
        key = self._keys[key_id] if key_id is not None else None
        if key is None or not key.is_valid_at(wall):
            return None
        self._count_use(key, wall)
        self._keys[key.key_id] = replace(key, last_used_at=wall)
        return KeyCaller(key.key_id, key.name, frozenset(key.permissions))

    def grant(self, key: AccessKey, by: KeyCaller) -> None:
        """Adds a key; raises ``Forbidden`` if it would permit anything that the caller ``by`` may not do."""
        for permission in key.permissions:
            if not by.may(permission):
                raise Forbidden(f"Permission denied. Required permission: {permission}")
        self._add(key)

    def get(self, key_id: str) -> AccessKey:
        """The key of that id. Raises ``Missing``."""
        if key_id not in self._keys:
            raise Missing(f"API key '{key_id}' not found")
        return self._keys[key_id]

    def revoke(self, key_id: str, wall: datetime) -> AccessKey:
        """Revokes a key.

        Raises ``Missing``, ``Conflict`` if it is revoked already, and ``MeaninglessRequest`` for the admin's key.
        """
        key = self.get(key_id)
        if key_id == self._admin:
            raise MeaninglessRequest("The admin key cannot be revoked")
        if not key.is_active:
            raise Conflict(f"API key '{key_id}' is already revoked")
        self._keys[key_id] = revoked = replace(key, revoked_at=wall)
        return revoked

    def replace_keys(self, keys: Iterable[AccessKey]) -> None:
        """Replaces all keys but the admin's, for a world that is restored."""
        for key in list(self._keys.values()):
            if key.key_id != self._admin:
                del self._keys[key.key_id], self._by_hash[key.secret_hash]
        for key in keys:
            if key.key_id != self._admin and key.secret_hash not in self._by_hash:
                self._add(key)

    @property
    def keys_of_world(self) -> list[AccessKey]:
        """Every key but the admin's."""
        return [key for key in self if key.key_id != self._admin]

    def _count_use(self, key: AccessKey, wall: datetime) -> None:
        if key.requests_per_minute is None:
            return
        minute = self._minutes.get(key.key_id)
        if minute is None or wall - minute.began >= _MINUTE:
            minute = _UsesOfMinute(wall, 0)
        if minute.used >= key.requests_per_minute:
            raise KeyLimitReached(f"Rate limit exceeded: {key.requests_per_minute} requests a minute")
        self._minutes[key.key_id] = _UsesOfMinute(minute.began, minute.used + 1)

    def _add(self, key: AccessKey) -> None:
        self._keys[key.key_id] = key
        self._by_hash[key.secret_hash] = key.key_id
