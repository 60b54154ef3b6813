"""Whether a field of a record shows a claim: a field that a call sets, or that its answer tells."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import takewhile

from services.executor.core.figures.arguments import (
    ArgumentKind,
    is_minor_unit_name,
    kind_of_argument,
    may_hold_amount,
    read_epoch,
)
from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.dates import are_same_day, has_iso_time, parse_iso_datetime, read_whole_days
from services.executor.core.figures.identifiers import IdentifierKind, kind_of_identifier, normalize_identifier
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.name_similarity import list_normalized_words, may_mean_same, words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, ValuesByPath, find_record_nodes, is_id_name
from services.executor.core.tools.schema_drift import COLUMN_ALIASES
from services.executor.core.write.verb_states import STATUS_WORDS
from shared.domain.exact_json import Json, JsonObject
from shared.domain.keywords import stem

_PAYER_WORDS = frozenset("from source payer debtor debit".split())
_NAMES_FOR_A_FIELD = ("field", "field_name", "column", "attribute", "property", "key")
NAMES_FOR_A_VALUE = ("value", "new_value", "to")
_FEWEST_CHARACTERS_OF_VALUE = 2  # letters or digits of a value that is looked for under any name
_PLAIN_AMOUNT_WORDS = frozenset(
    """amount sum value payment paid received refunded charged booked credited debited eur usd gbp chf cent cents minor
    units in""".split()
)
_PERCENT_WORDS = frozenset("pct percent percentage".split())
_ALIAS_SETS = tuple(
    {name.removesuffix("_id") for name in (canonical, *more)} for canonical, more in COLUMN_ALIASES.items()
)
# Words that a call adds to a field's name, or a record does, which do not make another thing of it.
_NEW_VALUE_WORDS = frozenset("new updated target requested agreed desired proposed final current to set value".split())
_UNIT_WORDS = _PERCENT_WORDS | frozenset("cent cents ct minor pence eur usd gbp units".split())


def fields_of_name_value_pairs(arguments: JsonObject) -> list[Leaf]:
    """The fields that pairs such as ``{"field": "status", "value": "closed"}`` set, at any depth."""
    leaves: list[Leaf] = []
    for node in find_record_nodes(arguments):
        name = next((node.record[key] for key in _NAMES_FOR_A_FIELD if key in node.record), None)
        value = next((node.record[key] for key in NAMES_FOR_A_VALUE if key in node.record), None)
        if isinstance(name, str) and words_of(name) and value is not None and not isinstance(value, dict):
            leaves.append(Leaf((name,), (name,), frozenset(), value))
    return leaves


def is_informative_field(leaf: Leaf) -> bool:
    """Whether a field of an answer can tell what was written: a text outside lists, no ``status: ok``, day or id."""
    acknowledges = leaf.name.lower() in ("status", "result") and str(leaf.value).lower() in ("ok", "success")
    is_text = isinstance(leaf.value, str) and not read_whole_days(leaf.value[:10])
    return not leaf.items and is_text and not acknowledges and not is_id_name(leaf.name)


def find_leaf_for_claim(claim: Leaf, leaves: Sequence[Leaf]) -> Leaf | None:
    """The record's field that has the claim's name, among several the one with the most similar path; None if there is
    none, or if several are equally similar and differ in value.
    """
    candidates = [leaf for leaf in leaves if words_of(leaf.name) == words_of(claim.name)]
    if claim.items:
        candidates = [leaf for leaf in candidates if leaf.items == claim.items] or candidates
    if not candidates:
        return None
    closeness = max(_rate_field_likeness(claim, leaf) for leaf in candidates)
    closest = [leaf for leaf in candidates if _rate_field_likeness(claim, leaf) == closeness]
    return closest[0] if all(leaf.value == closest[0].value for leaf in closest) else None


def has_similar_name(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field's name is near enough to the claim's for the call to have set it: ``newAmount``, ``amount``."""
    if may_mean_same(claim.name, leaf.name) or _are_aliases(claim.name, leaf.name):
        return True
    return _distinctive_stems(claim.name) in [_distinctive_stems(" ".join(leaf.names[-count:])) for count in (1, 2)]


def find_leaf_showing_claim(
    claim: Leaf, own_leaf: Leaf | None, changed: Sequence[Leaf], words_of_edit: frozenset[str]
) -> Leaf | None:
    """The field that has the claimed value: ``own_leaf``, which has the claim's name, or else a changed one with a
    similar name; None if there is none. ``words_of_edit``: the words of the name of a tool that edits, which make no
    difference: ``order_flag`` is similar to the ``flag`` of ``set_order_flag``.
    """
    if own_leaf is not None and has_claimed_value(claim, own_leaf):
        return own_leaf
    for leaf in changed:
        is_similar = has_similar_name(claim, leaf) or has_similar_name(
            claim, _without_words(leaf, words_of_edit, claim)
        )
        if is_similar and has_claimed_value(claim, leaf):
            return leaf
    return None


def has_claimed_value(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field has the claimed value, also in another unit that a name tells, or among a list's items."""
    if isinstance(leaf.value, list):
        claimed = claim.value if isinstance(claim.value, list) else [claim.value]
        return bool(claimed) and all(any(shows_same_value(item, value) for item in leaf.value) for value in claimed)
    if isinstance(claim.value, list):
        return False
    return shows_same_value(leaf.value, claim.value) or _is_equal_in_other_unit(claim, leaf)


def replace_epochs_by_claims(value: Json, claims: Sequence[Json], zone: tzinfo, name: str = "") -> Json:
    """A copy of the value with the claim in place of each epoch second that means its day or moment in the zone."""
    if isinstance(value, dict):
        return {key: replace_epochs_by_claims(inner, claims, zone, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [replace_epochs_by_claims(inner, claims, zone, name) for inner in value]
    moment = read_epoch(name, value, zone)
    return next((claim for claim in claims if moment and _does_claim_mean_moment(claim, moment)), value)


def _does_claim_mean_moment(claim: Json, moment: datetime) -> bool:
    claimed = parse_iso_datetime(claim)
    is_same = claimed is not None and (claimed if claimed.tzinfo else claimed.replace(tzinfo=moment.tzinfo)) == moment
    return is_same or read_whole_days(claim) == {moment.date()}


def is_list_of_claim(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field is a list with the claim's name in the singular or plural: ``tags`` for a ``tag``."""
    return isinstance(leaf.value, list) and [*map(stem, words_of(claim.name))] == [*map(stem, words_of(leaf.name))]


def has_value_of(node: RecordNode, claim: Leaf) -> bool:
    """Whether the record's field of the claim's name has the claimed value, and the claim is no amount and no count."""
    return shows_same_value(node.record.get(claim.name), claim.value) and not is_amount_or_count(claim)


def is_id_of(claim: Leaf, node: RecordNode) -> bool:
    """Whether the claim's value is the id of the record, or of one around it."""
    is_id = is_id_name(claim.name) or is_id_text(claim.value)
    return is_id and any(shows_same_value(record.record_id, claim.value) for record in (node, *node.outer_records))


def shows_another_value(claim: Leaf, changed: Sequence[Leaf], old: ValuesByPath, participles: frozenset[str]) -> bool:
    """Whether changed fields show another value than the claimed one: ``settled_amount=90`` for ``amount=100``.

    A changed field with the claim's own path and another value does. So do changed figures, days and accounts, if one
    differs from the claim and none equals it: those of similar names (without ``participles``), amounts and days that
    were empty before (``old``) under any plain name, and accounts under any name but a payer's.
    """
    if any(leaf.names == claim.names and not has_claimed_value(claim, leaf) for leaf in changed):
        return True
    similar = [leaf for leaf in changed if has_similar_name(claim, _without_words(leaf, participles, claim))]
    similar += [leaf for leaf in changed if old.get(leaf.path) is None and _are_plain_amounts_or_days(claim, leaf)]
    matches = [_shows_figure_or_day(claim, leaf, old) for leaf in similar]
    if account := _normalize_iban(claim.value):
        payees = (_normalize_iban(leaf.value) for leaf in changed if _PAYER_WORDS.isdisjoint(words_of(leaf.name)))
        matches += [payee == account for payee in payees if payee]
    return False in matches and True not in matches


def has_extended_name(claim: Leaf, leaf: Leaf, participles: frozenset[str]) -> bool:
    """Whether the field's name has all words of the claim's, or a participle of the verb: ``rescheduled_to``."""
    words = frozenset(words_of(leaf.name))
    return words.issuperset(words_of(claim.name)) or not words.isdisjoint(participles)


def has_changed_by_claim(claim: Leaf, leaf: Leaf, old_values: ValuesByPath) -> bool:
    """Whether the field changed by the claimed figure: from 100 to 70 or 130 for 30, but only to 70 for -30."""
    old_figure, new_figure = read_figure(old_values.get(leaf.path)), read_figure(leaf.value)
    if old_figure is None or new_figure is None:
        return False
    change = new_figure - old_figure
    return has_claimed_value(claim, leaf._replace(value=change if is_negative(claim) else abs(change)))


def is_negative(claim: Leaf) -> bool:
    return (read_figure(claim.value) or 0) < 0


def is_amount_or_count(claim: Leaf) -> bool:
    """Whether the claim is a figure whose name says that it is an amount, a count or a measure: not ``line=2``."""
    kind = kind_of_argument(claim.name, {}, claim.value)
    is_count = kind is ArgumentKind.QUANTITY and not may_hold_amount(claim.name, kind)
    return read_figure(claim.value) is not None and (kind is ArgumentKind.AMOUNT or is_count)


def is_status_or_identifier(leaf: Leaf) -> bool:
    """Whether a field is by its name a status or an identifier, to which no amount is added."""
    return is_identifying_name(leaf.name) or not STATUS_WORDS.isdisjoint(list_normalized_words(leaf.name))


def is_distinctive(value: Json) -> bool:
    """Whether a claim's value (never null) has at least two characters, so that a field hardly has it by chance; false
    for booleans and lists.
    """
    return not isinstance(value, bool | list) and len(str(value).lstrip("-")) >= _FEWEST_CHARACTERS_OF_VALUE


def _without_words(leaf: Leaf, words: frozenset[str], claim: Leaf) -> Leaf:
    """The field without ``words`` in its name, but for the claim's own words: ``settled_amount`` as ``amount``."""
    removable = words.difference(words_of(claim.name))
    words_left = [word for word in words_of(leaf.name) if word not in removable]
    return leaf._replace(names=(*leaf.names[:-1], "_".join(words_left))) if words_left else leaf


def _are_plain_amounts_or_days(claim: Leaf, leaf: Leaf) -> bool:
    """Whether claim and field are both amounts, both days or both moments, and the field's name tells of nothing else:
    no balance or tax, and no day on which the server did something, as ``modified_on``.
    """
    words = frozenset(words_of(leaf.name))
    kinds = {kind_of_argument(field.name, {}, field.value) for field in (claim, leaf)}
    if kinds == {ArgumentKind.AMOUNT}:
        return words <= _PLAIN_AMOUNT_WORDS and bool(read_figure(leaf.value))
    is_done_on = any(word.endswith("ed") for word in words)
    return kinds == {ArgumentKind.DATE} and has_iso_time(claim.value) is has_iso_time(leaf.value) and not is_done_on


def _shows_figure_or_day(claim: Leaf, leaf: Leaf, old_values: ValuesByPath) -> bool | None:
    """Whether the field has the claimed figure or day, or changed by the figure; None if the two do not compare."""
    if read_figure(claim.value) is not None and read_figure(leaf.value) is not None:
        return has_claimed_value(claim, leaf) or has_changed_by_claim(claim, leaf, old_values)
    day = leaf.value[:10] if isinstance(leaf.value, str) else None
    if read_whole_days(claim.value) and read_whole_days(day):
        return are_same_day(claim.value, day)
    return None


def _normalize_iban(value: Json) -> tuple[str, ...]:
    """An IBAN in the form in which IBANs are compared; empty for any other value."""
    is_account = isinstance(value, str) and kind_of_identifier(value) is IdentifierKind.IBAN
    return normalize_identifier(str(value)) if is_account else ()


def _is_equal_in_other_unit(claim: Leaf, leaf: Leaf) -> bool:
    """Whether one figure is 100 times the other, and only that one is in cents or percent by its name or a ``%``."""
    claimed, shown_figure = read_figure(claim.value), read_figure(leaf.value)
    if claimed is None or shown_figure is None or not claimed:
        return False
    units = [(has_unit(claim), has_unit(leaf)) for has_unit in (_is_in_minor_units, _is_percent)]
    return any(
        ours != theirs and (claimed == shown_figure * 100 if ours else shown_figure == claimed * 100)
        for ours, theirs in units
    )


def _is_in_minor_units(leaf: Leaf) -> bool:
    return any(map(is_minor_unit_name, leaf.names[-2:]))


def _is_percent(leaf: Leaf) -> bool:
    return not _PERCENT_WORDS.isdisjoint(words_of(leaf.name)) or "%" in str(leaf.value)


def _distinctive_stems(name: str) -> frozenset[str]:
    """The stems of a name's words, without words such as ``new`` and without units, if others are left."""
    words = words_of(name)
    thing_words = [word for word in words if word not in _NEW_VALUE_WORDS] or words
    return frozenset(map(stem, [word for word in thing_words if word not in _UNIT_WORDS] or thing_words))


def _are_aliases(name: str, other_name: str) -> bool:
    """Whether the names are aliases, or differ only by an ``id`` at the end: ``boat_id``, ``boat``.

    A plain ``id`` does not count.
    """
    names = {"_".join(words_of(each)).removesuffix("_id") for each in (name, other_name)}
    is_same_word = len(names) == 1 and names.isdisjoint(("", "id"))
    return is_same_word or any(names <= aliases for aliases in _ALIAS_SETS)


def _rate_field_likeness(claim: Leaf, leaf: Leaf) -> tuple[int, int]:
    """Greater for the likelier field: how many names both paths end with, then how near the record's top it is."""
    pairs = zip(reversed(claim.names), reversed(leaf.names), strict=False)
    return sum(1 for _ in takewhile(lambda pair: words_of(pair[0]) == words_of(pair[1]), pairs)), -len(leaf.names)
