"""How many tokens a conversation sends anew: what its requests have beyond the part that the one before had too."""

from typing import NamedTuple

CHARACTERS_A_TOKEN = 4
COUNTED = (
    "Fresh tokens, counted alike in both loops: a quarter of the characters that a request (tools, system, messages as "
    "JSON) has beyond the one before it; a new history, a helper question, and what stands at a request's end for once "
    "count whole. In brackets: without tools and system texts, which are the same for every task of a tenant."
)


class SentText(NamedTuple):
    """A request as text. `shared`: tools and system; `lasting`: the messages; `passing`: what its end says for once."""

    shared: str
    lasting: str
    passing: str = ""


class FreshTokens:
    """`own_tokens` leave tools and system texts out."""

    def __init__(self) -> None:
        self._sent = ""
        self.tokens = 0
        self.own_tokens = 0

    def count(self, sent: SentText, goes_on: bool = True) -> None:
        """`goes_on`: the request belongs to the history; a helper question stands by itself."""
        whole = sent.shared + sent.lasting
        repeats = goes_on and bool(self._sent) and whole.startswith(self._sent)
        own = len(whole) - len(self._sent) if repeats else len(sent.lasting)
        self.own_tokens += (own + len(sent.passing)) // CHARACTERS_A_TOKEN
        self.tokens += (own + len(sent.passing) + (0 if repeats else len(sent.shared))) // CHARACTERS_A_TOKEN
        self._sent = whole if goes_on else self._sent
