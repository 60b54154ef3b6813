"""Of tuples with the very same members one is held, and no more than so many."""

from shared.domain.identity_cache import IdentityCache, SameTuples


def test_tuples_of_the_same_members_are_one_and_what_follows_from_it_is_computed_once() -> None:
    one, other = "a" * 3, "".join("bcd")
    same, computed = SameTuples[str](2), list[tuple[str, ...]]()

    def join(members: tuple[str, ...]) -> str:
        computed.append(members)
        return "".join(members)

    joined = IdentityCache(join, 2)
    assert joined(same((one, other))) == joined(same((one, other))) == one + other
    assert len(computed) == 1


def test_equal_members_that_are_other_objects_make_another_tuple() -> None:
    same = SameTuples[list[str]](2)
    one, equal = ["a"], ["a"]
    first = same((one,))
    assert same((equal,)) is not first
    assert same((one,)) is first


def test_the_one_that_was_not_asked_for_longest_is_let_go() -> None:
    same = SameTuples[list[str]](1)
    first = same((["a"],))
    same((["b"],))
    assert same((first[0],)) is not first
