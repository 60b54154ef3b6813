"""What an operator says of the installation: the optional parts of the protocols, and what its card tells."""

from typing import NamedTuple


class Abilities(NamedTuple):
    """What the card names and the methods heed. ``ways``: how callers may show who they are (keys, jwt).

    ``discovery``: where the issuer of tokens says how one is had, if it does.
    """

    streaming: bool = True
    push: bool = True
    extended_card: bool = True
    ways: tuple[str, ...] = ()
    discovery: str = ""

    @property
    def shows_extended_card(self) -> bool:
        """It is for callers who are known, so there is none where nobody is asked who they are."""
        return self.extended_card and bool(self.ways)


class CardFacts(NamedTuple):
    """What the card says of this installation. ``usual``: which card a client gets that names no version (``merged``,
    ``1.0``, ``0.3``); ``processes``: those that it offers as skills, all if there are none.
    """

    usual: str = "merged"
    processes: tuple[str, ...] = ()
    provider: str = ""
    provider_url: str = ""
    documentation_url: str = ""
