"""How many tokens a conversation sends anew: what its requests have beyond the part that the one before had too."""

CHARACTERS_A_TOKEN = 4
COUNTED = (
    "Fresh tokens, counted alike in both loops: a quarter of the characters that a request (tools, system, messages as "
    "JSON) has beyond the one before it; a new history, a helper question, and what stands at a request's end for once "
    "count whole."
)


class FreshTokens:
    def __init__(self) -> None:
        self._sent = ""
        self.tokens = 0

    def count(self, request: tuple[str, str], goes_on: bool = True) -> None:
        """A request as text without closing brackets, and what it says for once; `goes_on`: it is of the history."""
        lasting, passing = request
        repeated = len(self._sent) if goes_on and lasting.startswith(self._sent) else 0
        self.tokens += (len(lasting) - repeated + len(passing)) // CHARACTERS_A_TOKEN
        self._sent = lasting if goes_on else self._sent
