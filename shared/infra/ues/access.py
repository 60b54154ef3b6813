"""``/keys``, ``/access-logs`` and ``/worlds``: who may do what, who did what, and where."""

from collections.abc import Sequence
from datetime import datetime

from shared.contracts.ues.simulation import AccessLog, KeyInfo, KeyMade, World
from shared.infra.ues.errors import NotFoundError
from shared.infra.ues.line import WorldLine, given_values


class KeysEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def create(self, name: str, permissions: Sequence[str]) -> KeyMade:
        return await self._line.post(KeyMade, "/keys", given_values(name=name, permissions=permissions))

    async def get(self, key_id: str) -> KeyInfo:
        return await self._line.get(KeyInfo, f"/keys/{key_id}")

    async def revoke(self, key_id: str) -> None:
        """A key that is not there is as good as revoked."""
        try:
            await self._line.delete(f"/keys/{key_id}")
        except NotFoundError:
            return


class AccessLogsEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def show(
        self,
        *,
        key_id: str | None = None,
        since: datetime | None = None,
        errors_only: bool | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> AccessLog:
        """Newest first."""
        return await self._line.get(
            AccessLog,
            "/access-logs",
            key_id=key_id,
            since=since,
            errors_only=errors_only,
            limit=limit,
            offset=offset,
        )


class WorldsEndpoints:
    """Several worlds in one server."""

    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def open(self, world_id: str) -> World:
        return await self._line.post(World, "/worlds", given_values(world_id=world_id))

    async def close(self, world_id: str) -> None:
        try:
            await self._line.delete(f"/worlds/{world_id}")
        except NotFoundError:
            return
