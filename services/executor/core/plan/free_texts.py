"""Whether the user says to take something from a text that somebody wrote: a note, a mail's body, a comment."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from services.executor.core.figures.facts import FactOrigin
from services.executor.core.records.called_records import noun_of_tool, words
from services.executor.core.session.files import FILE

_SAME = tuple(
    frozenset(group.split())
    for group in (
        "note remark comment memo annotation notiz bemerkung anmerkung kommentar commentaire remarque",
        "mail email message letter nachricht schreiben courriel lettre",
        "description desc beschreibung details detail",
        "instruction instructions anweisung consigne",
    )
)
_BODIES = frozenset("body text content html markdown message mail email subject title".split())  # of a whole message
_TAKES = "from in per within using following see read follow what whatever aus im laut gemäß von vom dans selon suivant"
_SAYS = (
    "say says said ask asks asked state states tell tells name names give gives mention mentions want wants contain"
    " contains list lists demand demands sagt nennt steht enthält verlangt dit indique demande contient"
)
_FILES = frozenset(
    "attached attachment attaching enclosed file document pdf spreadsheet sheet scan image photo picture screenshot"
    " angehängt anhang anlage datei dokument tabelle joint jointe pièce fichier tableau".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_NEAR = 4  # words between what takes and what is taken from
_TAKING, _SAYING = frozenset(_TAKES.split()), frozenset(_SAYS.split())


def is_told_to_take(said: Iterable[str], origin: FactOrigin, tool: str) -> bool:
    """Whether the user's words send the reader to that text: "what its note says", "the amount from the mail".

    ``tool``: the read that showed it, whose name says of what kind a whole message is. To a file that came with the
    task any word for it sends.
    """
    if tool == FILE:
        return any(not _FILES.isdisjoint(words(text.casefold())) for text in said)
    names = _names_of_text(origin.path, tool)
    return any(_sends_to(tuple(_WORD.findall(text.casefold())), names) for text in said)


def _names_of_text(path: str, tool: str) -> frozenset[str]:
    """What people call the text in which a field holds it; of a message's body, what they call the message, too."""
    steps = [frozenset(words(step)) for step in re.split(r"[.\[\]]+", path) if step and not step.isdecimal()]
    own = steps[-1] if steps else frozenset[str]()
    if own & _BODIES:
        own = own.union(*steps, noun_of_tool(tool))
    return own.union(*(group for group in _SAME if group & own))


@lru_cache(maxsize=256)
def _sends_to(said: Sequence[str], names: frozenset[str]) -> bool:
    places = [place for place, word in enumerate(said) if names.intersection(words(word) or (word,))]
    return any(_is_taken_from(said, place) for place in places)


def _is_taken_from(said: Sequence[str], place: int) -> bool:
    before, after = said[max(0, place - _NEAR) : place], said[place + 1 : place + _NEAR]
    return not _TAKING.isdisjoint(before) or not _SAYING.isdisjoint(after)
