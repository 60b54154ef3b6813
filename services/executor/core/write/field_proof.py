"""Proves a write by comparing the reads before and after it, record by record, with the fields that the call set (I4).

``_prove_row`` lists the rules; each is a function further down, in the same order.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from services.executor.core.figures.arguments import ArgumentKind, kind_of_argument
from services.executor.core.figures.columns import shows_same_value
from services.executor.core.figures.numbers import read_figure
from services.executor.core.records.argument_rows import arguments_by_row
from services.executor.core.records.seen_records import may_be_request_status
from services.executor.core.tools.classes import EDIT_VERBS, list_verb_participles, strip_batch_word, words_of_tool
from services.executor.core.tools.failures import echoes_call
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import (
    Leaf,
    RecordNode,
    ValuesByPath,
    find_leaves,
    find_record_nodes,
    is_id_name,
)
from services.executor.core.write import claimed_fields, verb_states
from services.executor.core.write.claimed_fields import (
    find_leaf_for_claim,
    has_claimed_value,
    has_value_of,
    is_amount_or_count,
    is_list_of_claim,
    is_status_or_identifier,
    shows_another_value,
)
from services.executor.core.write.record_match import (
    CallSubjects,
    EarlierStateIndex,
    RecordsOfAnswer,
    find_changes,
    find_subjects,
    identifiers_in,
)
from shared.contracts.plan import ReadBack
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object

_DELETION_VERBS = frozenset("delete purge destroy erase wipe drop".split())
_KINDS_THAT_SET_NO_FIELD = (ArgumentKind.IDENTIFIER, ArgumentKind.FREE_TEXT)


class WriteEvidence(NamedTuple):
    """What is known of one write.

    ``expect``: the fields that the operator expects; ``result``: the answer, None if none came. ``reader``: the tool of
    the read-back, empty without one; ``read_arguments``: its arguments; ``before``, ``after``: what it showed, None if
    nothing was read. ``row_reads``: the reads of a call whose rows have one each; ``before`` and ``after`` are then
    lists, with an entry for each different read. ``row_field_names``: of one row, the fields that only it sets.
    """

    tool: str
    arguments: JsonObject
    expect: JsonObject
    before: Json
    result: Json
    after: Json
    read_arguments: JsonObject
    reader: str
    row_reads: Sequence[ReadBack] = ()
    row_field_names: frozenset[str] = frozenset()

    def split_rows(self) -> Sequence["WriteEvidence"]:
        """The evidence of each row of the call: with its own read, or with the one read that shows all rows."""
        rows = [self._restrict_to_row(row) for row in arguments_by_row(self.tool, self.arguments)]
        if not self.row_reads:
            return rows
        if len(rows) != len(self.row_reads):  # the call has other rows since a value came from a result
            return [self._replace(before=None, after=None, row_reads=())]
        reads = [*dict.fromkeys(self.row_reads)]
        return [row._restrict_to_read(reads.index(read), read) for row, read in zip(rows, self.row_reads, strict=True)]

    def _restrict_to_row(self, row: JsonObject) -> "WriteEvidence":
        row_fields: JsonObject = {key: value for key, value in row.items() if self.arguments.get(key) != value}
        return self._replace(arguments=row, row_field_names=frozenset(leaf.name for leaf in find_leaves(row_fields)))

    def _restrict_to_read(self, place: int, read: ReadBack) -> "WriteEvidence":
        return self._replace(
            before=self.before[place] if isinstance(self.before, list) else None,
            after=self.after[place] if isinstance(self.after, list) else None,
            read_arguments=loads_object(read.arguments_json),
            reader=read.tool,
            row_reads=(),
        )


class ProofFinding(NamedTuple):
    """What the reads show of one row of a write.

    ``shown``: the proof, as texts such as ``status=closed``; empty if it is not proved.
    ``shown_before``: the fields that the call set, as such texts, if all had their values before the call.
    ``miscount``: how many more records than before show the row, if that is not the ``expected_count``; else 0.
    ``shows_other_values``: the reads deny the write: a field has another value than the call set (``other_values``, as
    such texts), or a record to be made is absent, or one to be deleted is present. ``is_unchanged``: the record with
    the other values is as it was before the call.
    """

    shown: Sequence[str] = ()
    shown_before: Sequence[str] = ()
    miscount: int = 0
    expected_count: int = 1
    shows_other_values: bool = False
    other_values: Sequence[str] = ()
    is_unchanged: bool = False


RowProof: TypeAlias = tuple[WriteEvidence, ProofFinding]


def prove_rows(evidence: WriteEvidence) -> Sequence[RowProof]:
    """``(evidence, finding)`` of each row of the call. A call whose rows name no records counts as one row."""
    return [(row.evidence, _prove_row(row)) for row in _compare_reads_by_row(evidence)]


def _compare_reads_by_row(evidence: WriteEvidence) -> Sequence["_ComparedReads"]:
    rows_of_call = evidence.split_rows()
    reads = {(id(row.before), id(row.after)): (row.before, row.after) for row in rows_of_call}
    shared_records = {key: _RecordsOfBothReads.of_reads(before, after) for key, (before, after) in reads.items()}
    rows = [_ComparedReads(row, shared_records[id(row.before), id(row.after)]) for row in rows_of_call]
    for row in rows:
        row.set_other_rows([other for other in rows if other is not row and other.evidence.after is row.evidence.after])
    return rows


def _prove_row(reads: "_ComparedReads") -> ProofFinding:
    """The finding of the first rule that proves the row; else what the reads show against it."""
    rules: Sequence[Callable[[_ComparedReads], ProofFinding]] = (
        _prove_by_removed_records,  # delete_order(O-1): O-1 was there, and is there no more
        _prove_by_removed_values,  # remove_tag(C-1, urgent): the tags of C-1 had it, and have it no more
        _prove_by_changed_records,  # set_limit(C-1, 50): C-1 shows limit=50, and showed something else
        _prove_by_new_record,  # book_room(R-1, Monday): exactly one more booking than before shows R-1 and Monday
        _prove_by_changed_state,  # approve_claim(C-1): a field that the call does not set became "approved"
    )
    findings = list[ProofFinding]()
    for rule in rules:
        findings.append(rule(reads))
        if findings[-1].shown:
            return findings[-1]
    last_count = next((finding for finding in reversed(findings) if finding.miscount), ProofFinding())
    return last_count._replace(
        shown_before=next((finding.shown_before for finding in findings if finding.shown_before), ()),
        shows_other_values=any(finding.shows_other_values for finding in findings) or _is_effect_missing(reads),
        other_values=next((finding.other_values for finding in findings if finding.other_values), ()),
        is_unchanged=any(finding.is_unchanged for finding in findings),
    )


def is_shown_before(evidence: WriteEvidence) -> bool:
    """Whether the read before the call shows all that some row sets, or the status that the tool's verb leads to."""
    if evidence.before is None:
        return False
    rows = _compare_reads_by_row(evidence._replace(result=None, after=evidence.before))
    if any(_prove_row(reads).shown_before for reads in rows):
        return True
    for reads in rows:
        reads.set_other_rows(())  # a state that any row's verb leads to counts, whichever row it belongs to
    leaves = (
        (reads, leaf) for reads in rows for node in reads.after.direct for leaf in reads.list_relevant_leaves(node)
    )
    return any(
        verb_states.has_participle(leaf, reads.participles) or verb_states.has_value_after_verb(leaf, reads.words)
        for reads, leaf in leaves
    )


class _RecordsOfBothReads(NamedTuple):
    """All records of a read before and one after, paired by ``earlier``; shared by all rows that these reads show."""

    before: RecordsOfAnswer
    after: RecordsOfAnswer
    earlier: EarlierStateIndex

    @classmethod
    def of_reads(cls, before: Json, after: Json) -> "_RecordsOfBothReads":
        records_before = RecordsOfAnswer(before)
        records_after = records_before if after is before else RecordsOfAnswer(after)
        return cls(records_before, records_after, EarlierStateIndex(records_before.nodes, records_after.nodes))


class _ComparedReads:
    """The reads of one row of a write, prepared for the rules. ``before``, ``after``: the records of each read that the
    call is about; ``all_records``: the others, too.

    ``claims``: the fields that the call sets, or the operator expects; ``answer_claims``: the fields of the answer that
    tell what was written; ``exact_names``: names of fields that the call gives as a value (``field="status"``), so that
    no other field is meant; ``telling_records``: records that the call is about and that have more than the read's own
    arguments; ``other_rows``: the other rows of the call that the same read shows.
    """

    def __init__(self, evidence: WriteEvidence, all_records: _RecordsOfBothReads) -> None:
        self.evidence = evidence
        self.all_records = all_records
        self.earlier = all_records.earlier
        self.other_rows: Sequence[_ComparedReads] = ()
        self._values_of_other_rows = set[str]()
        self.words = words_of_tool(strip_batch_word(evidence.tool))
        self.words_of_edit = frozenset(words_of(evidence.tool) if self.words.verb in EDIT_VERBS else ())
        self.participles = list_verb_participles(strip_batch_word(evidence.tool))
        self.ids = identifiers_in(evidence.arguments)
        leaves_by_name = claimed_fields.fields_of_name_value_pairs(evidence.arguments)
        leaves = [*find_leaves(evidence.arguments), *find_leaves(evidence.expect)]
        self.claims = [*(leaf for leaf in leaves if leaf.value is not None), *leaves_by_name]
        value_names = claimed_fields.NAMES_FOR_A_VALUE if leaves_by_name else ()
        self.exact_names = frozenset((*value_names, *(leaf.name for leaf in leaves_by_name)))
        is_echo = echoes_call(evidence.tool, evidence.result)
        first_record = [] if is_echo else find_record_nodes(evidence.result)[:1]
        answer_leaves = (leaf for node in first_record for leaf in find_leaves(node.record))
        self.answer_claims = [*filter(claimed_fields.is_informative_field, answer_leaves)]
        self.before = self._find_subjects_in_read(evidence.before, all_records.before)
        is_same = evidence.after is evidence.before
        self.after = self.before if is_same else self._find_subjects_in_read(evidence.after, all_records.after)
        self.telling_records = [node for node in self.after.direct if not self.only_repeats_arguments(node)]
        self.row_own_values = {str(claim.value) for claim in self.claims if claim.name in evidence.row_field_names}
        self._items = {str(value) for value in (*self.ids.values(), *(claim.value for claim in self.claims))}

    def list_relevant_leaves(self, node: RecordNode) -> list[Leaf]:
        """The fields of the record itself, and of those items in it that the call names.

        Of a call for several records, the items are those that this row names, and never those that another row names.
        """
        claimed_items = [claim.items for claim in self.claims if claim.items]
        leaves = [leaf for leaf in find_leaves(node.record) if leaf.items <= self._items or leaf.items in claimed_items]
        return [leaf for leaf in leaves if self._values_of_other_rows.isdisjoint(leaf.path)]

    def is_named_by_call(self, node: RecordNode) -> bool:
        return any(shows_same_value(node.record_id, value) for value in self.ids.values())

    def set_other_rows(self, rows: Sequence["_ComparedReads"]) -> None:
        self.other_rows = rows
        self._values_of_other_rows = {value for row in rows for value in row.row_own_values} - self.row_own_values

    def is_about_other_row(self, node: RecordNode) -> bool:
        """Whether another row is about the record, too: a change of the record does not tell which row made it."""
        return any(subject.record is node.record for row in self.other_rows for subject in row.after.direct)

    def is_named_item(self, node: RecordNode) -> bool:
        """Whether the call names both the record and the one around it by a field: a line by ``order=7, line=2``."""
        records = (node, *node.outer_records[-1:])
        return len(records) > 1 and all(any(has_value_of(each, claim) for claim in self.claims) for each in records)

    def is_other_than_named_item(self, node: RecordNode) -> bool:
        """Whether the call means another item of the record's list: by ``line=2``, which just one of the others has."""
        earlier = self.earlier.find_earlier_state(node)
        others = (other for other in self.before.direct if earlier is None or other.record is not earlier.record)
        neighbours = [other for other in others if other.place == node.place]
        claims = (claim for claim in self.claims if claim.name in node.record and not has_value_of(node, claim))
        return any(sum(has_value_of(other, claim) for other in neighbours) == 1 for claim in claims)

    def count_rows_with_same_values(self, names: Collection[str], node: RecordNode) -> int:
        """How many rows, with this one, are about the record or what is in it, and set the named fields alike; one if
        the call sets these fields for all rows.
        """
        if self.evidence.row_field_names.isdisjoint(names):
            return 1
        values, count = {claim.name: claim.value for claim in self.claims}, 1
        for row in self.other_rows:
            row_values = [(claim.name, claim.value) for claim in row.claims]
            is_about = any(subject.record is node.record for subject in (*row.after.direct, *row.after.within))
            count += is_about and all((name, values[name]) in row_values for name in names)
        return count

    def only_repeats_arguments(self, node: RecordNode) -> bool:
        """Whether a record has only the arguments of the read, which a server may repeat without knowing the record."""
        claim_names = {claim.name for claim in self.claims}
        unasked_fields = {key: value for key, value in node.record.items() if key not in self.evidence.read_arguments}
        if any(is_id_name(key) or key in claim_names for key in unasked_fields):
            return False
        return all(value in (None, "", [], {}) or isinstance(value, bool) for value in unasked_fields.values())

    def _find_subjects_in_read(self, content: Json, records: RecordsOfAnswer) -> CallSubjects:
        if isinstance(content, dict) and echoes_call(str(content.get("tool")), content):
            return CallSubjects((), ())
        return find_subjects(records, self.evidence.arguments, self.evidence.result, self.evidence.read_arguments)


def _is_effect_missing(reads: _ComparedReads) -> bool:
    """Whether what was to be made is not there, or what was to be deleted still is."""
    evidence, words = reads.evidence, reads.words
    if words.is_removal:
        ids = _ids_of_targets(reads).items() if words.verb in _DELETION_VERBS else ()
        nodes = (*reads.after.direct, *reads.after.within)
        return any(_has_id(node, name, value) for node in nodes for name, value in ids)
    if not words.may_make_record or reads.before.direct or not isinstance(evidence.after, list):
        return False
    return evidence.after == evidence.before or not evidence.after


def _prove_by_removed_records(reads: _ComparedReads) -> ProofFinding:
    """Proves a call that removes or withdraws: the read before has a record of one of its ids, the read after none."""
    evidence, words = reads.evidence, reads.words
    may_remove = words.is_removal or words.verb in verb_states.WITHDRAWAL_VERBS
    if evidence.before is None or evidence.after is None or not may_remove:
        return ProofFinding()
    targets = _ids_of_targets(reads) or (reads.ids if len(reads.ids) == 1 else {})
    nodes_before = (*reads.before.direct, *reads.before.within)
    # ``{"order_id": "O-1", "found": false}`` is no order, but a read that says now what it said before shows no change.
    records_before = {dumps(node.record) for node in nodes_before}
    nodes_after = [
        node
        for node in reads.all_records.after.nodes
        if not reads.only_repeats_arguments(node) or dumps(node.record) in records_before
    ]
    proofs = list[str]()
    for name, value in targets.items():
        was_there, is_there = (
            any(_has_id(node, name, value) for node in nodes) for nodes in (nodes_before, nodes_after)
        )
        if was_there and not is_there:
            proofs.append(f"{name} {value} is there no more")
    return ProofFinding(shown=proofs)


def _ids_of_targets(reads: _ComparedReads) -> Mapping[str, Json]:
    """Those ids of the call, by name, whose names tell of what the tool is about: ``order_id`` for ``delete_order``."""
    nouns = reads.words.nouns
    return {
        name: value
        for name, value in reads.ids.items()
        if name.lower() == "id" or not nouns.isdisjoint(words_of_tool(f"x_{name}").nouns)
    }


def _has_id(node: RecordNode, name: str, value: Json) -> bool:
    return shows_same_value(node.record.get(name) if node.record_id is None else node.record_id, value)


def _prove_by_removed_values(reads: _ComparedReads) -> ProofFinding:
    """Proves a call that removes: a field or list of its record had a value of the call, and has it no more."""
    evidence, proofs = reads.evidence, list[str]()
    if evidence.before is None or evidence.after is None or not reads.words.is_removal:
        return ProofFinding()
    claims = find_leaves(evidence.arguments)
    earlier_records = EarlierStateIndex(reads.before.direct, reads.after.direct)
    for node in reads.after.direct:
        earlier = earlier_records.find_earlier_state(node)
        leaves_after = {leaf.path: leaf for leaf in find_leaves(node.record)}
        for leaf, claim in product(find_leaves(earlier.record) if earlier else (), claims):
            is_of_claim = leaf.name == claim.name or is_list_of_claim(claim, leaf)
            leaf_after = leaves_after.get(leaf.path)
            has_value_after = leaf_after is not None and has_claimed_value(claim, leaf_after)
            if is_of_claim and has_claimed_value(claim, leaf) and not has_value_after:
                proofs.append(f"{leaf.name} has {claim.value} no more")
    return ProofFinding(shown=proofs)


def _prove_by_changed_records(reads: _ComparedReads) -> ProofFinding:
    """``set_limit(C-1, 50)`` is proved if C-1 shows limit=50 now, and did not before, and no field denies it.

    Compares the records that were there before; an unchanged one only if the call means it (it is the only one, or has
    an id of the call). Without a read before, only a record that the call means proves it, or for a row the one
    line that has the row's values; and a row is proved only by a field that it sets itself. Without proof it says
    whether a record showed all of it before, and which other values one shows.
    """
    is_read, row_names = reads.evidence.before is not None, reads.evidence.row_field_names
    made_line = [] if is_read or not row_names else _find_made_row(reads)
    nodes = made_line or reads.telling_records
    shown_before: Sequence[str] = ()
    other_values: Sequence[str] = ()
    is_unchanged = False
    for node in nodes:
        earlier = reads.earlier.find_earlier_state(node)
        is_meant = len(nodes) == 1 or reads.is_named_by_call(node)
        is_another = earlier is not None and earlier.record == node.record and not is_meant
        if (earlier is None and is_read) or is_another or reads.is_other_than_named_item(node):
            continue
        compared = _compare_record(reads, node, earlier, with_answer=True)
        is_shown = is_read or (is_meant and not (row_names and row_names.isdisjoint(compared.new)))
        if compared.new and not (compared.other or compared.has_other_amount) and is_shown:
            return ProofFinding(shown=_describe_fields(compared.new))
        if compared.other and not (compared.new or other_values):
            other_values = _describe_fields(compared.other)
            is_unchanged = earlier is not None and earlier.record == node.record
        if not (compared.other or compared.new):
            shown_before = shown_before or _describe_fields(compared.shown_before)
    return ProofFinding(
        shown_before=shown_before,
        shows_other_values=bool(other_values),
        other_values=other_values,
        is_unchanged=is_unchanged,
    )


def _find_made_row(reads: _ComparedReads) -> Sequence[RecordNode]:
    """The one record inside others that has all values which only this row sets, merged with those around it; an empty
    list if none or several have them, or if another row of the call is equal.
    """
    row_claims = [claim for claim in reads.claims if claim.name in reads.evidence.row_field_names]
    items = (node for node in (*reads.after.direct, *reads.after.within) if node.outer_records)
    lines = [
        {key: value for record in (*node.outer_records, node) for key, value in record.record.items()}
        for node in items
        if any(claim.name in node.record for claim in row_claims)
    ]
    lines = [line for line in lines if all(shows_same_value(line.get(claim.name), claim.value) for claim in row_claims)]
    is_repeated = any(row.evidence.arguments == reads.evidence.arguments for row in reads.other_rows)
    return [] if is_repeated or len(lines) != 1 else [RecordNode(lines[0], (), None, ())]


class _ComparedRecord(NamedTuple):
    """How one record shows the fields that the call set, ``{name in the call: field of the record}``: those ``new``
    since the call; those ``shown_before``, too, if no field is missing; ``other``: those that have another value.

    ``has_other_amount``: an amount, a day or an account is not shown, and a field that was empty has another one.
    """

    new: Mapping[str, Leaf]
    shown_before: Mapping[str, Leaf]
    other: Mapping[str, Leaf]
    has_other_amount: bool


def _compare_record(
    reads: _ComparedReads, node: RecordNode, earlier: RecordNode | None, *, with_answer: bool
) -> _ComparedRecord:
    """Compares every field that the call set with the record now and before.

    ``with_answer``: whether what the answer said counts, if no field that the call set shows the write.
    """
    leaves = reads.list_relevant_leaves(node)
    old_values, changed = find_changes(leaves, earlier)
    filled = [leaf for leaf in changed if old_values.get(leaf.path) is None]
    new: dict[str, Leaf] = {}
    shown_before: dict[str, Leaf] = {}
    other: dict[str, Leaf] = {}
    lacks_field = has_other_amount = False
    for claim in (claim for claim in reads.claims if not claimed_fields.is_id_of(claim, node)):
        lists = (leaf for leaf in leaves if is_list_of_claim(claim, leaf))
        own_leaf = find_leaf_for_claim(claim, leaves) or next(lists, None)
        leaf = claimed_fields.find_leaf_showing_claim(claim, own_leaf, changed, reads.words_of_edit)
        if earlier is not None and (leaf is None or (leaf not in changed and is_amount_or_count(claim))):
            leaf = _find_claim_by_value(reads, claim, node, own_leaf, changed, old_values) or leaf
        is_id = is_id_name(claim.name)
        if leaf is None:
            lacks_field = True
            has_other_amount |= not is_id and shows_another_value(claim, filled, old_values, reads.participles)
            # A mere ``id`` under which the record has another refers elsewhere, and denies nothing; nor do another
            # record's unchanged fields where the call may make one.
            may_stay = reads.words.may_make_record and own_leaf not in changed
            if own_leaf is not None and claim.name.lower() != "id" and not may_stay:
                other[claim.name] = own_leaf
            continue
        was_shown = leaf.path in old_values and has_claimed_value(claim, leaf._replace(value=old_values[leaf.path]))
        was_shown &= has_claimed_value(claim, leaf) or not read_figure(leaf.value)  # not 900 more, which are 1800
        if not was_shown and not (is_id and earlier is None):
            new[claim.name] = leaf
        elif was_shown and not is_id:
            shown_before[claim.name] = leaf
    if with_answer and not (new or other or reads.is_about_other_row(node)):
        leaves_by_claim = ((claim, find_leaf_for_claim(claim, changed)) for claim in reads.answer_claims)
        new = {
            claim.name: leaf for claim, leaf in leaves_by_claim if leaf is not None and has_claimed_value(claim, leaf)
        }
    return _ComparedRecord(new, {} if lacks_field else shown_before, other, has_other_amount)


def _find_claim_by_value(
    reads: _ComparedReads,
    claim: Leaf,
    node: RecordNode,
    own_leaf: Leaf | None,
    changed: Sequence[Leaf],
    old_values: ValuesByPath,
) -> Leaf | None:
    """The changed field that shows the claim under another name; None if there is none, or several.

    For ``amount=30`` it is ``paid``, which is 30 now, or else ``balance``, which was 100 and is 70. A field of a new
    item that is known by the claimed value comes first, and is all that counts for an id, or if another row is about
    the record. If the claim's own field (``own_leaf``) kept its value, a text or day counts only under a name that adds
    to the claim's (``next_plan``), a figure only in a field that was empty or changed by it. None if only the own field
    may show the claim: if the call gives its name as a value, or for a figure that an edit sets, or that was kept and
    is no amount or count; and None if the claim names an item (``line=2``).
    """
    is_figure, is_measure = read_figure(claim.value) is not None, is_amount_or_count(claim)
    is_own = own_leaf is not None and own_leaf.name == claim.name
    is_kept = is_own and own_leaf not in changed
    is_set_there = is_figure and ((is_own and reads.words.verb in EDIT_VERBS) or (is_kept and not is_measure))
    if claim.name in reads.exact_names or is_set_there:
        return None
    text = str(claim.value)
    new_item = [] if any(text in path for path in old_values) else [leaf for leaf in changed if text in leaf.path]
    if new_item:
        return new_item[0]
    if reads.is_about_other_row(node) or is_id_name(claim.name):
        return None
    if any(has_value_of(nested, claim) for nested in find_record_nodes(node.record)[1:]):  # ``line=2`` names a line
        return None
    is_telling = claimed_fields.is_distinctive(claim.value) or reads.is_named_item(node)
    telling = [leaf for leaf in changed if leaf.items or is_telling]
    equal = [
        leaf
        for leaf in telling
        if has_claimed_value(claim, leaf) and not (is_measure and is_status_or_identifier(leaf))
    ]
    if is_kept and is_figure:
        equal = [leaf for leaf in equal if old_values.get(leaf.path) is None]
    elif is_kept:
        equal = [leaf for leaf in equal if claimed_fields.has_extended_name(claim, leaf, reads.participles)]
    may_move = [
        leaf
        for leaf in (changed if claimed_fields.is_negative(claim) else telling)
        if not is_status_or_identifier(leaf)
    ]
    leaves = equal or [leaf for leaf in may_move if claimed_fields.has_changed_by_claim(claim, leaf, old_values)]
    return leaves[0] if len({leaf.path[-1] for leaf in leaves}) == 1 else None


def _prove_by_new_record(reads: _ComparedReads) -> ProofFinding:
    """Proves a call by a record that was not there before (``_compare_new_record``), or gives the worst miscount."""
    if reads.evidence.before is None:
        return ProofFinding()
    nested = reads.after.within if reads.words.may_make_record else ()
    new = [node for node in (*reads.telling_records, *nested) if reads.earlier.find_earlier_state(node) is None]
    findings = [_compare_new_record(reads, node) for node in new]
    shown_leaves = next((finding.shown for finding in findings if finding.shown), ())
    counted = max(findings, key=lambda finding: finding.miscount, default=ProofFinding())
    return ProofFinding(shown=shown_leaves, miscount=counted.miscount, expected_count=counted.expected_count)


def _compare_new_record(reads: _ComparedReads, node: RecordNode) -> ProofFinding:
    """A new record proves the write if it shows fields of the call, or two of its ids, and denies none, and if one more
    record than before shows these: of equal rows of the call, as many more as there are rows.
    """
    evidence = reads.evidence
    is_in_answer = node.record_id is not None and str(node.record_id) in dumps(evidence.result)
    compared = _compare_record(reads, node, None, with_answer=is_in_answer)
    own_ids = [key for key in node.record if is_id_name(key) and key not in evidence.read_arguments]
    if not own_ids and node.record_id is None and set(compared.new) <= set(evidence.read_arguments):
        return ProofFinding()  # a filter that is repeated
    leaves = find_leaves(node.record)
    named_leaves = [(claim, find_leaf_for_claim(claim, leaves)) for claim in reads.claims if is_id_name(claim.name)]
    ids = [(claim, leaf) for claim, leaf in named_leaves if leaf is not None and has_claimed_value(claim, leaf)]
    relates_records = len(ids) > 1 and reads.words.may_make_record
    if compared.other or compared.has_other_amount or not (compared.new or relates_records):
        return ProofFinding()
    field_values = {leaf.path: leaf.value for leaf in (*compared.new.values(), *(leaf for _, leaf in ids))}
    own_id = node.record_id if reads.is_named_by_call(node) else None
    after, before = (_count_with_fields(nodes, field_values, own_id) for nodes in (reads.after, reads.before))
    expected_count = reads.count_rows_with_same_values({*compared.new, *(claim.name for claim, _ in ids)}, node)
    if after - before != expected_count:
        return ProofFinding(miscount=max(after - before, 0), expected_count=expected_count)
    return ProofFinding(shown=_describe_fields(compared.new) or [f"{claim.name}={claim.value}" for claim, _ in ids])


def _count_with_fields(subjects: CallSubjects, field_values: ValuesByPath, own_id: Json) -> int:
    """How many of the subjects have these values by path and, unless it is None, this own id."""
    count = 0
    for node in (*subjects.direct, *subjects.within):
        values = {leaf.path: leaf.value for leaf in find_leaves(node.record)}
        has_fields = all(shows_same_value(values.get(path), value) for path, value in field_values.items())
        count += has_fields and (own_id is None or shows_same_value(node.record_id, own_id))
    return count


def _prove_by_changed_state(reads: _ComparedReads) -> ProofFinding:
    """Proves a call by fields that it does not set, and that its verb leads to."""
    for find_fields in (_find_participle_fields, _find_new_states, _find_switched_booleans):
        for changed, old_values in _fields_changed_by_call(reads):
            if leaves := {leaf.name: leaf for leaf in find_fields(reads, changed, old_values)}:
                return ProofFinding(shown=_describe_fields(leaves))
    return ProofFinding()


def _find_participle_fields(reads: _ComparedReads, changed: Sequence[Leaf], _: ValuesByPath) -> Sequence[Leaf]:
    """The fields that changed to a participle of the tool's verb: "approved"."""
    return [leaf for leaf in changed if verb_states.has_participle(leaf, reads.participles)]


def _find_new_states(reads: _ComparedReads, changed: Sequence[Leaf], _: ValuesByPath) -> Sequence[Leaf]:
    """For a call of ids alone, such as ``submit_claim(C-1)``: the status that changed to one to which the verb may
    lead, and which the answer allows: "filed".
    """
    verb = reads.words.verb
    sets_fields = not all(is_id_name(claim.name) for claim in reads.claims)
    if sets_fields or any(verb_states.says_opposite(leaf, verb) for leaf in changed):
        return ()
    answer_claims = {claim.name: claim for claim in reads.answer_claims if not may_be_request_status(claim.value)}
    confirmed = [leaf for leaf in changed if has_claimed_value(answer_claims.get(leaf.name, leaf), leaf)]
    return [leaf for leaf in confirmed if verb_states.may_be_status_after_verb(leaf, verb)]


def _find_switched_booleans(reads: _ComparedReads, changed: Sequence[Leaf], old_values: ValuesByPath) -> Sequence[Leaf]:
    """For a call of ids and texts alone, such as ``release_hold(H-1)``: the one truth value that the verb switches,
    such as ``active``, if no status tells of failure.
    """
    sets_fields = any(
        kind_of_argument(claim.name, {}, claim.value) not in _KINDS_THAT_SET_NO_FIELD for claim in reads.claims
    )
    switches = [leaf for leaf in changed if isinstance(leaf.value, bool)]
    if sets_fields or len(switches) != 1 or any(map(verb_states.says_failed_or_waiting, changed)):
        return ()
    was_switch = isinstance(old_values.get(switches[0].path), bool)
    return switches if was_switch and verb_states.has_value_after_verb(switches[0], reads.words) else ()


def _fields_changed_by_call(reads: _ComparedReads) -> Iterator[tuple[list[Leaf], ValuesByPath]]:
    """Yields, of each record that was there before, its changed fields and its former values by path; not of one that
    another row is about, too, or in which a field of the call got another value.
    """
    for node in reads.after.direct:
        earlier = reads.earlier.find_earlier_state(node)
        if earlier is None or reads.is_about_other_row(node) or reads.is_other_than_named_item(node):
            continue
        old_values, changed = find_changes(reads.list_relevant_leaves(node), earlier)
        if not any(shows_another_value(claim, changed, old_values, reads.participles) for claim in reads.claims):
            yield changed, old_values


def _describe_fields(leaves_by_name: Mapping[str, Leaf]) -> list[str]:
    return [f"{'.'.join(leaf.names)}={leaf.value}" for leaf in leaves_by_name.values()][:6]
