"""What is learned of a tenant, over HTTP."""

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.features.identity.own_paths import OwnCall, OwnPath, OwnPaths
from services.gateway.features.learning import service as learning


class LearningEndpoints:
    def __init__(self, service: learning.LearningFileService, statistics: learning.LearningStatistics) -> None:
        self._service, self._statistics = service, statistics

    def routes(self, own: OwnPaths) -> APIRouter:
        return own.router(
            OwnPath("POST", "/learn/export", self.export),
            OwnPath("POST", "/learn/import", self.import_file),
            OwnPath("GET", "/rl/status", self.rl_status),
            OwnPath("GET", "/rl/history", self.rl_history),
            may_be_empty=True,
        )

    async def export(self, call: OwnCall) -> JsonValue:
        """Export what was learned of the caller's tenant, as ``{"files": {name: content}}``."""
        return {"files": {file.value: content for file, content in (await self._service.export(call.caller)).items()}}

    async def import_file(self, call: OwnCall) -> JsonValue:
        """Import one file of learned data: ``{"file", "content", "dry_run"}``.

        With ``problems`` in the answer nothing of the file was taken.
        """
        return (await self._service.bring(call.caller, call.body)).model_dump(mode="json", exclude={"v"})

    async def rl_status(self, call: OwnCall) -> JsonValue:
        """Show how strategies fare now: uses, mean quality and the next choice, by process type."""
        return learning.learning_view(await self._statistics.learning(call.caller.tenant))

    async def rl_history(self, call: OwnCall) -> JsonValue:
        """Show how the quality of tasks went over time."""
        return learning.history_view(await self._statistics.history(call.caller.tenant))
