"""Proves a write by comparing the reads before and after it, record by record, with the fields that the call set (I4).

``_prove_row`` lists the rules; each is a function further down, in the same order.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument
from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.argument_rows import arguments_by_row
from services.executor.core.records.record_match import CallSubjects, find_subjects, identifiers_in
from services.executor.core.records.seen_records import may_be_request_status
from services.executor.core.tools.classes import EDITING, name_for_one, participles_of_verb, words_of_tool
from services.executor.core.tools.failures import echoes_call
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import Leaf, RecordNode, find_leaves, find_record_nodes, is_id_name
from services.executor.core.write import claimed_fields, verb_states
from services.executor.core.write.claimed_fields import (
    find_leaf_for_claim,
    got_another_value,
    has_claimed_value,
    has_value_of,
    is_amount_or_count,
    is_code,
    is_list_of_claim,
)
from services.executor.core.write.earlier_records import EarlierRecords, ValuesByPath, find_changes
from shared.contracts.plan import ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_DELETION_VERBS = frozenset("delete purge destroy erase wipe drop".split())
_SETS_NOTHING = (ArgumentKind.IDENTIFIER, ArgumentKind.FREE_TEXT)


class WriteEvidence(NamedTuple):
    """What is known of one write.

    ``result`` is None if no answer came, ``before`` if nothing was read. ``asked``: the read-back's own arguments;
    ``reader``: its tool, empty without one. ``of_rows``: the read of each row; ``before`` and ``after`` are then lists
    of what each of these reads shows. ``own``: of one row, the names of the fields that are its own.
    """

    tool: str
    arguments: JsonObject
    expect: JsonObject
    before: Json
    result: Json
    after: Json
    asked: JsonObject
    reader: str
    of_rows: Sequence[ReadBack] = ()
    own: frozenset[str] = frozenset()

    def split_rows(self) -> Sequence["WriteEvidence"]:
        """The evidence of each row of the call, with its own read; of rows that one read shows, with that."""
        rows = [self._restrict_to_row(row) for row in arguments_by_row(self.tool, self.arguments)]
        if not self.of_rows:
            return rows
        if len(rows) != len(self.of_rows):  # a value from a result made other rows of them
            return [self._replace(before=None, after=None, of_rows=())]
        reads = [*dict.fromkeys(self.of_rows)]
        return [row._restrict_to_read(reads.index(read), read) for row, read in zip(rows, self.of_rows, strict=True)]

    def _restrict_to_row(self, row: JsonObject) -> "WriteEvidence":
        own: JsonObject = {key: value for key, value in row.items() if self.arguments.get(key) != value}
        return self._replace(arguments=row, own=frozenset(leaf.name for leaf in find_leaves(own)))

    def _restrict_to_read(self, place: int, read: ReadBack) -> "WriteEvidence":
        return self._replace(
            before=self.before[place] if isinstance(self.before, list) else None,
            after=self.after[place] if isinstance(self.after, list) else None,
            asked=loads_object(read.arguments_json),
            reader=read.tool,
            of_rows=(),
        )


class ProofFinding(NamedTuple):
    """What the reads show of a write, or of one row of it.

    ``shown``: what proves it, by ``rule``. ``also_before``: the fields that the call set, if all had their values
    before. ``miscount``: how many more records than before show it, if not ``wanted``. ``denied``: whether the reads
    show other values.
    """

    shown: Sequence[str] = ()
    also_before: Sequence[str] = ()
    miscount: int = 0
    wanted: int = 1
    denied: bool = False
    rule: str = ""


RowProof: TypeAlias = tuple[WriteEvidence, ProofFinding]


def prove_rows(evidence: WriteEvidence) -> Sequence[RowProof]:
    """What the reads show of each row of the call. A call without rows that name records is one row."""
    rows = [_ComparedReads(row) for row in evidence.split_rows()]
    for row in rows:
        row.set_other_rows([one for one in rows if one is not row and one.evidence.after is row.evidence.after])
    return [(row.evidence, _prove_row(row)) for row in rows]


def _prove_row(reads: "_ComparedReads") -> ProofFinding:
    """The finding of the first rule that proves the row; else what the reads show against it."""
    rules: dict[str, Callable[[_ComparedReads], ProofFinding]] = {
        "gone": _find_removed_records,  # delete_order(O-1): O-1 was there, and is there no more
        "taken out": _find_removed_values,  # remove_tag(C-1, urgent): the tags of C-1 had it, and have it no more
        "changed": _find_changed_records,  # set_limit(C-1, 50): C-1 shows limit=50, and showed something else
        "made": _find_new_record,  # book_room(R-1, Monday): exactly one more booking than before shows R-1 and Monday
        "done": _find_participle_fields,  # approve_claim(C-1): a field of C-1 became "approved"
        "left in a status": _find_new_state,  # submit_claim(C-1), which sets no field: its status became "filed"
        "switched": _find_switched_field,  # release_hold(H-1): its field "active" was true, and is false
    }
    against = ProofFinding()
    for name, rule in rules.items():
        found = rule(reads)
        if found.shown:
            return found._replace(rule=name)
        counted = found if found.miscount else against
        against = counted._replace(
            also_before=against.also_before or found.also_before, denied=against.denied or found.denied
        )
    return against._replace(denied=against.denied or _contradicts_write(reads))


def is_shown_before(evidence: WriteEvidence) -> bool:
    """Whether the read before the call shows all that a row sets, or the status that the tool's verb leads to."""
    if evidence.before is None:
        return False
    as_read = evidence._replace(result=None, after=evidence.before)
    if any(found.also_before for _, found in prove_rows(as_read)):
        return True
    return any(
        verb_states.has_participle(leaf, reads.participles) or verb_states.is_switched(leaf, reads.words)
        for reads in map(_ComparedReads, as_read.split_rows())
        for node in reads.after.direct
        for leaf in reads.relevant_leaves(node)
    )


class _ComparedReads:
    """The reads of a write, prepared for the rules.

    ``claims``: the fields that the call set, or the operator expects; ``answer_claims``: what the answer said;
    ``exact``: names of fields that the call itself gives as an argument, so that no other field is meant;
    ``telling_records``: records that the call is about and that have more than the read's own arguments; ``others``:
    the other rows of the call that the same read shows.
    """

    def __init__(self, evidence: WriteEvidence) -> None:
        self.evidence = evidence
        self.others: Sequence[_ComparedReads] = ()
        self._values_of_other_rows = set[str]()
        self.words = words_of_tool(name_for_one(evidence.tool))
        self.words_of_edit = frozenset(words_of(evidence.tool) if self.words.verb in EDITING else ())
        self.participles = participles_of_verb(name_for_one(evidence.tool))
        self.ids = identifiers_in(evidence.arguments)
        by_name = claimed_fields.fields_set_by_name(evidence.arguments)
        own = [*find_leaves(evidence.arguments), *find_leaves(evidence.expect)]
        self.claims = [*(leaf for leaf in own if leaf.value is not None), *by_name]
        self.exact = frozenset((*(leaf.name for leaf in by_name), *(claimed_fields.VALUE_NAMED if by_name else ())))
        is_repeated = echoes_call(evidence.tool, evidence.result)
        first = [] if is_repeated else find_record_nodes(evidence.result)[:1]
        told = (leaf for node in first for leaf in find_leaves(node.record))
        self.answer_claims = [*filter(claimed_fields.can_tell_effect, told)]
        self.before = self._find_subjects(evidence.before)
        self.after = self.before if evidence.after is evidence.before else self._find_subjects(evidence.after)
        self.earlier = EarlierRecords(find_record_nodes(evidence.before), find_record_nodes(evidence.after))
        self.telling_records = [node for node in self.after.direct if not self.repeats_question(node)]
        self.row_own_values = {str(claim.value) for claim in self.claims if claim.name in evidence.own}
        self._items = {str(value) for value in (*self.ids.values(), *(claim.value for claim in self.claims))}

    def relevant_leaves(self, node: RecordNode) -> list[Leaf]:
        """The fields of the record itself, and of those items in it that the call names and no other row does."""
        sets = [claim.items for claim in self.claims if claim.items]
        leaves = [leaf for leaf in find_leaves(node.record) if leaf.items <= self._items or leaf.items in sets]
        return [leaf for leaf in leaves if self._values_of_other_rows.isdisjoint(leaf.path)]

    def is_named_by_call(self, node: RecordNode) -> bool:
        return any(shows_same_value(node.record_id, value) for value in self.ids.values())

    def set_other_rows(self, others: Sequence["_ComparedReads"]) -> None:
        self.others = others
        self._values_of_other_rows = {value for one in others for value in one.row_own_values} - self.row_own_values

    def is_about_other_row(self, node: RecordNode) -> bool:
        """Whether another row is about the record, too, so that a change of it alone does not tell of which row."""
        return any(one.record is node.record for other in self.others for one in other.after.direct)

    def is_named_item(self, node: RecordNode) -> bool:
        """Whether the call names both the record and the one around it by a field: a line by ``order=7, line=2``."""
        return bool(node.outer_records) and all(
            any(has_value_of(one, claim) for claim in self.claims) for one in (node, node.outer_records[-1])
        )

    def is_beside_named_item(self, node: RecordNode) -> bool:
        """Whether the call names another record of the same list by a field that this one has, too: ``line=2``."""
        own = self.earlier.find_earlier(node)
        then = [one for one in self.before.direct if one.place == node.place and not (own and own.record is one.record)]
        named = (claim for claim in self.claims if claim.name in node.record and not has_value_of(node, claim))
        return any(sum(has_value_of(one, claim) for one in then) == 1 for claim in named)

    def count_rows_with(self, names: Collection[str], node: RecordNode) -> int:
        """How many rows are about the record or what is around it, and set these fields as this row does; one, if none
        of the fields is a row's own.
        """
        if self.evidence.own.isdisjoint(names):
            return 1
        ours = {claim.name: claim.value for claim in self.claims}
        return 1 + sum(
            all((name, ours[name]) in [(claim.name, claim.value) for claim in other.claims] for name in names)
            for other in self.others
            if any(one.record is node.record for one in (*other.after.direct, *other.after.within))
        )

    def repeats_question(self, node: RecordNode) -> bool:
        """Whether a record has only what the read asked for, which a server may repeat without knowing the record."""
        wanted = {claim.name for claim in self.claims}
        beside = {key: value for key, value in node.record.items() if key not in self.evidence.asked}
        if any(is_id_name(key) or key in wanted for key in beside):
            return False
        return not any(map(claimed_fields.says_something, beside.values()))

    def _find_subjects(self, shown: Json) -> CallSubjects:
        if isinstance(shown, dict) and echoes_call(str(shown.get("tool")), shown):
            return CallSubjects((), ())
        return find_subjects(shown, self.evidence.arguments, self.evidence.result, self.evidence.asked)


def _contradicts_write(reads: _ComparedReads) -> bool:
    """Whether what was to be made is not there, or what was to be deleted still is."""
    evidence, words = reads.evidence, reads.words
    if words.removes:
        still = _ids_of_targets(reads).items() if words.verb in _DELETION_VERBS else ()
        left = (*reads.after.direct, *reads.after.within)
        return any(_has_id(node, name, value) for node in left for name, value in still)
    if not words.may_make_record or reads.before.direct or not isinstance(evidence.after, list):
        return False
    return evidence.after == evidence.before or not evidence.after


def _find_removed_records(reads: _ComparedReads) -> ProofFinding:
    """Records that the call names and was to remove, or to end so that they are no longer listed, and that are gone."""
    evidence, words = reads.evidence, reads.words
    may_remove = words.removes or words.verb in verb_states.WITHDRAWAL_VERBS
    if evidence.before is None or evidence.after is None or not may_remove:
        return ProofFinding()
    targets = _ids_of_targets(reads) or (reads.ids if len(reads.ids) == 1 else {})
    then = (*reads.before.direct, *reads.before.within)
    # ``{"order_id": "O-1", "found": false}`` is no order, but a read that says now what it said before shows no change.
    was = {dumps(node.record) for node in then}
    shown = find_record_nodes(evidence.after)
    now = [node for node in shown if not reads.repeats_question(node) or dumps(node.record) in was]
    gone = [
        f"{name} {value} is there no more"
        for name, value in targets.items()
        if any(_has_id(node, name, value) for node in then) and not any(_has_id(node, name, value) for node in now)
    ]
    return ProofFinding(shown=gone)


def _ids_of_targets(reads: _ComparedReads) -> Mapping[str, Json]:
    """The ids of what the tool is about."""
    nouns = reads.words.nouns
    return {
        name: value
        for name, value in reads.ids.items()
        if name.lower() == "id" or not nouns.isdisjoint(words_of_tool(f"x_{name}").nouns)
    }


def _has_id(node: RecordNode, name: str, value: Json) -> bool:
    return shows_same_value(node.record.get(name) if node.record_id is None else node.record_id, value)


def _find_removed_values(reads: _ComparedReads) -> ProofFinding:
    """Values of the call that a list of the record had before and no longer has: ``remove_tag``, ``unassign_user``."""
    evidence, gone = reads.evidence, list[str]()
    if evidence.before is None or evidence.after is None or not reads.words.removes:
        return ProofFinding()
    claims, then = find_leaves(evidence.arguments), EarlierRecords(reads.before.direct, reads.after.direct)
    for node in reads.after.direct:
        earlier = then.find_earlier(node)
        now = {leaf.path: leaf for leaf in find_leaves(node.record)}
        for leaf in find_leaves(earlier.record) if earlier else ():
            for claim in claims:
                named = leaf.name == claim.name or is_list_of_claim(claim, leaf)
                left = now.get(leaf.path)
                if named and has_claimed_value(claim, leaf) and not (left and has_claimed_value(claim, left)):
                    gone.append(f"{leaf.name} has {claim.value} no more")
    return ProofFinding(shown=gone)


def _find_changed_records(reads: _ComparedReads) -> ProofFinding:
    """What the records show that existed before, or of which that is unknown."""
    is_read, own = reads.evidence.before is not None, reads.evidence.own
    nodes = reads.telling_records if is_read or not own else _find_made_line(reads) or reads.telling_records
    also_before: Sequence[str] = ()
    denied = False
    for node in nodes:
        old, is_meant = reads.earlier.find_earlier(node), len(nodes) == 1 or reads.is_named_by_call(node)
        is_another = old is not None and old.record == node.record and not is_meant
        if (old is None and is_read) or is_another or reads.is_beside_named_item(node):
            continue
        compared = _compare_record(reads, node, old, with_answer=True)
        is_shown = is_read or (is_meant and not (own and own.isdisjoint(compared.new)))
        if compared.new and not (compared.denied or compared.differs) and is_shown:
            return ProofFinding(shown=_describe_fields(compared.new))
        denied = denied or (compared.denied and not compared.new)
        if compared.old and not (compared.denied or compared.missing or compared.new):
            also_before = also_before or _describe_fields(compared.old)
    return ProofFinding(also_before=also_before, denied=denied)


def _find_made_line(reads: _ComparedReads) -> Sequence[RecordNode]:
    """For a row of what was made: the one line that has all fields of this row alone, with those around it."""
    own = [claim for claim in reads.claims if claim.name in reads.evidence.own]
    nodes = (node for node in (*reads.after.direct, *reads.after.within) if node.outer_records)
    made = [
        {key: value for one in (*node.outer_records, node) for key, value in one.record.items()}
        for node in nodes
        if any(claim.name in node.record for claim in own)
    ]
    made = [line for line in made if all(shows_same_value(line.get(claim.name), claim.value) for claim in own)]
    is_repeated = any(other.evidence.arguments == reads.evidence.arguments for other in reads.others)
    return [] if is_repeated or len(made) != 1 else [RecordNode(made[0], (), None, ())]


class _ComparedRecord(NamedTuple):
    """How one record shows the fields that the call set. ``new``: shown since the call; ``old``: shown before it, too;
    ``missing``: whether a field is not shown; ``denied``: whether a field has another value; ``differs``: whether an
    amount, a day or an account is not shown, while another one is new.
    """

    new: Mapping[str, Leaf]
    old: Mapping[str, Leaf]
    missing: bool
    denied: bool
    differs: bool


def _compare_record(
    reads: _ComparedReads, node: RecordNode, earlier: RecordNode | None, *, with_answer: bool
) -> _ComparedRecord:
    """Compares every field that the call set with the record now and before.

    ``with_answer``: whether what the answer said counts, if no field that the call set shows the write.
    """
    leaves = reads.relevant_leaves(node)
    old, changed = find_changes(leaves, earlier)
    filled = [leaf for leaf in changed if old.get(leaf.path) is None]
    new: dict[str, Leaf] = {}
    kept: dict[str, Leaf] = {}
    missing = denied = differs = False
    for claim in (one for one in reads.claims if not claimed_fields.is_id_of(one, node)):
        named = find_leaf_for_claim(claim, leaves) or next(
            (one for one in leaves if is_list_of_claim(claim, one)), None
        )
        leaf = claimed_fields.find_shown_claim(claim, named, changed, reads.words_of_edit)
        if earlier is not None and (leaf is None or (leaf not in changed and is_amount_or_count(claim))):
            leaf = _find_claim_by_value(reads, claim, node, named, changed, old) or leaf
        if leaf is None:
            missing = True
            differs = differs or (
                not is_id_name(claim.name) and got_another_value(claim, filled, old, reads.participles)
            )
            # A mere ``id`` under which the record has another refers elsewhere, and denies nothing; nor do another
            # record's unchanged fields where the call may make one.
            stays = reads.words.may_make_record and named not in changed
            denied = denied or (named is not None and claim.name.lower() != "id" and not stays)
            continue
        was = leaf.path in old and has_claimed_value(claim, leaf._replace(value=old[leaf.path]))
        was = was and (has_claimed_value(claim, leaf) or not read_figure(leaf.value))  # not 900 more, which are 1800
        if not was and not (is_id_name(claim.name) and earlier is None):
            new[claim.name] = leaf
        elif was and not is_id_name(claim.name):
            kept[claim.name] = leaf
    for claim in reads.answer_claims if with_answer and not (new or denied or reads.is_about_other_row(node)) else ():
        said = find_leaf_for_claim(claim, changed)
        if said is not None and has_claimed_value(claim, said):
            new[claim.name] = said
    return _ComparedRecord(new, kept, missing, denied, differs)


def _find_claim_by_value(
    reads: _ComparedReads, claim: Leaf, node: RecordNode, named: Leaf | None, changed: Sequence[Leaf], old: ValuesByPath
) -> Leaf | None:
    """The changed field that shows the claim under another name; None if there is none, or several.

    It has the claimed value now (``paid`` for an ``amount``), changed by the claimed figure (a ``balance`` less by it),
    or belongs to an item that is new and has the claimed name; where other rows are about the record, too, nothing but
    the last counts. Where the field of the claim's own name kept its value, a text or a day counts only in a field
    whose name adds to the claim's (``next_plan``), and a figure only as what was added or taken. A figure that an edit
    sets is shown by its own field alone, if there is one.
    """
    is_figure, is_measure = read_figure(claim.value) is not None, is_amount_or_count(claim)
    is_own = named is not None and named.name == claim.name
    is_kept = is_own and named not in changed
    is_set_there = is_figure and ((is_own and reads.words.verb in EDITING) or (is_kept and not is_measure))
    if claim.name in reads.exact or is_set_there:
        return None
    steps = {step for path in old for step in path}
    if str(claim.value) not in steps and (item := [leaf for leaf in changed if str(claim.value) in leaf.path]):
        return item[0]
    if reads.is_about_other_row(node) or is_id_name(claim.name):
        return None
    if any(has_value_of(one, claim) for one in find_record_nodes(node.record)[1:]):  # ``line=2`` names a line
        return None
    is_telling = claimed_fields.is_distinctive(claim.value) or reads.is_named_item(node)
    told = [leaf for leaf in changed if leaf.items or is_telling]
    alike = [leaf for leaf in told if has_claimed_value(claim, leaf) and not (is_measure and is_code(leaf))]
    if is_kept and is_figure:
        alike = [leaf for leaf in alike if old.get(leaf.path) is None]
    elif is_kept:
        alike = [leaf for leaf in alike if claimed_fields.adds_to_name(claim, leaf, reads.participles)]
    may_move = changed if claimed_fields.is_negative(claim) else told
    moved = [leaf for leaf in may_move if not is_code(leaf) and claimed_fields.has_changed_by(claim, leaf, old)]
    found = alike or moved
    return found[0] if found and len({leaf.path[-1] for leaf in found}) == 1 else None


def _find_new_record(reads: _ComparedReads) -> ProofFinding:
    """What the records show that did not exist before; ``miscount`` if they are not as many as the equal rows."""
    if reads.evidence.before is None:
        return ProofFinding()
    inside = reads.after.within if reads.words.may_make_record else ()
    new = [node for node in (*reads.telling_records, *inside) if reads.earlier.find_earlier(node) is None]
    made = [_compare_new_record(reads, node) for node in new]
    shown = next((found.shown for found in made if found.shown), ())
    counted = max(made, key=lambda found: found.miscount, default=ProofFinding())
    return ProofFinding(shown=shown, miscount=counted.miscount, wanted=counted.wanted)


def _compare_new_record(reads: _ComparedReads, node: RecordNode) -> ProofFinding:
    """A new record proves the write if exactly one more record than before has the call's fields; of equal rows, one
    more for each.
    """
    evidence = reads.evidence
    heard = node.record_id is not None and str(node.record_id) in dumps(evidence.result)
    compared = _compare_record(reads, node, None, with_answer=heard)
    own_ids = [key for key in node.record if is_id_name(key) and key not in evidence.asked]
    if not own_ids and node.record_id is None and set(compared.new) <= set(evidence.asked):
        return ProofFinding()  # a filter that is repeated
    leaves = find_leaves(node.record)
    named_leaves = [(one, find_leaf_for_claim(one, leaves)) for one in reads.claims if is_id_name(one.name)]
    ids = [(claim, leaf) for claim, leaf in named_leaves if leaf is not None and has_claimed_value(claim, leaf)]
    related = len(ids) > 1 and reads.words.may_make_record
    if compared.denied or compared.differs or not (compared.new or related):
        return ProofFinding()
    fields = {leaf.path: leaf.value for leaf in (*compared.new.values(), *(leaf for _, leaf in ids))}
    own = node.record_id if reads.is_named_by_call(node) else None
    now, then = (_count_with_fields(side, fields, own) for side in (reads.after, reads.before))
    wanted = reads.count_rows_with({*compared.new, *(claim.name for claim, _ in ids)}, node)
    if now - then != wanted:
        return ProofFinding(miscount=max(now - then, 0), wanted=wanted)
    return ProofFinding(shown=_describe_fields(compared.new) or [f"{claim.name}={claim.value}" for claim, _ in ids])


def _count_with_fields(subjects: CallSubjects, fields: ValuesByPath, own: Json) -> int:
    """How many records have these fields, and this own id, if it is not None."""
    nodes = [
        node for node in (*subjects.direct, *subjects.within) if own is None or shows_same_value(node.record_id, own)
    ]
    shown = [{leaf.path: leaf.value for leaf in find_leaves(node.record)} for node in nodes]
    return sum(all(shows_same_value(each.get(path), value) for path, value in fields.items()) for each in shown)


def _find_participle_fields(reads: _ComparedReads) -> ProofFinding:
    """Fields that changed to a participle of the tool's verb: "approved"."""
    for changed, _ in _fields_changed_by_call(reads):
        if fields := {leaf.name: leaf for leaf in changed if verb_states.has_participle(leaf, reads.participles)}:
            return ProofFinding(shown=_describe_fields(fields))
    return ProofFinding()


def _find_new_state(reads: _ComparedReads) -> ProofFinding:
    """For a call that names a record and sets no field: a status field that changed."""
    if not all(is_id_name(claim.name) for claim in reads.claims):
        return ProofFinding()
    said = {claim.name: claim for claim in reads.answer_claims if not may_be_request_status(claim.value)}
    for changed, _ in _fields_changed_by_call(reads):
        told = [leaf for leaf in changed if has_claimed_value(said.get(leaf.name, leaf), leaf)]
        if any(verb_states.says_opposite(leaf, reads.words.verb) for leaf in changed):
            continue
        if fields := {leaf.name: leaf for leaf in told if verb_states.is_new_state(leaf, reads.words.verb)}:
            return ProofFinding(shown=_describe_fields(fields))
    return ProofFinding()


def _find_switched_field(reads: _ComparedReads) -> ProofFinding:
    """For a call with ids and texts alone: the one field that the verb switches, if no status says that it failed."""
    if any(kind_of_argument(one.name, {}, one.value) not in _SETS_NOTHING for one in reads.claims):
        return ProofFinding()
    for changed, old in _fields_changed_by_call(reads):
        switches = [leaf for leaf in changed if isinstance(leaf.value, bool)]
        if len(switches) != 1 or any(map(verb_states.says_undone, changed)):
            continue
        if isinstance(old.get(switches[0].path), bool) and verb_states.is_switched(switches[0], reads.words):
            return ProofFinding(shown=_describe_fields({switches[0].name: switches[0]}))
    return ProofFinding()


def _fields_changed_by_call(reads: _ComparedReads) -> Iterator[tuple[list[Leaf], ValuesByPath]]:
    """Each earlier record's changed fields and former values, unless a field that the call sets got another value."""
    for node in reads.after.direct:
        earlier = reads.earlier.find_earlier(node)
        if earlier is None or reads.is_about_other_row(node) or reads.is_beside_named_item(node):
            continue
        old, changed = find_changes(reads.relevant_leaves(node), earlier)
        if not any(got_another_value(claim, changed, old, reads.participles) for claim in reads.claims):
            yield changed, old


def _describe_fields(fields: Mapping[str, Leaf]) -> list[str]:
    return [f"{'.'.join(leaf.names)}={leaf.value}" for leaf in fields.values()][:6]
