"""Quotes found again in their source, and what of the source nobody quoted."""

from collections.abc import Iterator, Sequence

from services.policy.core.sentences import sentences, words

_FEWEST_WORDS = 3  # fewer prove nothing: they stand in any text
_COVERED = 0.5  # of a sentence's words


class Quotes:
    """A source and the quotes that were marked in it. Case, spacing and punctuation make no difference."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._words = words(source)
        self._texts = [word.text for word in self._words]
        self._marked: set[int] = set()

    def words_of(self, quote: str) -> tuple[str, ...]:
        """The quote's words; ``ValueError`` if it is too short to be one, or not in the source."""
        said = tuple(word.text for word in words(quote))
        if len(said) < _FEWEST_WORDS:
            raise ValueError(f"the quote is too short: it has {len(said)} words, and {_FEWEST_WORDS} are needed")
        if not self._places(said):
            raise ValueError("the quote is not in the text")
        return said

    def mark(self, said: Sequence[str]) -> None:
        """Count the words as quoted, wherever they stand."""
        for place in self._places(said):
            self._marked.update(range(place, place + len(said)))

    def uncovered(self) -> Iterator[str]:
        """The sentences of which less than half of the words are quoted."""
        place = 0
        for sentence in sentences(self._source):
            while place < len(self._words) and self._words[place].start < sentence.start:
                place += 1
            first = place
            while place < len(self._words) and self._words[place].start < sentence.end:
                place += 1
            own = range(first, place)
            if own and sum(at in self._marked for at in own) < _COVERED * len(own):
                yield sentence.text

    def _places(self, said: Sequence[str]) -> list[int]:
        texts, first, length, wanted = self._texts, said[0], len(said), list(said)
        return [at for at, text in enumerate(texts) if text == first and texts[at : at + length] == wanted]
