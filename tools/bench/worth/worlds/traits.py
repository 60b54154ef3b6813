"""How tool servers differ from each other: named traits, of which a seed draws some for each world."""

from enum import StrEnum
from random import Random


class Trait(StrEnum):
    NESTED = "results are nested several levels deep"
    KEYED_LINES = "the lists inside a record are objects keyed by an id"
    KEYED_TABLES = "listings are objects keyed by an id"
    ACKNOWLEDGED = "a write answers with an acknowledgement and no record"
    NO_READ_BACK = "what a write creates cannot be read at all"
    ANSWER_ID = "what a write creates can be read under an id that only its answer gives, and is listed nowhere"
    ALIASES = "records and arguments name the same thing differently"
    ASKS_LIKE_WRITES = "tools that only ask or check are named like writes"
    CHANGES_LIKE_NOTICES = "tools that change records are named like notices"
    PAGES = "listings come in pages"
    INTEGER_IDS = "ids are integers"
    CENTS = "amounts are integers in minor units"
    WIDE = "the catalogue has forty to a hundred and fifty tools, most of them of no use here"
    PROSE = "single records and answers to writes are sentences"
    SIBLINGS = "several records are alike"
    CAMEL_CASE = "tools and fields are written in camel case"
    ANNOTATED = "tools carry annotations of what they do"


class DateStyle(StrEnum):
    """The writing of a day, as a `strftime` pattern."""

    ISO = "%Y-%m-%d"
    DOTTED = "%d.%m.%Y"
    AMERICAN = "%m/%d/%Y"
    NAMED_MONTH = "%d-%b-%Y"


def draw_traits(random: Random) -> frozenset[Trait]:
    return frozenset(trait for trait in Trait if random.random() < SHARES.get(trait, 0.45))


SHARES = {Trait.SIBLINGS: 0.7, Trait.WIDE: 0.35, Trait.PROSE: 0.25, Trait.CAMEL_CASE: 0.25}
