"""How the gateway presents itself to clients."""

from typing import NamedTuple

from services.gateway.core.abilities import Abilities


class Face(NamedTuple):
    """The public URL, what kind of model serves, the largest body it reads, and what it offers."""

    url: str
    notice: str = ""
    max_body: int = 1024 * 1024
    abilities: Abilities = Abilities()
