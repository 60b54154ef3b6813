"""What a stage serves that knows nothing of a test: built once."""

from functools import lru_cache

from fastapi import FastAPI
from starlette.applications import Starlette

from services.planner.bootstrap import build_planner as build_planner
from services.planner.settings import PlannerSettings
from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings


@lru_cache
def planner_app(faults: str = "") -> FastAPI:
    return build_planner(PlannerSettings(planner_faults=faults))


@lru_cache(maxsize=1)
def policy_app() -> Starlette:
    return build_application(PolicySettings().max_body_bytes)
