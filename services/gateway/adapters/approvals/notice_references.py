"""Targets' references to the gateway's own environment, within their tenant's walls."""

import os
from collections.abc import Mapping

from typing_extensions import override

from services.gateway.ports.notices import References, Unreadable
from shared.contracts.credential import beyond_walls, reference

_ENV = "env:"


class EnvironmentReferences(References):
    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ

    @override
    def read(self, text: str, tenant: str) -> str:
        if not text.startswith(_ENV):
            return text
        named = reference(text)
        if wall := beyond_walls(named, tenant):
            raise Unreadable(f"{text} may not be used: {wall}")
        found = self._environ.get(named.name, "").strip()
        if not found:
            raise Unreadable(f"{text} is not set in the gateway's environment")
        return found
