"""The routes of every modality."""

from collections.abc import Sequence

from fastapi import APIRouter

from services.simulator.entrypoints.modalities import chat, email

ROUTERS: Sequence[APIRouter] = (email.router, chat.router)
