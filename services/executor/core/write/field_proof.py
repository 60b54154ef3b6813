"""What the reads before and after a write show of the fields that the call set, record by record (I4)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from services.executor.core.figures.columns import same
from services.executor.core.figures.dates import read_whole_days
from services.executor.core.figures.numbers import figure
from services.executor.core.records.called_records import looks_like_an_id_value, tells_end
from services.executor.core.records.record_match import (
    Subjects,
    find_subjects,
    identifiers_in,
    is_listed_under,
    is_near,
    leaf_for,
    says_the_same,
)
from services.executor.core.tools.classes import REMOVING, words_of_tool
from services.executor.core.tools.failures import is_echo
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, leaves_of, names_a_record, nodes_of
from shared.domain.exact_json import Json, JsonObject, dumps

_IRREGULAR = {"hold": "held", "pay": "paid", "send": "sent", "set": "set", "split": "split", "withdraw": "withdrawn"}
_DELETING = frozenset("delete purge destroy erase wipe drop".split())
_FIELD_NAMED = ("field", "field_name", "column", "attribute", "property", "key")
_VALUE_NAMED = ("value", "new_value", "to")
_FEWEST_MARKS = 2  # letters or digits of a value that is looked for under any name
_MOST_PAIRED = 200  # of either read's records of which no earlier one has just the same ids
_VANISHING = frozenset("cancel void withdraw archive terminate".split())  # besides the verbs that remove
_ENDING = frozenset("close end stop finish expire reject decline deny refuse dismiss".split())  # besides all these
_ENDED = frozenset(
    """cancelled canceled closed ended stopped void voided withdrawn terminated deleted removed dropped archived expired
    rejected declined denied refused dismissed""".split()
)
_UNDONE = frozenset(
    """failed failing error invalid pending waiting queued requested processing review draft blocked hold held
    suspended unknown not""".split()
)


class WriteEvidence(NamedTuple):
    """What is known of one write.

    ``result`` is None where the answer was lost, ``before`` where nothing was read. ``asked``: the read-back's own
    arguments.
    """

    tool: str
    arguments: JsonObject
    expect: JsonObject
    before: Json
    result: Json
    after: Json
    asked: JsonObject


class ProofFinding(NamedTuple):
    """What the reads tell of a write. ``shown``: fields that show it now and did not before; ``also_before``: fields
    that the call set, all of which were so before; ``too_many``: how many more records show it than before, if not one;
    ``denied``: whether the reads show something else than what was to be written.
    """

    shown: Sequence[str] = ()
    also_before: Sequence[str] = ()
    too_many: int = 0
    denied: bool = False


class _Compared(NamedTuple):
    """How one record shows the fields that the call set: ``new`` since the call, ``old`` as before it, ``missing`` if
    one is not shown, ``denied`` if one has another value.
    """

    new: Mapping[str, Leaf]
    old: Mapping[str, Leaf]
    missing: bool
    denied: bool


class _Claims(NamedTuple):
    """The values that a read may confirm. ``own``: the fields that the call set, or the operator expects; ``said``:
    what the answer said; ``ids``: the identifiers among the arguments; ``exact``: names of fields that the call spells
    out as its argument, so that no other field is meant.
    """

    own: Sequence[Leaf]
    said: Sequence[Leaf]
    ids: Mapping[str, Json]
    exact: frozenset[str] = frozenset()


def find_proof(evidence: WriteEvidence) -> ProofFinding:
    """Compares the reads before and after a write with what the call set and the answer said, and says what they show
    of it.
    """
    found = _search(evidence, _collect_claims(evidence))
    return found if found.shown else found._replace(shown=_find_done_by_verb(evidence))


def shows_already(evidence: WriteEvidence) -> bool:
    """Whether the read before the call already shows all that it sets, or its record in the state that the tool's verb
    leads to.
    """
    as_read = evidence._replace(result=None, after=evidence.before)
    if evidence.before is None:
        return False
    claims = _collect_claims(as_read)
    if _search(as_read, claims).also_before:
        return True
    done = participles(evidence.tool)
    nodes = _subjects_of(as_read, evidence.before).direct
    return any(
        _says_done(leaf, done) and _is_in_reach(leaf, claims) for node in nodes for leaf in leaves_of(node.record)
    )


def _shows_otherwise(evidence: WriteEvidence, before: Subjects, after: Subjects) -> bool:
    """Whether what was to be made is not there, or what was to be removed still is."""
    words = words_of_tool(evidence.tool)
    if words.removes:
        still = _find_named_targets(evidence, words.nouns).items() if words.verb in _DELETING else ()
        ended = _find_done_by_verb(evidence) if still else []
        left = (node for node in (*after.direct, *after.within) if not ended)
        return any(_is_called(node, name, value) for node in left for name, value in still)
    if not words.may_make or before.direct:
        return False
    is_list = isinstance(evidence.after, list)
    return is_list and (evidence.after == evidence.before or not evidence.after)


def _search(evidence: WriteEvidence, claims: _Claims) -> ProofFinding:
    before = _subjects_of(evidence, evidence.before)
    after = before if evidence.after is evidence.before else _subjects_of(evidence, evidence.after)
    gone = _find_absent(evidence, before, after, claims)
    if gone:
        return ProofFinding(shown=gone)
    earlier = _EarlierRecords(nodes_of(evidence.before), nodes_of(evidence.after))
    told = [node for node in after.direct if not _repeats_question(node, evidence.asked, claims)]
    changed = _search_changed(told, earlier, claims, evidence)
    if changed.shown or evidence.before is None:
        return changed._replace(denied=changed.denied or _shows_otherwise(evidence, before, after))
    inside = after.within if words_of_tool(evidence.tool).may_make else ()
    new = [node for node in (*told, *inside) if earlier.find(node) is None]
    made = [_compare_new_record(node, before, after, claims, evidence) for node in new]
    return ProofFinding(
        shown=next((found.shown for found in made if found.shown), ()),
        also_before=changed.also_before,
        too_many=max((found.too_many for found in made), default=0),
        denied=changed.denied or _shows_otherwise(evidence, before, after),
    )


def _search_changed(
    nodes: Sequence[RecordNode], earlier: "_EarlierRecords", claims: _Claims, evidence: WriteEvidence
) -> ProofFinding:
    """What is shown by the records that were there before, or of which it is not known whether they were."""
    also_before: Sequence[str] = ()
    denied = False
    for node in nodes:
        old = earlier.find(node)
        is_known = evidence.before is not None or len(nodes) == 1 or _is_named(node, claims)
        is_another = len(nodes) > 1 and old is not None and old.record == node.record and not _is_named(node, claims)
        if (old is None and evidence.before is not None) or is_another:
            continue
        makes = old is not None and words_of_tool(evidence.tool).may_make
        compared = _compare(node, old, claims, heard=True, makes=makes)
        if compared.new and not compared.denied and is_known:
            return ProofFinding(shown=_describe_fields(compared.new))
        denied = denied or (compared.denied and not compared.new)
        if compared.old and not (compared.denied or compared.missing or compared.new):
            also_before = also_before or _describe_fields(compared.old)
    return ProofFinding(also_before=also_before, denied=denied)


def _subjects_of(evidence: WriteEvidence, shown: Json) -> Subjects:
    if isinstance(shown, dict) and is_echo(str(shown.get("tool")), shown):
        return Subjects((), ())
    return find_subjects(shown, evidence.arguments, evidence.result, evidence.asked)


def _collect_claims(evidence: WriteEvidence) -> _Claims:
    ids = identifiers_in(evidence.arguments)
    own = [leaf for leaf in (*leaves_of(evidence.arguments), *leaves_of(evidence.expect)) if leaf.value is not None]
    said: list[Leaf] = []
    if not is_echo(evidence.tool, evidence.result):
        first = nodes_of(evidence.result)[:1]
        said = [leaf for node in first for leaf in leaves_of(node.record) if _may_confirm(leaf)]
    by_name = _fields_set_by_name(evidence.arguments)
    exact = frozenset((*(leaf.name for leaf in by_name), *(_VALUE_NAMED if by_name else ())))
    return _Claims([*own, *by_name], said, ids, exact)


def _fields_set_by_name(arguments: JsonObject) -> list[Leaf]:
    """The fields that pairs such as ``{"field": "status", "value": "closed"}`` set, in the arguments or in an item of
    them.
    """
    found: list[Leaf] = []
    for node in nodes_of(arguments):
        name = next((node.record[key] for key in _FIELD_NAMED if key in node.record), None)
        value = next((node.record[key] for key in _VALUE_NAMED if key in node.record), None)
        if isinstance(name, str) and words_of(name) and value is not None and not isinstance(value, dict):
            found.append(Leaf((name,), (name,), frozenset(), value))
    return found


def _may_confirm(leaf: Leaf) -> bool:
    """Whether a field of an answer tells what was written: it is a text, and no acknowledgement, time or id."""
    acknowledges = leaf.name.lower() in ("status", "result") and str(leaf.value).lower() in ("ok", "success")
    is_text = isinstance(leaf.value, str) and not read_whole_days(leaf.value[:10])
    return not leaf.items and is_text and not acknowledges and not names_a_record(leaf.name)


def _compare(
    node: RecordNode, earlier: RecordNode | None, claims: _Claims, *, heard: bool, makes: bool = False
) -> _Compared:
    """Compares every field that the call set with the record as it is now and as it was.

    ``heard``: whether what the answer said counts, where no field that the call set shows the write. ``makes``: whether
    the call may make a record, whose fields another record's unchanged ones do not deny.
    """
    leaves = [leaf for leaf in leaves_of(node.record) if _is_in_reach(leaf, claims)]
    old = {leaf.path: leaf.value for leaf in leaves_of(earlier.record)} if earlier else {}
    changed = [leaf for leaf in leaves if leaf.path not in old or old[leaf.path] != leaf.value]
    new: dict[str, Leaf] = {}
    kept: dict[str, Leaf] = {}
    missing = denied = False
    for claim in claims.own:
        if _is_id_of(claim, node):
            continue
        leaf = leaf_for(claim, leaves) or next((one for one in leaves if is_listed_under(claim, one)), None)
        if leaf is None or not says_the_same(claim, leaf):
            near = next((one for one in changed if is_near(claim, one) and says_the_same(claim, one)), None)
            if near is None and earlier is not None and claim.name not in claims.exact:
                near = _find_by_value(claim, changed, old)
            # A mere ``id`` under which the record has another refers elsewhere, and denies nothing.
            stays = makes and leaf is not None and leaf not in changed
            denied = denied or (near is None and leaf is not None and claim.name.lower() != "id" and not stays)
            missing = missing or near is None
            leaf = near
        if leaf is None:
            continue
        was = leaf.path in old and says_the_same(claim, leaf._replace(value=old[leaf.path]))
        if not was and not (names_a_record(claim.name) and earlier is None):
            new[claim.name] = leaf
        elif was and not names_a_record(claim.name):
            kept[claim.name] = leaf
    for claim in claims.said if heard and not (new or denied) else ():
        leaf = leaf_for(claim, changed)
        if leaf is not None and says_the_same(claim, leaf):
            new[claim.name] = leaf
    return _Compared(new, kept, missing, denied)


def _find_by_value(claim: Leaf, changed: Sequence[Leaf], old: Mapping[tuple[str, ...], Json]) -> Leaf | None:
    """The changed field that shows the claim under a name of its own; None if there is none, or several.

    It has the claimed value now (``paid`` for an ``amount``), moved by the claimed figure (a ``balance`` less by it),
    or belongs to an item that is new and has the claimed name.
    """
    steps = {step for path in old for step in path}
    if str(claim.value) not in steps and (item := [leaf for leaf in changed if str(claim.value) in leaf.path]):
        return item[0]
    if names_a_record(claim.name):
        return None
    told = [leaf for leaf in changed if leaf.items or _is_telling(claim.value)]
    alike = [leaf for leaf in told if says_the_same(claim, leaf)]
    moved = [
        leaf for leaf in told if says_the_same(claim, leaf._replace(value=_compute_distance(old.get(leaf.path), leaf)))
    ]
    found = alike or moved
    return found[0] if found and len({leaf.path[-1] for leaf in found}) == 1 else None


def _is_telling(value: Json) -> bool:
    """Whether a value is no yes or no, and long enough that hardly anything else has it by chance."""
    return not isinstance(value, bool | list) and len(str(value).lstrip("-")) >= _FEWEST_MARKS


def _compute_distance(old: Json, leaf: Leaf) -> Json:
    """How far a figure of the record moved; None if it was or is none."""
    before, now = figure(old), figure(leaf.value)
    return None if before is None or now is None else abs(now - before)


def _is_in_reach(leaf: Leaf, claims: _Claims) -> bool:
    """Whether a field is of the record itself, or of an item in it that the call names: not of its other items."""
    named = {str(value) for value in (*claims.ids.values(), *(claim.value for claim in claims.own))}
    sets_items = any(leaf.items == claim.items for claim in claims.own if claim.items)
    return leaf.items <= named or sets_items


def _is_id_of(claim: Leaf, node: RecordNode) -> bool:
    """Whether the claim's value is the id of the record, or of one around it."""
    is_id = names_a_record(claim.name) or looks_like_an_id_value(claim.value)
    return is_id and any(one.own is not None and same(one.own, claim.value) for one in (node, *node.around))


def _compare_new_record(
    node: RecordNode, before: Subjects, after: Subjects, claims: _Claims, evidence: WriteEvidence
) -> ProofFinding:
    """What a record shows that was not there before: proof if exactly one more record than before has the call's
    fields.
    """
    heard = node.own is not None and str(node.own) in dumps(evidence.result)
    compared = _compare(node, None, claims, heard=heard)
    own_ids = [key for key in node.record if names_a_record(key) and key not in evidence.asked]
    if not own_ids and node.own is None and set(compared.new) <= set(evidence.asked):
        return ProofFinding()  # a filter that is repeated
    leaves = leaves_of(node.record)
    named_leaves = [(one, leaf_for(one, leaves)) for one in claims.own if names_a_record(one.name)]
    ids = [(claim, leaf) for claim, leaf in named_leaves if leaf is not None and says_the_same(claim, leaf)]
    related = len(ids) > 1 and words_of_tool(evidence.tool).may_make
    if compared.denied or not (compared.new or related):
        return ProofFinding()
    fields = {leaf.path: leaf.value for leaf in compared.new.values()}
    fields |= {leaf.path: leaf.value for _, leaf in ids}
    named = _is_named(node, claims)
    now, then = (
        [one for one in (*side.direct, *side.within) if not named or same(one.own, node.own)]
        for side in (after, before)
    )
    more = sum(_has_fields(one, fields) for one in now) - sum(_has_fields(one, fields) for one in then)
    if more != 1:
        return ProofFinding(too_many=max(more, 0))
    return ProofFinding(shown=_describe_fields(compared.new) or [f"{claim.name}={claim.value}" for claim, _ in ids])


def _has_fields(node: RecordNode, fields: Mapping[tuple[str, ...], Json]) -> bool:
    shown = {leaf.path: leaf.value for leaf in leaves_of(node.record)}
    return all(path in shown and (shown[path] == value or same(shown[path], value)) for path, value in fields.items())


class _EarlierRecords:
    """The records of the read before, each found for the one that it is in the read after: by its place and ids.

    Of several ids one may be what the call changed: a record is the one before that has the most of its ids, and no two
    records are the same one.
    """

    def __init__(self, before: Sequence[RecordNode], after: Sequence[RecordNode]) -> None:
        self._pairs: dict[int, RecordNode] = {}
        rest = self._pair_by_key(before, after, lambda node: (_identify_node(node), dumps(node.record)))
        rest = self._pair_by_key(*rest, _identify_node)
        self._pair_by_shared(*rest)

    def find(self, node: RecordNode) -> RecordNode | None:
        """The record as it was before, or None."""
        return self._pairs.get(id(node.record))

    def _pair_by_key(
        self, before: Sequence[RecordNode], after: Sequence[RecordNode], key: Callable[[RecordNode], object]
    ) -> tuple[list[RecordNode], list[RecordNode]]:
        """Pairs the records that agree in the key; returns those of both reads that are left."""
        known: dict[object, list[RecordNode]] = {}
        for node in reversed(before):
            known.setdefault(key(node), []).append(node)
        left: list[RecordNode] = []
        for node in after:
            if alike := known.get(key(node)):
                self._pairs[id(node.record)] = alike.pop()
            else:
                left.append(node)
        taken = {id(node) for node in self._pairs.values()}
        return [node for node in before if id(node) not in taken], left

    def _pair_by_shared(self, before: Sequence[RecordNode], after: Sequence[RecordNode]) -> None:
        """Pairs records without an own id in the same place, those first that share the most ids."""
        free = [(node, _ids_of(node)) for node in before if node.own is None]
        shared = [
            (len(ids & earlier_ids), -place, -rank, node, earlier)
            for place, node in enumerate(after[:_MOST_PAIRED])
            if node.own is None and (ids := _ids_of(node))
            for rank, (earlier, earlier_ids) in enumerate(free[:_MOST_PAIRED])
            if earlier.place == node.place and ids & earlier_ids
        ]
        taken: set[int] = set()
        for *_, node, earlier in sorted(shared, key=lambda one: one[:3], reverse=True):
            if id(earlier) not in taken and id(node.record) not in self._pairs:
                self._pairs[id(node.record)] = earlier
                taken.add(id(earlier))


def _ids_of(node: RecordNode) -> frozenset[str]:
    return frozenset(f"{key}={value}" for key, value in node.record.items() if names_a_record(key))


def _identify_node(node: RecordNode) -> tuple[tuple[str, ...], frozenset[str]]:
    """The record's place, and its own id or else all its ids."""
    return node.place, _ids_of(node) if node.own is None else frozenset({str(node.own).strip().casefold()})


def _is_named(node: RecordNode, claims: _Claims) -> bool:
    return node.own is not None and any(same(node.own, value) for value in claims.ids.values())


def _repeats_question(node: RecordNode, asked: JsonObject, claims: _Claims) -> bool:
    """Whether a record shows only what the read asked for: a server may repeat that without knowing anything."""
    wanted = {claim.name for claim in claims.own}
    beside = [key for key in node.record if key not in asked]
    return not any(names_a_record(key) or key in wanted or _says_something(node.record[key]) for key in beside)


def _says_something(value: Json) -> bool:
    """Whether a value can tell something: not an empty one, nor a yes or no such as ``found``."""
    return value not in (None, "", [], {}) and not isinstance(value, bool)


def _find_absent(evidence: WriteEvidence, before: Subjects, after: Subjects, claims: _Claims) -> list[str]:
    """Sentences on what a call was to remove, that was there before and is there no more."""
    words = words_of_tool(evidence.tool)
    if evidence.before is None or evidence.after is None or not (words.removes or words.verb in _VANISHING):
        return []
    ids = identifiers_in(evidence.arguments)
    targets = _find_named_targets(evidence, words.nouns) or (ids if len(ids) == 1 else {})
    then = [*before.direct, *before.within]
    now = [node for node in nodes_of(evidence.after) if not _repeats_question(node, evidence.asked, claims)]
    gone = [
        f"{name} {value} is there no more"
        for name, value in targets.items()
        if any(_is_called(node, name, value) for node in then)
        and not any(_is_called(node, name, value) for node in now)
    ]
    return gone or (list(_find_taken_out(evidence, before, after)) if words.removes else [])


def _find_named_targets(evidence: WriteEvidence, nouns: frozenset[str]) -> Mapping[str, Json]:
    """The ids of what a tool is about."""
    ids = identifiers_in(evidence.arguments).items()
    return {
        name: value
        for name, value in ids
        if name.lower() == "id" or not nouns.isdisjoint(words_of_tool(f"x_{name}").nouns)
    }


def _is_called(node: RecordNode, name: str, value: Json) -> bool:
    if node.own is not None:
        return same(node.own, value)
    return name in node.record and same(node.record[name], value)


def _find_taken_out(evidence: WriteEvidence, before: Subjects, after: Subjects) -> Iterator[str]:
    """Sentences on values of the call that a list of the record had before and has no more: ``remove_tag``,
    ``unassign_user``.
    """
    claims, then = leaves_of(evidence.arguments), _EarlierRecords(before.direct, after.direct)
    for node in after.direct:
        earlier = then.find(node)
        now = {leaf.path: leaf for leaf in leaves_of(node.record)}
        for leaf in leaves_of(earlier.record) if earlier else ():
            for claim in claims:
                named = leaf.name == claim.name or is_listed_under(claim, leaf)
                left = now.get(leaf.path)
                if named and says_the_same(claim, leaf) and not (left and says_the_same(claim, left)):
                    yield f"{leaf.name} has {claim.value} no more"


def _find_done_by_verb(evidence: WriteEvidence) -> list[str]:
    """Fields that changed to a form of the tool's own verb: ``approve_x`` leaves "approved" in a status; else, where
    the call names a record and sets no field, a status that left what it was.

    Empty if another changed field has a value other than the call's argument of that name.
    """
    done, claims = participles(evidence.tool), _collect_claims(evidence)
    before = _EarlierRecords(nodes_of(evidence.before), nodes_of(evidence.after))
    for node in _subjects_of(evidence, evidence.after).direct:
        earlier = before.find(node)
        if earlier is None:
            continue
        old = {leaf.path: leaf.value for leaf in leaves_of(earlier.record)}
        leaves = [leaf for leaf in leaves_of(node.record) if _is_in_reach(leaf, claims)]
        changed = [leaf for leaf in leaves if leaf.path not in old or old[leaf.path] != leaf.value]
        fields = {leaf.name: leaf for leaf in changed if _says_done(leaf, done)}
        if not fields and all(names_a_record(claim.name) for claim in claims.own):
            said = {claim.name: claim for claim in claims.said if not tells_end(claim.value)}
            told = [leaf for leaf in changed if says_the_same(said.get(leaf.name, leaf), leaf)]
            fields = {leaf.name: leaf for leaf in told if _is_new_state(leaf, evidence.tool)}
        denied = any(
            leaf.names == claim.names and not says_the_same(claim, leaf) for leaf in changed for claim in claims.own
        )
        if fields and not denied:
            return _describe_fields(fields)
    return []


def _is_new_state(leaf: Leaf, tool: str) -> bool:
    """Whether a field is a status in which the call may have left the record: none of failing or waiting, and one of
    ending only for a verb that ends.
    """
    words = frozenset(words_of(str(leaf.value)))
    if words_of(leaf.name)[-1:] not in (["status"], ["state"], ["stage"]) or not isinstance(leaf.value, str):
        return False
    verb = words_of_tool(tool).verb
    ends = verb in REMOVING | _VANISHING | _ENDING
    return bool(words) and words.isdisjoint(_UNDONE) and (ends or words.isdisjoint(_ENDED))


def _says_done(leaf: Leaf, done: frozenset[str]) -> bool:
    """Whether a field has a form of the verb as its value, "approved", or as its name with the value true."""
    return str(leaf.value).lower() in done or (leaf.value is True and leaf.name.lower().removeprefix("is_") in done)


def participles(tool: str) -> frozenset[str]:
    """The past participles of a tool's verb, in every possible spelling: ``cancel_order`` gives ``canceled`` and
    ``cancelled``.
    """
    verb = words_of_tool(tool).verb
    regular = {f"{verb}d", f"{verb}ed", f"{verb}{verb[-1:]}ed", f"{verb[:-1]}ied"}
    return frozenset(regular | {_IRREGULAR.get(verb, verb + "ed")})


def _describe_fields(fields: Mapping[str, Leaf]) -> list[str]:
    return [f"{'.'.join(leaf.names)}={leaf.value}" for leaf in fields.values()][:6]
