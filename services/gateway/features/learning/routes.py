"""``/learn`` and ``/rl``: exports and imports what was learned for a tenant, and shows its strategies."""

from fastapi import APIRouter
from pydantic import JsonValue

from services.gateway.edge.errors import Unavailable
from services.gateway.features.identity.api_paths import ApiCall, ApiPath, ApiRouterFactory, PathRules
from services.gateway.features.learning import service as learning
from services.gateway.features.learning.store import LearningFiles


class LearningEndpoints:
    def __init__(self, files: LearningFiles, statistics: learning.LearningStatistics) -> None:
        self._files, self._statistics = files, statistics

    def routes(self, own: ApiRouterFactory) -> APIRouter:
        files = own.router(
            ApiPath("POST", "/learn/export", self.export),
            ApiPath("POST", "/learn/import", self.import_file),
            rules=PathRules(may_be_empty=True, operators=True),
        )
        files.routes.extend(own.router(ApiPath("GET", "/rl/status", self.rl_status)).routes)
        return files

    async def export(self, call: ApiCall) -> JsonValue:
        """Export what was learned for the caller's tenant, as ``{"files": {name: content}}``."""
        return {
            "files": {file.value: content for file, content in (await self._files.export(call.caller.tenant)).items()}
        }

    async def import_file(self, call: ApiCall) -> JsonValue:
        """Import one file of learned data: ``{"file", "content", "dry_run"}``.

        If the answer has ``problems``, nothing of the file was imported.
        """
        file, content, dry_run = learning.parse_import(call.body)
        report = await self._files.import_file(call.caller.tenant, file, content, dry_run=dry_run)
        if report is None:
            said = f"nobody has answered for {file.value} in time: whether it was imported is not known; repeat it"
            raise Unavailable(said)
        return report.model_dump(mode="json", exclude={"v"})

    async def rl_status(self, call: ApiCall) -> JsonValue:
        """Show the strategies of each process type: uses, mean reward and UCB1 score; and counts of all tasks."""
        return learning.learning_view(await self._statistics.totals(call.caller.tenant))
