"""How the gateway presents itself to clients."""

from typing import NamedTuple

from services.gateway.core.abilities import Abilities, CardFacts


class Face(NamedTuple):
    """The public URL, what kind of model serves, the largest body it reads, what it offers, and what its card says."""

    url: str
    notice: str = ""
    max_body: int = 1024 * 1024
    abilities: Abilities = Abilities()
    card: CardFacts = CardFacts()
