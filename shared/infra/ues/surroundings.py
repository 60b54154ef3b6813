"""``/environment``, ``/location``, ``/weather`` and ``/contacts``."""

from collections.abc import Mapping

from pydantic import JsonValue

from shared.contracts.ues.actions import ActionDone
from shared.infra.ues.line import WorldLine, given_values


class EnvironmentEndpoints:
    def __init__(self, line: WorldLine) -> None:
        self._line = line

    async def get_state(self) -> JsonValue:
        return await self._line.raw("/environment/state")

    async def get_compact_state(self) -> JsonValue:
        return await self._line.raw("/environment/state", compact=True)

    async def validate(self) -> JsonValue:
        return await self._line.tell("/environment/validate")


class PlainEndpoints:
    """A modality whose answers are taken as they are."""

    def __init__(self, line: WorldLine, name: str) -> None:
        self._line = line
        self._name = name

    async def get_state(self) -> JsonValue:
        return await self._line.raw(f"/{self._name}/state")

    async def query(self, **asked: JsonValue) -> JsonValue:
        return await self._line.tell(f"/{self._name}/query", given_values(**asked))

    async def act(self, action: str, body: Mapping[str, JsonValue]) -> ActionDone:
        """``action`` names the route: update (location, weather), create, block, group/add ... (contacts)."""
        return await self._line.post(ActionDone, f"/{self._name}/{action}", body)
