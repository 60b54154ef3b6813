"""What was worked out of an object is kept by the object."""

from shared.domain.identity_cache import IdentityCache


class _Seen:
    """Counts what it is asked to measure."""

    def __init__(self) -> None:
        self.words: list[list[str]] = []

    def __call__(self, words: list[str]) -> int:
        self.words.append(words)
        return len(words)


def test_an_object_is_measured_once_and_an_equal_one_for_itself() -> None:
    seen = _Seen()
    measure, one, other = IdentityCache(seen, most=10), ["a"], ["a"]

    assert [measure(one), measure(other), measure(one)] == [1, 1, 1]
    assert len(seen.words) == 2


def test_what_was_asked_for_longest_ago_is_forgotten_first() -> None:
    seen = _Seen()
    measure = IdentityCache(seen, most=2)
    first, second, third = ["a"], ["b"], ["c"]

    for words in (first, second, first, third, first, second):
        measure(words)

    assert seen.words == [first, second, third, second]


def test_an_object_that_took_the_place_of_another_in_memory_is_measured_anew() -> None:
    """An id is given again once its object is gone: what is held keeps its own."""
    measure: IdentityCache[list[str], int] = IdentityCache(len, most=1_000)

    assert [measure(["x"] * length) for length in range(500)] == list(range(500))
