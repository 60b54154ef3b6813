"""The people of a generated day: names, firms and addresses, drawn from a seed."""

from random import Random
from typing import NamedTuple

_FIRST = tuple(
    "Amara Anton Beatriz Bruno Carla Dario Edith Emil Farah Felix Greta Hugo Ida Ivan Jana Jonas Karim Lea Luca Mara "
    "Milan Nadia Nils Olga Oscar Petra Rafael Rosa Samir Selma Tarik Theo Uma Vera Viktor Wanda Yara Zoe".split()
)
_LAST = tuple(
    "Abara Bergman Castell Dorn Eklund Falk Gruber Haddad Iversen Jansen Keller Lindqvist Moreau Novak Okoye Petit "
    "Quist Rossi Sandoval Tanaka Ulrich Varga Weiss Yilmaz Zeman".split()
)
_FIRMS = tuple("harbour-works elm-studio north-mill blue-quarry signal-house river-press oak-and-iron".split())


class Person(NamedTuple):
    key: str
    first: str
    last: str
    email: str
    phone: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


class Cast(NamedTuple):
    """The people of a day. ``others``: known to the user; ``namesake``: somebody else with the first name of the first
    of them.
    """

    user: Person
    others: tuple[Person, ...]
    namesake: Person
    firm: str


def draw_cast(random: Random, others: int) -> Cast:
    """Draws the user, ``others`` more people, and somebody else with the first name of the first of them."""
    firsts, lasts = random.sample(_FIRST, others + 1), random.sample(_LAST, others + 2)
    firm, elsewhere = random.sample(_FIRMS, 2)
    people = [_make_person(number, first, lasts[number], firm) for number, first in enumerate(firsts)]
    namesake = _make_person(others + 1, people[1].first, lasts[-1], elsewhere)
    return Cast(people[0], tuple(people[1:]), namesake, firm)


def _make_person(number: int, first: str, last: str, firm: str) -> Person:
    return Person(f"p{number}", first, last, f"{first}.{last}@{firm}.example".lower(), f"+1555010{number + 40:04d}")
