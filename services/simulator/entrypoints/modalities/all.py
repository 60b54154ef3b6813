"""The routes of every modality."""

from collections.abc import Sequence

from fastapi import APIRouter

from services.simulator.entrypoints.modalities import calendar, chat, contacts, email, location, sms, weather

ROUTERS: Sequence[APIRouter] = (
    email.router,
    sms.router,
    chat.router,
    calendar.router,
    contacts.router,
    location.router,
    weather.router,
)
