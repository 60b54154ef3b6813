"""Generated names and numbers. One pool serves all worlds of a seed, so that no two worlds share an id or a name."""

from collections.abc import Callable
from random import Random

FIRST = (
    "Adaeze Anouk Arvid Beatriz Bjarne Carmela Chidi Dagny Dario Elif Emeka "
    "Farida Fenna Goran Greta Hamza Hanneke Ilse Ivo "
    "Jelena Joaquin Kaisa Kwame Leila Lorcan Maren Mateo Nadia Nils Oriol "
    "Oksana Paavo Priya Quentin Rosalind Rune Saoirse "
    "Silvio Tamsin Tariq Ulrike Umberto Vesna Viggo Wanda Wim Xenia Yusuf "
    "Yvaine Zoran Zuleika Amparo Birgit Cosimo Dorte "
    "Eamon Fabio Gwen Hedda Iker"
).split()
ONSETS = "B Br C Cr D Dr F Fl G Gr H K Kl L M N P Pr R S St T Tr V W".split()
MIDDLES = "a e i o u ae ei oa ou".split()
CODAS = (
    "bel dren field gard ham ker land lund man mont nak nov quist ran rick sen sted stein tor vale wick worth".split()
)
TRADES = "Foods Freight Glass Labs Marine Metals Optics Paper Systems Textiles Timber Tools Trading Works".split()
FORMS = "Ltd BV GmbH Inc AB SA Oy PLC".split()
STREETS = "Street Lane Road Square Avenue Quay Court".split()


class NamePool:
    """Draws names and numbers that were not drawn before."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._taken: set[str] = set()

    def number(self) -> int:
        """Six digits and more, so that no amount of a task's text looks like it."""
        return int(self._draw_fresh(lambda: str(self.random.randint(1_000_000, 9_899_999))))

    def person(self) -> str:
        return self._draw_fresh(lambda: f"{self.random.choice(FIRST)} {self.stem()}")

    def relative_of(self, person: str) -> str:
        """Another person with the same family name."""
        return self._draw_fresh(lambda: f"{self.random.choice(FIRST)} {person.split()[-1]}")

    def company(self) -> str:
        return self._draw_fresh(lambda: f"{self.stem()} {self.random.choice(TRADES)} {self.random.choice(FORMS)}")

    def sister_of(self, company: str) -> str:
        """Another company whose name begins alike."""
        stem = company.split()[0]
        return self._draw_fresh(lambda: f"{stem} {self.random.choice(TRADES)} {self.random.choice(FORMS)}")

    def place(self) -> str:
        return self._draw_fresh(self.stem)

    def address(self) -> str:
        street = f"{self.stem()} {self.random.choice(STREETS)}"
        return self._draw_fresh(lambda: f"{self.random.randint(2, 199)} {street}, {self.stem()}")

    def email(self, name: str) -> str:
        user = name.lower().replace(" ", ".")
        return self._draw_fresh(lambda: f"{user}@{self.stem().lower()}.example")

    def phone(self) -> str:
        return self._draw_fresh(lambda: f"+{self.random.randint(30, 49)} {self.random.randint(20_000_000, 89_999_999)}")

    def stem(self) -> str:
        draw = self.random.choice
        return draw(ONSETS) + draw(MIDDLES) + draw(CODAS)

    def _draw_fresh(self, draw: Callable[[], str]) -> str:
        for _ in range(1000):
            name = draw()
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise AssertionError("the pool of names is empty")
