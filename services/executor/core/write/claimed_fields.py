"""Whether a field of a record shows a claim: a field that a call sets, or that its answer tells."""

from collections.abc import Sequence
from itertools import takewhile

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument, may_hold_amount, names_minor_unit
from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.dates import has_time, name_the_same_day, read_whole_days
from services.executor.core.figures.identifiers import IdentifierKind, identifier_key, kind_of_identifier
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.seen_records import is_id_text
from services.executor.core.tools.classes import is_identifying_name
from services.executor.core.tools.name_similarity import may_mean_same, normalized_words, words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, find_record_nodes, is_id_name
from services.executor.core.tools.schema_drift import ALIASES
from services.executor.core.write.earlier_records import ValuesByPath
from services.executor.core.write.verb_states import TELLS_STATUS
from shared.domain.exact_json import Json, JsonObject
from shared.domain.keywords import stem

_PAYERS = frozenset("from source payer debtor debit".split())
_FIELD_NAMED = ("field", "field_name", "column", "attribute", "property", "key")
VALUE_NAMED = ("value", "new_value", "to")
_FEWEST_MARKS = 2  # letters or digits of a value that is looked for under any name
_PLAIN_AMOUNT = frozenset(
    """amount sum value payment paid received refunded charged booked credited debited eur usd gbp chf cent cents minor
    units in""".split()
)
_PERCENT = frozenset("pct percent percentage".split())
_ALIKE = tuple({name.removesuffix("_id") for name in (canonical, *more)} for canonical, more in ALIASES.items())
# Words that a call adds to a field's name, or a record does, which do not make another thing of it.
_NEW_VALUE_WORDS = frozenset("new updated target requested agreed desired proposed final current to set value".split())
_UNITS = _PERCENT | frozenset("cent cents ct minor pence eur usd gbp units".split())


def fields_set_by_name(arguments: JsonObject) -> list[Leaf]:
    """The fields that pairs such as ``{"field": "status", "value": "closed"}`` set, at any depth."""
    found: list[Leaf] = []
    for node in find_record_nodes(arguments):
        name = next((node.record[key] for key in _FIELD_NAMED if key in node.record), None)
        value = next((node.record[key] for key in VALUE_NAMED if key in node.record), None)
        if isinstance(name, str) and words_of(name) and value is not None and not isinstance(value, dict):
            found.append(Leaf((name,), (name,), frozenset(), value))
    return found


def can_tell_effect(leaf: Leaf) -> bool:
    """Whether a field of an answer can tell what was written: it is a text, and no acknowledgement, time or id."""
    acknowledges = leaf.name.lower() in ("status", "result") and str(leaf.value).lower() in ("ok", "success")
    is_text = isinstance(leaf.value, str) and not read_whole_days(leaf.value[:10])
    return not leaf.items and is_text and not acknowledges and not is_id_name(leaf.name)


def says_something(value: Json) -> bool:
    """Whether a value can tell something: it is not empty, and not true or false."""
    return value not in (None, "", [], {}) and not isinstance(value, bool)


def find_leaf_for_claim(claim: Leaf, leaves: Sequence[Leaf]) -> Leaf | None:
    """The record's field that has the claim's name, among several the one with the most similar path; None if there is
    none, or if several are equally similar and differ in value.
    """
    found = [leaf for leaf in leaves if words_of(leaf.name) == words_of(claim.name)]
    if claim.items:
        found = [leaf for leaf in found if leaf.items == claim.items] or found
    if not found:
        return None
    best = max(_rate_likeness(claim, leaf) for leaf in found)
    closest = [leaf for leaf in found if _rate_likeness(claim, leaf) == best]
    return closest[0] if len(closest) == 1 or all(one.value == closest[0].value for one in closest) else None


def has_similar_name(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field's name is near enough to the claim's for the call to have set it: ``newAmount``, ``amount``."""
    one, other = claim.name, leaf.name
    if may_mean_same(one, other) or _are_aliases(one, other) or _differ_only_by_id(one, other):
        return True
    return _distinctive_stems(one) in [_distinctive_stems(" ".join(leaf.names[-count:])) for count in (1, 2)]


def find_shown_claim(claim: Leaf, named: Leaf | None, changed: Sequence[Leaf], edit: frozenset[str]) -> Leaf | None:
    """The field of the claim's name, or a changed one with a similar name, if it has the claimed value. The words
    of a tool that edits, ``edit``, may say the rest of its name: ``order_flag`` for the ``flag`` of ``set_order_flag``.
    """
    if named is not None and has_claimed_value(claim, named):
        return named
    names = ((leaf, (leaf, _without_words(leaf, edit, claim))) for leaf in changed)
    alike = (leaf for leaf, each in names if any(has_similar_name(claim, one) for one in each))
    return next((leaf for leaf in alike if has_claimed_value(claim, leaf)), None)


def has_claimed_value(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field has the claimed value, also in another unit by its name, or as one item of a list."""
    if isinstance(leaf.value, list):
        wanted = claim.value if isinstance(claim.value, list) else [claim.value]
        return bool(wanted) and all(any(shows_same_value(item, one) for item in leaf.value) for one in wanted)
    if isinstance(claim.value, list):
        return False
    return shows_same_value(leaf.value, claim.value) or _is_equal_in_other_unit(claim, leaf)


def is_list_of_claim(claim: Leaf, leaf: Leaf) -> bool:
    """Whether the field is a list of such things: ``tags`` for a ``tag``."""
    one, other = ([*map(stem, words_of(each.name))] for each in (claim, leaf))
    return isinstance(leaf.value, list) and one == other


def has_value_of(node: RecordNode, claim: Leaf) -> bool:
    """Whether a record has the claim's value in the field of its name, if that is no amount and no count."""
    return shows_same_value(node.record.get(claim.name), claim.value) and not is_amount_or_count(claim)


def is_id_of(claim: Leaf, node: RecordNode) -> bool:
    """Whether the claim's value is the id of the record, or of one around it."""
    is_id = is_id_name(claim.name) or is_id_text(claim.value)
    return is_id and any(shows_same_value(one.record_id, claim.value) for one in (node, *node.outer_records))


def got_another_value(claim: Leaf, changed: Sequence[Leaf], old: ValuesByPath, participles: frozenset[str]) -> bool:
    """Whether a changed field of the claim's name has another value; or changed figures, days or accounts of similar
    names have other values, and none the claimed one: ``settled_amount`` for the ``amount`` of ``settle_claim``. A new
    amount or day counts under any name: ``paid_cents`` for ``received_cents``.
    """
    if any(one.names == claim.names and not has_claimed_value(claim, one) for one in changed):
        return True
    alike = [one for one in changed if has_similar_name(claim, _without_words(one, participles, claim))]
    alike += [one for one in changed if old.get(one.path) is None and _are_plain_amounts_or_days(claim, one)]
    compared = [shown for one in alike if (shown := _shows_figure_or_day(claim, one, old)) is not None]
    account = _account_key(claim.value)
    paid_to = [one for one in changed if account and _PAYERS.isdisjoint(words_of(one.name))]
    compared += [key == account for one in paid_to if (key := _account_key(one.value))]
    return bool(compared) and not any(compared)


def adds_to_name(claim: Leaf, leaf: Leaf, participles: frozenset[str]) -> bool:
    """Whether the field's name has all words of the claim's, or what the verb has done: ``rescheduled_to``."""
    words = frozenset(words_of(leaf.name))
    return words.issuperset(words_of(claim.name)) or not words.isdisjoint(participles)


def has_changed_by(claim: Leaf, leaf: Leaf, old: ValuesByPath) -> bool:
    """Whether the field changed by the claimed figure; by as much less, too, if the claim is not negative."""
    before, now = read_figure(old.get(leaf.path)), read_figure(leaf.value)
    if before is None or now is None:
        return False
    change = now - before
    return has_claimed_value(claim, leaf._replace(value=change if is_negative(claim) else abs(change)))


def is_negative(claim: Leaf) -> bool:
    return (read_figure(claim.value) or 0) < 0


def is_amount_or_count(claim: Leaf) -> bool:
    """Whether the claim is a figure, and its name says that it is an amount, a count or a measure: no ``line``."""
    kind = kind_of_argument(claim.name, {}, claim.value)
    is_count = kind is ArgumentKind.QUANTITY and not may_hold_amount(claim.name, kind)
    return read_figure(claim.value) is not None and (kind is ArgumentKind.AMOUNT or is_count)


def is_code(leaf: Leaf) -> bool:
    """Whether a field holds a status, a key or a number of something, so that no figure moves it."""
    return is_identifying_name(leaf.name) or not TELLS_STATUS.isdisjoint(normalized_words(leaf.name))


def is_distinctive(value: Json) -> bool:
    """Whether a value is neither true nor false, and long enough that hardly another field has it by chance."""
    return not isinstance(value, bool | list) and len(str(value).lstrip("-")) >= _FEWEST_MARKS


def _without_words(leaf: Leaf, words: frozenset[str], claim: Leaf) -> Leaf:
    """The field, its name without those of these words that the claim's lacks: ``settled_amount`` as ``amount``."""
    added = words.difference(words_of(claim.name))
    kept = [word for word in words_of(leaf.name) if word not in added]
    return leaf._replace(names=(*leaf.names[:-1], "_".join(kept))) if kept else leaf


def _are_plain_amounts_or_days(claim: Leaf, leaf: Leaf) -> bool:
    """Whether both are plain amounts, days or moments by their names and values: no balance or tax, and no day on which
    the server did something, as ``modified_on``.
    """
    words = frozenset(words_of(leaf.name))
    kinds = {kind_of_argument(one.name, {}, one.value) for one in (claim, leaf)}
    if kinds == {ArgumentKind.AMOUNT}:
        return words <= _PLAIN_AMOUNT and bool(read_figure(leaf.value))
    is_done_on = any(word.endswith("ed") for word in words)
    return kinds == {ArgumentKind.DATE} and has_time(claim.value) is has_time(leaf.value) and not is_done_on


def _shows_figure_or_day(claim: Leaf, leaf: Leaf, old: ValuesByPath) -> bool | None:
    """Whether the field has the claimed figure, changed by it, or has the claimed day; None if it is neither."""
    if read_figure(claim.value) is not None and read_figure(leaf.value) is not None:
        return has_claimed_value(claim, leaf) or has_changed_by(claim, leaf, old)
    day = leaf.value[:10] if isinstance(leaf.value, str) else None
    if read_whole_days(claim.value) and read_whole_days(day):
        return name_the_same_day(claim.value, day)
    return None


def _account_key(value: Json) -> tuple[str, ...]:
    """An account number as it is compared; empty for any other value."""
    is_account = isinstance(value, str) and kind_of_identifier(value) is IdentifierKind.IBAN
    return identifier_key(str(value)) if is_account else ()


def _is_equal_in_other_unit(claim: Leaf, leaf: Leaf) -> bool:
    """Whether one value is the other in cents or percent, and a name or sign says which of them is."""
    claimed, shown = read_figure(claim.value), read_figure(leaf.value)
    if claimed is None or shown is None or not claimed:
        return False
    units = [(has_unit(claim), has_unit(leaf)) for has_unit in (_is_in_minor_units, _is_percent)]
    return any(
        ours != theirs and (claimed == shown * 100 if ours else shown == claimed * 100) for ours, theirs in units
    )


def _is_in_minor_units(leaf: Leaf) -> bool:
    return any(map(names_minor_unit, leaf.names[-2:]))


def _is_percent(leaf: Leaf) -> bool:
    return not _PERCENT.isdisjoint(words_of(leaf.name)) or "%" in str(leaf.value)


def _distinctive_stems(name: str) -> frozenset[str]:
    words = words_of(name)
    kept = [word for word in words if word not in _NEW_VALUE_WORDS] or words
    return frozenset(map(stem, [word for word in kept if word not in _UNITS] or kept))


def _are_aliases(one: str, other: str) -> bool:
    left, right = ("_".join(words_of(name)).removesuffix("_id") for name in (one, other))
    return any({left, right} <= alike for alike in _ALIKE)


def _differ_only_by_id(one: str, other: str) -> bool:
    """Whether the names differ only by an ``id`` at the end: ``boat_id``, ``boat``. A plain ``id`` does not count."""
    left, right = (words[:-1] if words[-1:] == ["id"] else words for words in (words_of(one), words_of(other)))
    return bool(left) and left == right


def _split_names(leaf: Leaf) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(words_of(name)) for name in leaf.names)


def _rate_likeness(claim: Leaf, leaf: Leaf) -> tuple[int, int]:
    """How many names their paths share from the end, then how near the field is to its record's top."""
    pairs = zip(reversed(_split_names(claim)), reversed(_split_names(leaf)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)), -len(leaf.names)
