"""Which turns of a long conversation are kept word for word, and how older ones are shortened without a model."""

from collections.abc import Sequence
from typing import NamedTuple

TURNS_KEPT_VERBATIM = 6  # the newest turns, which stay as they were said
SUMMARY_WORDS = 200
_CHARACTERS_OF_LONG_HISTORY = 4 * 8_000  # 8,000 tokens
_FEWEST_SUMMARY_WORDS = 5


class SpokenTurn(NamedTuple):
    """One message of a conversation: who spoke, and the text."""

    role: str
    text: str


def is_too_long(turns: Sequence[SpokenTurn], most_turns: int) -> bool:
    """Whether there are more than ``most_turns`` turns, or more text than 8,000 tokens of 4 characters."""
    return len(turns) > most_turns or sum(len(turn.text) for turn in turns) > _CHARACTERS_OF_LONG_HISTORY


def excerpt_turns(turns: Sequence[SpokenTurn]) -> str:
    """Shortens a conversation to a summary of at most 200 words: the first words of each turn, equally many of each.

    If there are too many turns for that, only the newest are included. Earlier summaries among the turns come first and
    get at most half of the words.
    """
    summaries = [turn.text for turn in turns if turn.role == "summary"]
    spoken_turns = [turn for turn in turns if turn.role != "summary"][-SUMMARY_WORDS // (2 * _FEWEST_SUMMARY_WORDS) :]
    summary_words = _cut_after_words(" ".join(summaries), SUMMARY_WORDS // 2).split()
    share = (SUMMARY_WORDS - len(summary_words)) // len(spoken_turns) if spoken_turns else 0
    return " ".join([*summary_words, *(_cut_after_words(f"{turn.role}: {turn.text}", share) for turn in spoken_turns)])


def _cut_after_words(text: str, most_words: int) -> str:
    words = text.split()
    return " ".join(words if len(words) <= most_words else [*words[: most_words - 1], "..."])
