"""Which records lie nearest to those that a task is about: by what they refer to, then by what they have in common."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.numbers import figure, normal
from services.executor.core.figures.record_tree import names_a_record
from services.executor.core.records.called_records import Seen, words
from shared.domain.exact_json import Json

_HOPS = 4
_DATE = re.compile(r"\d{4}-\d\d")
_OWN = frozenset({"id", "name", "number", "code"})  # under these a record names itself, and nobody else
_SAYS_LITTLE = frozenset(
    """status state type kind category currency unit priority severity description note notes reason year level role
    risk region title subject message""".split()
)
_Says: TypeAlias = Callable[[Seen], set[str]]


class _Ends(NamedTuple):
    """What a record is called itself, what it refers to, and what else it may have in common with another."""

    own: frozenset[str]
    refers: frozenset[str]
    says: frozenset[str]

    def meets(self, other: "_Ends") -> bool:
        apart = (
            self.own.isdisjoint(other.refers) and self.refers.isdisjoint(other.own) and self.says.isdisjoint(other.says)
        )
        return not apart

    @classmethod
    def join_ends(cls, ends: Sequence["_Ends"]) -> "_Ends":
        """What all of them together are called, refer to and say."""
        own, refers, says = zip(*ends, strict=True)
        return cls(frozenset().union(*own), frozenset().union(*refers), frozenset().union(*says))


class Links:
    """All records, and what each of them has in common with others; worked out once, and where it is needed."""

    def __init__(self, records: Sequence[Seen]) -> None:
        self._records = records
        self._ends: dict[_Says, list[_Ends]] = {}

    def nearest(self, anchors: Sequence[Seen], wanted: Callable[[Seen], bool]) -> list[Seen]:
        """The wanted records nearest to the anchors, every one of the same distance; empty if no way leads there.

        A way by reference goes before one by an identifier in common, and that before one by any other text in
        common. Others of an anchor's own kind are no step on any way.
        """
        kinds = {name[-1] for anchor in anchors for name in anchor.names if name}
        known = {anchor.identity for anchor in anchors}
        of_kind = [any(name and name[-1] in kinds for name in record.names) for record in self._records]
        steps = [
            place
            for place, record in enumerate(self._records)
            if not of_kind[place] or record.identity in known or wanted(record)
        ]
        ways = (self._walk_links(known, steps, wanted, says) for says in (_nothing, _identifiers, _texts))
        return next((found for found in ways if found), [])

    def _walk_links(
        self, known: set[str], steps: Sequence[int], wanted: Callable[[Seen], bool], says: _Says
    ) -> list[Seen]:
        records, ends = self._records, self._ends_of(says)
        near = [place for place in steps if records[place].identity in known]
        left = [place for place in steps if records[place].identity not in known]
        for _ in range(_HOPS):
            found = [records[place] for place in near if wanted(records[place])]
            if found or not near:
                return found
            pool = _Ends.join_ends([ends[place] for place in near])
            near = [place for place in left if ends[place].meets(pool)]
            gone = {*near}
            left = [place for place in left if place not in gone]
        return [records[place] for place in near if wanted(records[place])]

    def _ends_of(self, says: _Says) -> list[_Ends]:
        if says not in self._ends:
            self._ends[says] = [_ends(record, says) for record in self._records]
        return self._ends[says]


def denies(record: Seen, anchor: Seen) -> bool:
    """Whether the record says that it belongs to another one of the anchor's kind."""
    own = _ends(anchor, _nothing).own
    return any(
        names_a_record(key)
        and key != record.id_field
        and anchor.is_called("_".join(words(key)[:-1] or ("id",)))
        and not own & {*_reference(key, value)}
        for key, value in record.record.items()
        if value is not None
    )


def _ends(record: Seen, says: _Says) -> _Ends:
    own = frozenset(_own_names(record, record.id)) if record.id is not None else frozenset[str]()
    return _Ends(own, frozenset(_references(record)), frozenset(says(record)))


def _nothing(_record: Seen) -> set[str]:
    return set()


def _references(record: Seen) -> set[str]:
    """The ids of others that stand in a record."""
    field = record.id_field
    fields = ((key, value) for key, value in record.record.items() if key != field and names_a_record(key))
    return {name for key, value in fields for name in _reference(key, value)}


def _own_names(record: Seen, own: Json) -> Iterator[str]:
    """A bare number names something only together with the word for it."""
    if isinstance(own, str) and figure(own) is None:
        yield own.strip().casefold()
    else:
        yield from (f"{name[-1]} {normal(str(own))}" for name in record.names if name)


def _reference(key: str, value: Json) -> Iterator[str]:
    if isinstance(value, str) and value.strip() and figure(value) is None:
        yield value.strip().casefold()
    elif figure(value) is not None and len(words(key)) > 1:
        yield f"{words(key)[-2]} {normal(str(value))}"


def _identifiers(record: Seen) -> set[str]:
    own = ((key, value) for key, value in record.record.items() if key.lower() not in _OWN)
    identifying = ((key, value) for key, value in own if key.lower().endswith(("id", "name", "number", "code", "key")))
    return {*_telling_fields(identifying)}


def _texts(record: Seen) -> set[str]:
    telling = ((key, value) for key, value in record.record.items() if key.lower() not in _OWN | _SAYS_LITTLE)
    return {*_telling_fields(telling)}


def _telling_fields(fields: Iterable[tuple[str, Json]]) -> Iterator[str]:
    """Field and text; a figure or a date in common is chance."""
    for key, value in fields:
        if isinstance(value, str) and value.strip() and figure(value) is None and not _DATE.match(value.strip()):
            yield f"{key.lower()}={value.strip().casefold()}"
