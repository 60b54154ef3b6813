"""The optional parts of the protocols, which an operator may switch off."""

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
