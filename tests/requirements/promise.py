"""A promise of the product."""

from typing import NamedTuple


class Promise(NamedTuple):
    id: str
    sentence: str
    source: (
        str  # a written requirement ("seed NNN") and its section, an invariant of docs/architecture.md, or "bad input"
    )
