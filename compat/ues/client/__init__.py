"""Clients for a user environment simulator, ours or another's."""

from shared.infra.ues.connection import (
    APIError,
    ConflictError,
    NotFoundError,
    ServerError,
    UESConnectionError,
    UESError,
    UESTimeoutError,
    ValidationError,
)
from ues.client.asynchronous import AsyncUESClient
from ues.client.blocking import UESClient

UESClientError = UESError
ConnectionError = UESConnectionError
TimeoutError = UESTimeoutError

__all__ = [
    "APIError",
    "AsyncUESClient",
    "ConflictError",
    "ConnectionError",
    "NotFoundError",
    "ServerError",
    "TimeoutError",
    "UESClient",
    "UESClientError",
    "UESConnectionError",
    "UESError",
    "UESTimeoutError",
    "ValidationError",
]
