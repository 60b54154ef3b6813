"""``/access-logs``: who called which path, and how it was answered."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel

from services.simulator.core.access_log import LoggedAccess, LoggedAccessFilter
from services.simulator.entrypoints.request_context import RequestContext, require_permission

router = APIRouter(prefix="/access-logs", tags=["access logs"])
_SHOWN_PATHS = 20


class AccessInfo(BaseModel):
    timestamp: datetime
    method: str
    path: str
    status_code: int
    duration_ms: float
    key_id: str | None
    key_name: str | None

    @classmethod
    def from_access(cls, access: LoggedAccess) -> Self:
        return cls(
            timestamp=access.timestamp,
            method=access.method,
            path=access.path,
            status_code=access.status_code,
            duration_ms=access.duration_ms,
            key_id=access.key_id,
            key_name=access.key_name,
        )


class AccessList(BaseModel):
    logs: list[AccessInfo]
    total: int
    limit: int
    offset: int


class AccessStats(BaseModel):
    total_requests: int
    total_errors: int
    by_status: dict[str, int]
    by_key: dict[str, int]
    top_paths: dict[str, int]


class ClearedLogs(BaseModel):
    cleared: int
    message: str


@router.get("")
async def show(
    context: Annotated[RequestContext, require_permission("logs:read")],
    limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
    key_id: str | None = None,
    key_name: str | None = None,
    path_prefix: str | None = None,
    method: str | None = None,
    status_code_min: int | None = None,
    status_code_max: int | None = None,
    errors_only: bool = False,
    since: AwareDatetime | None = None,
    until: AwareDatetime | None = None,
) -> AccessList:
    log_filter = LoggedAccessFilter(
        key_id, key_name, path_prefix, method, status_code_min, status_code_max, errors_only, since, until
    )
    accesses = list(context.hosted.log.find(log_filter))
    page = [AccessInfo.from_access(access) for access in accesses[offset : offset + limit]]
    return AccessList(logs=page, total=len(accesses), limit=limit, offset=offset)


@router.get("/stats")
async def stats(context: Annotated[RequestContext, require_permission("logs:read")]) -> AccessStats:
    log = context.hosted.log
    by_status = log.count_by_status()
    return AccessStats(
        total_requests=len(log),
        total_errors=sum(count for status, count in by_status.items() if status >= 400),
        by_status={str(status): count for status, count in sorted(by_status.items())},
        by_key=log.count_by_key(),
        top_paths=dict(log.count_by_path().most_common(_SHOWN_PATHS)),
    )


@router.post("/clear")
async def clear(context: Annotated[RequestContext, require_permission("logs:clear")]) -> ClearedLogs:
    count = context.hosted.log.clear()
    return ClearedLogs(cleared=count, message=f"{count} entries cleared")
