"""Health and version of the service, which anybody may read without a key."""

from fastapi import APIRouter
from pydantic import BaseModel

from services.simulator.entrypoints.version import UES_VERSION

router = APIRouter(tags=["health"])


class HealthResponse(BaseModel):
    status: str = "healthy"
    version: str = UES_VERSION


class SimulatorInfo(BaseModel):
    name: str = "User Environment Simulator"
    version: str = UES_VERSION
    docs: str = "/docs"
    health: str = "/health"


@router.get("/health")
async def health() -> HealthResponse:
    return HealthResponse()


@router.get("/ready")
async def ready() -> HealthResponse:
    """Ready as soon as it runs: a simulator needs no other service."""
    return HealthResponse()


@router.get("/")
async def describe_simulator() -> SimulatorInfo:
    return SimulatorInfo()
