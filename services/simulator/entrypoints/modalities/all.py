"""The routes of every modality."""

from collections.abc import Sequence

from fastapi import APIRouter

ROUTERS: Sequence[APIRouter] = ()
