"""Joins the service's parts."""

from fastapi import FastAPI

from services.planner.core.faults import parse_faults
from services.planner.core.roles import reply
from services.planner.entrypoints.http import PlannerServer, build_application
from services.planner.settings import PlannerSettings


def build_planner(settings: PlannerSettings) -> FastAPI:
    """The planner's HTTP application with the server that the settings describe."""
    served = PlannerServer(
        reply=reply,
        model=settings.model,
        latency_ms=settings.planner_latency_ms,
        faults=parse_faults(settings.planner_faults),
        allow_faults=settings.planner_allow_faults,
        max_body=settings.max_body_bytes,
    )
    return build_application(served)
