"""The real world around the simulated ones."""

import secrets
from datetime import UTC, datetime
from uuid import uuid4

from typing_extensions import override

from services.simulator.ports.surroundings import Surroundings


class RealSurroundings(Surroundings):
    @override
    def now(self) -> datetime:
        return datetime.now(UTC)

    @override
    def new_id(self) -> str:
        return str(uuid4())

    @override
    def new_secret(self, length: int) -> str:
        return secrets.token_hex((length + 1) // 2)[:length]
