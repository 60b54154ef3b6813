"""``POST /tasks/{id}/resolve``: an operator resolves a write in doubt."""

from starlette.responses import JSONResponse, Response

from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.tasks.signals import TaskSignals, parse_resolution
from services.gateway.features.tasks.views import build_public_view


class ResolutionEndpoints(ApiEndpoints[TaskSignals]):
    def __init__(self, signals: TaskSignals, model_notice: str) -> None:
        super().__init__(signals)
        self._model_notice = model_notice

    @api_path("POST", "/tasks/{task_id}/resolve")
    async def resolve_write(self, call: ApiCall) -> Response:
        """Resolve a write in doubt: ``{"call", "resolution", "comment"}``; 202 if it takes effect later."""
        resolution = parse_resolution(call.body)
        record, has_effect = await self._service.resolve(call.path_value("task_id"), resolution, call.caller)
        return JSONResponse(build_public_view(record, self._model_notice), status_code=200 if has_effect else 202)
