"""``/keys``: making, listing and revoking API keys. A secret is shown once, when its key is made."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, status
from pydantic import AwareDatetime, BaseModel, Field

from services.simulator.core.keys import AccessKey, hash_secret
from services.simulator.entrypoints.request_context import RequestContext, require_permission
from shared.contracts.base import NullableModel

router = APIRouter(prefix="/keys", tags=["keys"])
Permission = Annotated[str, Field(min_length=1, max_length=100)]


class NewKey(NullableModel):
    name: str = Field(min_length=1, max_length=100)
    permissions: list[Permission] = Field(min_length=1, max_length=500)
    expires_at: AwareDatetime | None = None
    requests_per_minute: int | None = Field(default=None, ge=1, le=1_000_000)


class KeyCreated(BaseModel):
    key_id: str
    secret: str
    name: str
    permissions: list[str]
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    requests_per_minute: int | None


class KeyInfoResponse(BaseModel):
    key_id: str
    name: str
    permissions: list[str]
    created_at: datetime
    created_by: str | None
    last_used_at: datetime | None
    is_active: bool
    revoked_at: datetime | None
    expires_at: datetime | None
    requests_per_minute: int | None

    @classmethod
    def from_key(cls, key: AccessKey) -> Self:
        return cls(
            key_id=key.key_id,
            name=key.name,
            permissions=list(key.permissions),
            created_at=key.created_at,
            created_by=key.created_by,
            last_used_at=key.last_used_at,
            is_active=key.is_active,
            revoked_at=key.revoked_at,
            expires_at=key.expires_at,
            requests_per_minute=key.requests_per_minute,
        )


class KeyList(BaseModel):
    keys: list[KeyInfoResponse]
    total: int
    active: int
    revoked: int


class KeyRevoked(BaseModel):
    key_id: str
    name: str
    revoked_at: datetime | None
    message: str


@router.post("", status_code=status.HTTP_201_CREATED)
async def make(body: NewKey, context: Annotated[RequestContext, require_permission("keys:create")]) -> KeyCreated:
    surroundings = context.world.surroundings
    secret = surroundings.new_secret(64)
    key = AccessKey(
        key_id=f"ues_{surroundings.new_secret(16)}",
        name=body.name,
        permissions=tuple(body.permissions),
        secret_hash=hash_secret(secret),
        created_at=surroundings.now(),
        created_by=context.caller.key_id,
        expires_at=body.expires_at,
        requests_per_minute=body.requests_per_minute,
    )
    context.hosted.keys.grant(key, context.caller)
    return KeyCreated(
        key_id=key.key_id,
        secret=secret,
        name=key.name,
        permissions=body.permissions,
        created_at=key.created_at,
        created_by=key.created_by,
        expires_at=key.expires_at,
        requests_per_minute=key.requests_per_minute,
    )


@router.get("")
async def show_all(
    context: Annotated[RequestContext, require_permission("keys:list")], include_revoked: bool = True
) -> KeyList:
    keys = list(context.hosted.keys)
    active = sum(key.is_active for key in keys)
    page = [KeyInfoResponse.from_key(key) for key in keys if include_revoked or key.is_active]
    return KeyList(keys=page, total=len(page), active=active, revoked=len(keys) - active)


@router.get("/{key_id}")
async def show(key_id: str, context: Annotated[RequestContext, require_permission("keys:read")]) -> KeyInfoResponse:
    return KeyInfoResponse.from_key(context.hosted.keys.get(key_id))


@router.delete("/{key_id}")
async def revoke(key_id: str, context: Annotated[RequestContext, require_permission("keys:revoke")]) -> KeyRevoked:
    key = context.hosted.keys.revoke(key_id, context.world.surroundings.now())
    message = f"API key '{key.name}' has been revoked"
    return KeyRevoked(key_id=key.key_id, name=key.name, revoked_at=key.revoked_at, message=message)
