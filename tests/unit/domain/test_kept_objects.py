"""What was worked out of an object is kept by the object, and of equal tuples one is held."""

from shared.domain.identity_cache import IdentityCache, InternedTuples
from shared.domain.lru_cache import cached_by_text


class _Seen:
    """Counts what it is asked to measure."""

    def __init__(self) -> None:
        self.words: list[list[str]] = []

    def __call__(self, words: list[str]) -> int:
        self.words.append(words)
        return len(words)


def test_an_object_is_measured_once_and_an_equal_one_for_itself() -> None:
    seen = _Seen()
    measure, one, other = IdentityCache(seen, capacity=10), ["a"], ["a"]

    assert [measure(one), measure(other), measure(one)] == [1, 1, 1]
    assert len(seen.words) == 2


def test_what_was_asked_for_longest_ago_is_forgotten_first() -> None:
    seen = _Seen()
    measure = IdentityCache(seen, capacity=2)
    first, second, third = ["a"], ["b"], ["c"]

    for words in (first, second, first, third, first, second):
        measure(words)

    assert seen.words == [first, second, third, second]


def test_an_object_that_took_the_place_of_another_in_memory_is_measured_anew() -> None:
    """An id is given again once its object is gone: what is held keeps its own."""
    measure: IdentityCache[list[str], int] = IdentityCache(len, capacity=1_000)

    assert [measure(["x"] * length) for length in range(500)] == list(range(500))


def test_values_of_texts_are_kept_up_to_a_sum_of_characters() -> None:
    asked: list[str] = []
    ask = cached_by_text(10_000)(asked.append)
    long, other_long, short = "a" * 5_000, "b" * 5_000, "c"

    assert [ask(text) for text in (long, short, long, other_long, short, long, long)] == [None] * 7
    assert asked == [long, short, other_long, short, long]


def test_tuples_of_the_same_members_are_one_and_what_follows_from_it_is_computed_once() -> None:
    one, other = "a" * 3, "".join("bcd")
    same, computed = InternedTuples[str](2), list[tuple[str, ...]]()

    def join(members: tuple[str, ...]) -> str:
        computed.append(members)
        return "".join(members)

    joined = IdentityCache(join, 2)
    assert joined(same((one, other))) == joined(same((one, other))) == one + other
    assert len(computed) == 1


def test_equal_members_that_are_other_objects_make_another_tuple() -> None:
    same = InternedTuples[list[str]](2)
    one, equal = ["a"], ["a"]
    first = same((one,))
    assert same((equal,)) is not first
    assert same((one,)) is first


def test_the_one_that_was_not_asked_for_longest_is_let_go() -> None:
    same = InternedTuples[list[str]](1)
    first = same((["a"],))
    same((["b"],))
    assert same((first[0],)) is not first
