"""Which of the records that were read the user mentions: by an id, a name, or the value of a field."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property

from services.executor.core.figures.arguments import ArgumentKind
from services.executor.core.figures.dates import read_machine_moment
from services.executor.core.figures.identifiers import (
    IdentifierKind,
    blank_special_identifiers,
    find_special_identifiers,
    kind_of_identifier,
)
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import looks_like_id_text, number_bearing_tokens, read_figure
from services.executor.core.figures.trace import ArgumentTrace, OriginKind, TraceSources
from services.executor.core.figures.vocabulary import (
    leaves_choice_open,
    leaves_others_open,
    spaced_words,
    without_legal_form,
)
from services.executor.core.plan.exceptions import FILLER_WORDS, LOOKED_BACK, is_named_as_exception, text_before_list
from services.executor.core.plan.faults import THE_WHOLE, PartContext, field_name_of
from services.executor.core.records.record_graph import GraphNode, RecordGraph, build_record_graph
from services.executor.core.records.references import argument_at
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    are_same_kind,
    id_pattern_of,
    names_own_record,
    noun_of_tool,
    occurs_in,
    reference_of,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys, find_leaves, is_id_name
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object, walk_json

NAMING = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.RECIPIENT})
_RANGE = re.compile(
    r"(?<![\w/-])([\w/-]*\d)\s+(?:to|through|thru|until|bis|à|a|hasta)\s+([\w/-]*\d)(?![\w/-]|[.,]\d\d)", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_WORD_FOR_NUMBER = re.compile(r"([^\W\d_]+)\s*(?:\b(?:no|nr|num|number|id)\b\.?\s*)?#?\s*$", re.IGNORECASE)
_ADDRESSES = frozenset({IdentifierKind.EMAIL, IdentifierKind.PHONE})
_FORM_WORDS = 3  # at most, of a legal form: "Sp. z o.o."
_DESCRIBES = re.compile(r"descr|designation|label|bezeichnung", re.IGNORECASE)  # a field by its name
_SENTENCE_ENDS = frozenset(".!?")
_PLAIN_ID_DIGITS = 4  # digits of a number that a text can name a record by


class MentionedRecords:
    """The records that were read, as the user mentions them. ``user_texts``: the user's own words, the task first.

    Made for one reply of the model: each text is searched only once.
    """

    def __init__(
        self, facts: Sequence[Fact], user_texts: Sequence[str], sources: TraceSources, keys: RecordKeys = NO_KEYS
    ) -> None:
        self._facts, self._told, self._sources, self._keys = facts, user_texts, sources, keys
        self._meant_by_text: dict[str, Sequence[GraphNode]] = {}  # records by the words that name them
        self._mentioned_by_text: dict[str, Sequence[tuple[GraphNode, Set[tuple[str, str]]]]] = {}

    def names_unmentioned_record(self, leaf: ArgumentTrace, call: PlannedCall, tool: Tool, part: PartContext) -> bool:
        """Whether a change names a record that the user does not mention, while another one of its kind is meant.

        Another one is meant where the user names it and the part does not ask to choose, or where several others were
        read.
        """
        value = argument_at(call.arguments, leaf.path)
        if leaf.kind is ArgumentKind.ACCOUNT and leaf.origin is OriginKind.FACT:
            return self._is_other_account_meant(as_text(value), call, part)
        is_naming = leaf.kind in NAMING or self._keys.kind_of(field_name_of(leaf.path)) != ()
        if leaf.origin is not OriginKind.FACT or not is_naming:
            return False
        if (
            kind_of_identifier(as_text(value)) in _ADDRESSES
            and not leaves_choice_open(part.quote)
            and self._is_address_of_unmentioned(value, part)
        ):
            return True
        is_range = self._names_range(part.quote)
        is_one = not (leaves_choice_open(part.quote) or is_range)
        if is_one and self._is_other_record_mentioned(as_text(value), call, part):
            return True
        if not (is_range or leaf.is_only_in_free_text) and self._is_other_id_written(as_text(value), part):
            return True
        named = reference_of(field_name_of(leaf.path), value, noun_of_tool(tool.name, self._keys), self._keys)
        calculated = {str(one).casefold() for one in self._sources.calculated.values()}
        if named is None or named.text in calculated:
            return False
        return self._is_other_of_kind_meant(named, call, part)

    def _is_other_of_kind_meant(self, named: RecordReference, call: PlannedCall, part: PartContext) -> bool:
        nodes = [node for node in self._nodes_read_by_model if node.names[0] and are_same_kind(named.noun, node.kind)]
        own = [node for node in nodes if named.text in node.names[0]]
        meant, is_range = self.list_meant_records(part), self._names_range(part.quote)
        given = {str(one).casefold() for one in call.arguments.values()}
        of_kind = [one for one in meant if are_same_kind(named.noun, one.kind) and named.text not in one.names[0]]
        is_open = self.leaves_records_open(part.quote, own) and not self._are_meant_alone(of_kind, part)
        if own and (is_open or is_range):
            chosen = (node for node in own if not any(node.identity == one.identity for one in meant))
            return any(self._belongs_to_unmentioned(node, meant, given) for node in chosen)
        is_one = not (leaves_choice_open(part.quote) or is_range)
        belongs_to_others = is_one and self._belongs_to_others(named, own, part)
        if own:
            others = self._drop_equally_meant(of_kind, own, part)
            return (belongs_to_others or bool(others)) and not any(self._is_mentioned(node, others) for node in own)
        held = (reference.text for one in meant if one.names[0].isdisjoint(given) for reference in one.references)
        if named.text in held:
            return False  # another record that the part names has it
        return belongs_to_others or len({node.identity for node in nodes}) > 1

    def _are_meant_alone(self, nodes: Sequence[GraphNode], part: PartContext) -> bool:
        """Whether the part names one of these records, which no call uses, and leaves no others open."""
        said, used = find_mentions(self._text_without_other_parts(part), self._sources.now), self._list_used_names(part)
        names = {name for node in nodes if used.isdisjoint(node.names[0]) for name in _names_in_text(node, said)}
        return bool(names) and not self._leaves_others_open(names, part)

    def _leaves_others_open(self, names: Set[str], part: PartContext) -> bool:
        """Whether the part, which has these names, leaves open which other records its calls are meant for."""
        called = self._list_called_nodes(part)
        about = {name for node in called for name in (*node.names[0], *_titles_of(node), *node.kind[-1:])}
        about |= {word for node in called for one in node.references for word in one.noun[-1:]}
        about |= {word for tool, _ in part.proposed_calls for word in words_of(tool)}
        return leaves_others_open(self._text_without_other_parts(part), names, about)

    def _list_called_nodes(self, part: PartContext) -> Sequence[GraphNode]:
        given = _texts_of_calls(part)
        return [node for node in self._graph.nodes if not given.isdisjoint(node.names[0])]

    def _list_used_names(self, part: PartContext) -> Set[str]:
        """The names that the calls have, and those to which the records in them refer."""
        return _texts_of_calls(part) | {one.text for node in self._list_called_nodes(part) for one in node.references}

    def _drop_equally_meant(
        self, others: Sequence[GraphNode], own: Sequence[GraphNode], part: PartContext
    ) -> Sequence[GraphNode]:
        """The records that may be meant instead of the call's ``own`` ones. If the part speaks of several, as in "the
        fees of S-1", without those that it names by the same words as the own ones.
        """
        if not others or not _has_plural_of_kind(part.quote, own[0].kind):
            return others
        said = find_mentions(self._text_without_other_parts(part), self._sources.now)
        ours = {one for node in own for one in _names_in_text(node, said)}
        return [one for one in others if not ours.issuperset(_names_in_text(one, said))]

    def find_ids_meant_instead(self, name: str, call: PlannedCall, part: PartContext) -> Set[str]:
        """The part's identifiers in the form of ``name``, if only another part has that one and the call uses none of
        this part's: B-6 for the call "A-2 to B-5", where the parts are "A-1 to B-5" and "A-2 to B-6". Else empty.
        """
        shape, text = id_pattern_of(name), self._text_without_other_parts(part)
        if not shape or occurs_in(name, text) or not any(occurs_in(name, other) for other in part.other_quotes):
            return frozenset()
        given = {as_text(one).casefold() for _, one in walk_json(call.arguments)}
        written = {token for token in number_bearing_tokens(text) if id_pattern_of(token) == shape}
        is_used = any(token.casefold() in given for token in written)
        return frozenset() if is_used or leaves_choice_open(part.quote) else written

    def _names_range(self, text: str) -> bool:
        """Whether the text names records from one to another in the same form: "A-4 to A-6", not "A-4 to 6 May", and of
        plain numbers "customers 4 to 6", not "customer 4 to 6".
        """
        ranges = [match for match in _RANGE.finditer(text) if _may_be_range(match[1], match[2])]
        if not ranges:
            return False
        said = find_mentions(text, self._sources.now)
        taken = {one.start for one in said.dates} | {one.start for one in said.numbers if one.unit or one.money}
        kinds = {node.kind[-1] for node in self._graph.nodes if node.kind}
        words = (_WORD_FOR_NUMBER.search(text, max(0, one.start() - LOOKED_BACK), one.start()) for one in ranges)
        return any(
            one.start(2) not in taken and not (one[1].isdecimal() and word and word[1].casefold() in kinds)
            for one, word in zip(ranges, words, strict=True)
        )

    def _is_other_record_mentioned(self, name: str, call: PlannedCall, part: PartContext) -> bool:
        """Whether the part has a value of another record of the kind, and none of this record's in its place."""
        text = self._text_without_other_parts(part)
        if occurs_in(name, " ".join(self._told)):
            return False
        own = [node for node in self._nodes_read_by_model if name.casefold() in node.names[0]]
        given = {as_text(one).casefold() for _, one in walk_json(call.arguments) if not isinstance(one, dict | list)}
        given |= {title.casefold() for one in [*given] for title in self.titles_by_id.get(one, ())}
        kinds, mine = {node.kind for node in own}, {key for node in own for key in _mentioned_values(node.record, text)}
        others = (
            (node, values - mine)
            for node, values in self._list_mentioned_records(text)
            if node.kind in kinds and name.casefold() not in node.names[0] and mine <= values
        )
        return any(
            value.casefold() not in given
            and (
                _is_quoted_whole(value, text)
                or not any(_is_mentioned_by_short_name(one, [node], (text,)) for one in own)
            )
            for node, values in others
            for _, value in values
        )

    def _is_other_id_written(self, name: str, part: PartContext) -> bool:
        """Whether the part has an identifier of the same pattern that no call uses, and the user does not mention this
        record: ``BA-5`` where the part has BA-6. Two records of which one refers to the other are mentioned together.
        """
        shape, text = id_pattern_of(name), self._text_without_other_parts(part)
        if not shape or self.is_in_user_texts(name):
            return False
        written = {
            token.casefold()
            for token in number_bearing_tokens(blank_special_identifiers(text))
            if id_pattern_of(token) == shape
        } - self._list_used_names(part)
        if not written or self.mentions_record(name) or self._leaves_others_open(written, part):
            return False
        return any(not any(is_named_as_exception(one, "id", said) for said in self.user_mentions) for one in written)

    def _is_other_account_meant(self, account: str, call: PlannedCall, part: PartContext) -> bool:
        """Whether the part writes out another account, or no record with this account is meant while another is."""
        if self.is_in_user_texts(account) or leaves_choice_open(part.quote):
            return False
        text = self._text_without_other_parts(part)
        form = kind_of_identifier(account)
        if form is IdentifierKind.IBAN and any(one.form is form for one in find_special_identifiers(text)):
            return True
        return self._is_other_id_written(account, part) or self._is_account_of_unmentioned(
            account.casefold(), call, part
        )

    def _is_account_of_unmentioned(self, account: str, call: PlannedCall, part: PartContext) -> bool:
        """Whether the user mentions no record with the account and none belongs to a named record, while another
        record of that kind does.
        """
        nodes = self._graph.nodes
        holders = [
            node
            for node in nodes
            if account in node.names[0] or any(as_text(one).casefold() == account for one in node.record.values())
        ]
        if not holders or any(self._is_mentioned(node, ()) for node in holders):
            return False
        called = {
            as_text(one).casefold() for key, one in call.arguments.items() if isinstance(one, str) or is_id_name(key)
        } - {account}
        named = [*self.list_meant_records(part), *(node for node in nodes if not called.isdisjoint(node.names[0]))]
        known = [(kind, name) for node in named for kind, name in _ids_and_references(node)]
        kind, held = holders[0].kind, {node.identity for node in holders}
        others = (node for node in nodes if node.kind == kind and node.identity not in held)
        return not any(_is_or_refers_to_any(node, known) for node in holders) and any(
            called.isdisjoint(node.names[0]) and _is_or_refers_to_any(node, known) for node in others
        )

    def _is_address_of_unmentioned(self, address: Json, part: PartContext) -> bool:
        """Whether an address belongs to a record that the user does not mention and that leads to none of the named
        records, but to another one of their kinds: the applicant of another file.
        """
        graph, wanted = self._graph, as_text(address).casefold()
        holders = [
            node for node in graph.nodes if any(as_text(one).casefold() == wanted for one in node.record.values())
        ]
        if not holders or self.is_in_user_texts(wanted):
            return False
        called = _texts_of_calls(part) - {wanted}
        named = {node.identity for node in self.list_meant_records(THE_WHOLE)}
        named |= {node.identity for node in graph.nodes if not called.isdisjoint(node.names[0])}
        reached = graph.reachable_identities(named)
        if any(
            node.identity in reached or self._was_asked_for_by_user(node) or self._is_mentioned(node, ())
            for node in holders
        ):
            return False
        own = {node.identity for node in holders}
        kinds = {node.kind for node in graph.nodes if node.identity in named and node.kind}
        others = {node.identity for node in graph.nodes if node.kind in kinds} - reached - own
        return not own.isdisjoint(graph.reachable_identities(others))

    def _was_asked_for_by_user(self, node: GraphNode) -> bool:
        """Whether the read that showed a record was made with something that the user wrote."""
        asked = (as_text(one) for _, one in walk_json(loads_object(node.seen.fact.arguments_json)))
        return any(self.is_in_user_texts(one) for one in asked)

    def _list_mentioned_records(self, text: str) -> Sequence[tuple[GraphNode, Set[tuple[str, str]]]]:
        """The records that a text mentions, and not as an exception, each with its values that the text has."""
        if text not in self._mentioned_by_text:
            told = ((node, {*_mentioned_values(node.record, text)}) for node in self._nodes_read_by_model)
            self._mentioned_by_text[text] = [
                (node, values)
                for node, values in told
                if values and not any(_is_exception_in(node, said) for said in self.user_mentions)
            ]
        return self._mentioned_by_text[text]

    def _belongs_to_others(self, named: RecordReference, own: Sequence[GraphNode], part: PartContext) -> bool:
        """Whether a record belongs to none of those that the part names, but to another one of their kind, while one of
        its own kind belongs to these: the budget of another ward.
        """
        meant, used = self.list_meant_records(part), self._list_used_names(part)
        known = [one for one in meant if used.isdisjoint(one.names[0])]
        if not known or self.mentions_record(named.text):
            return False
        reached = self._graph.reachable_identities({node.identity for node in own})
        linked = self._graph.list_linked_ids(named.noun, {named.text})
        for one in known if not any(one.identity in reached for one in meant) else ():
            owners = {text for noun, text in linked if are_same_kind(noun, one.kind)}
            others = self._graph.list_linked_ids(one.kind, one.names[0])
            has_other = any(are_same_kind(noun, named.noun) for noun, _ in others)
            if has_other and owners and not any(map(self.mentions_record, owners)):
                return True
        return False

    def _belongs_to_unmentioned(self, node: GraphNode, meant: Sequence[GraphNode], given: Set[str]) -> bool:
        """Whether a record belongs to somebody whom the user does not mention, while the user names another one of that
        kind: an absence of another pupil. Whoever is among the call's arguments is what the call sets, and does not
        count.
        """
        known = [one for one in meant if one.kind and given.isdisjoint(one.names[0])]
        for kind in {one.kind for one in known}:
            names = {name for one in known if one.kind == kind for name in one.names[0]}
            held = {reference.text for reference in node.references if are_same_kind(reference.noun, kind)}
            if held and held.isdisjoint(names):
                return True
        return False

    def list_meant_records(self, part: PartContext) -> Sequence[GraphNode]:
        """The records with an id that the part names, or the user's words outside the other parts ("Ann married. Rename
        her."), and not as an exception.
        """
        text = self._text_without_other_parts(part)
        if text not in self._meant_by_text:
            said = find_mentions(text, self._sources.now)
            nodes = self._graph.nodes
            self._meant_by_text[text] = [node for node in nodes if node.names[0] and _is_meant_by_text(node, said)]
        return self._meant_by_text[text]

    def _text_without_other_parts(self, part: PartContext) -> str:
        """The text of this turn without the task's other parts."""
        text = self._told[0]
        for other in part.other_quotes:
            text = text.replace(other, " ") if other != part.quote else text
        return text

    @cached_property
    def user_mentions(self) -> tuple[Mentions, ...]:
        return tuple(find_mentions(text, self._sources.now) for text in self._told)

    def leaves_records_open(self, quote: str, nodes: Sequence[GraphNode]) -> bool:
        """Whether the part leaves open which records of this kind are meant: "all claims"."""
        if not leaves_choice_open(quote):
            return False
        said = {word for one in quote.split() for word in singular_words(one)}
        kinds = {node.kind[-1] for node in self._nodes_read_by_model if node.kind} & said
        return not kinds or any(node.kind[-1:] and node.kind[-1] in kinds for node in nodes)

    def _is_mentioned(self, node: GraphNode, others: Sequence[GraphNode]) -> bool:
        """Whether the user's words have a value of the record that those others do not have as well."""
        texts = self._sources.texts
        if _ids_in_texts(node, texts) or _is_mentioned_by_short_name(node, others, [text.text for text in texts]):
            return True
        for key, value in node.record.items():
            if any(one.record.get(key) == value for one in others):
                continue
            number, moment = read_figure(value), None
            if isinstance(value, str) and value.strip():
                moment = read_machine_moment(value, self._sources.now.tzinfo)
                is_code = not value.isalpha()  # "A" is no status in "a credit note"
                if any(_is_written(value, text.text, is_code) for text in texts):
                    return True
            if any(number in text.numbers_by_value or (moment and moment.day in text.days) for text in texts):
                return True
        return False

    @cached_property
    def _graph(self) -> RecordGraph:
        return build_record_graph(tuple(self._facts), self._keys)

    @cached_property
    def _nodes_read_by_model(self) -> Sequence[GraphNode]:
        """The records that the model itself asked for."""
        return build_record_graph(tuple(fact for fact in self._facts if not fact.by_machine), self._keys).nodes

    def mentions_record(self, identifier: str) -> bool:
        """Whether the user mentions the record with this id: by the id or a name, or by a record that refers to it."""
        value, told = identifier.casefold(), self.list_meant_records(THE_WHOLE)
        if any(value in one.names[0] or value in {each.text for each in one.references} for one in told):
            return True
        return any(_has_name_from_record(text, node) for node in self.find_by_id(value) for text in self._told)

    def find_by_id(self, identifier: str) -> list[GraphNode]:
        return [node for node in self._graph.nodes if identifier.casefold() in node.names[0]]

    @cached_property
    def titles_by_id(self) -> Mapping[str, Sequence[str]]:
        """The names of the records that were read, by their ids."""
        found: dict[str, list[str]] = {}
        for node in self._graph.nodes:
            for name in node.names[0]:
                found.setdefault(name, []).extend(_titles_of(node))
        return found

    def is_in_user_texts(self, value: str) -> bool:
        return any(occurs_in(value, text) for text in self._told)


def _texts_of_calls(part: PartContext) -> set[str]:
    return {as_text(one).casefold() for _, given in part.proposed_calls for _, one in walk_json(given)}


def _mentioned_values(record: JsonObject, text: str, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields the paths and values of a record's names, addresses and references that the text has. A number counts only
    after its field's name: "unit 104".
    """
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _mentioned_values(value, text, f"{path}{key}.")
        elif isinstance(value, str):
            pieces = (piece.strip() for piece in value.split(","))
            if any(piece[:1].isupper() and _is_written(piece, text) for piece in pieces):
                yield f"{path}{key}", value
        elif isinstance(value, int) and not isinstance(value, bool):
            named = [word for word in singular_words(f"{path}{key}".replace(".", "_")) if word != "id"][-1:]
            if named and re.search(rf"\b{re.escape(named[0])}\s+{value}\b", text, re.IGNORECASE):
                yield f"{path}{key}", str(value)


def _ids_in_texts(node: GraphNode, texts: Sequence[Mentions]) -> list[str]:
    """The record's ids that one of the texts has. A short plain number needs its kind before it: "customer 71", "the
    customers 71 and 75".
    """
    short = {name for name in node.names[0] if name.isdecimal() and len(name) < _PLAIN_ID_DIGITS}
    found = [name for name in node.names[0] - short if any(text.has_words(name) for text in texts)]
    return found + [name for name in short if any(_has_kind_and_number(node, name, text.text) for text in texts)]


def _has_kind_and_number(node: GraphNode, number: str, text: str) -> bool:
    for place in re.finditer(rf"(?<![\w.,/-]){number}(?![\w/-]|[.,]\d)", text) if node.kind else ():
        word = _WORD_FOR_NUMBER.search(text_before_list(text, place.start()))
        if word and singular_words(word[1])[-1:] == node.kind[-1:]:
            return True
    return False


def _may_be_range(first: str, last: str) -> bool:
    """Whether two identifiers can be the ends of a range: in one form, and plain numbers close to each other."""
    if _DIGITS.sub("#", first.casefold()) != _DIGITS.sub("#", last.casefold()):
        return False
    return not first.isdecimal() or (int(first) < int(last) and len(last) - len(first) <= 1)


def _has_plural_of_kind(text: str, kind: Noun) -> bool:
    """Whether the text has the word for a kind of records in the plural."""
    words = (word.casefold() for word in text.split())
    return any(singular_words(word)[-1:] == kind[-1:] and word.strip(".,;:!?") != kind[-1] for word in words if kind)


def _names_in_text(node: GraphNode, text: Mentions) -> set[str]:
    return {*_ids_in_texts(node, (text,)), *_titles_in_text(node, text)}


def _ids_and_references(node: GraphNode) -> Iterator[tuple[Noun, str]]:
    yield from ((node.kind, name) for name in node.names[0])
    yield from ((one.noun, one.text) for one in node.references)


def _is_or_refers_to_any(node: GraphNode, known: Sequence[tuple[Noun, str]]) -> bool:
    """Whether the record has one of these ids (``known``: kind and id), or refers to one."""
    own = [*_ids_and_references(node)]
    return any(text == name and are_same_kind(noun, kind) for noun, text in own for kind, name in known)


def _is_meant_by_text(node: GraphNode, mentions: Mentions) -> bool:
    """Whether the text names the record, and not as an exception."""
    return bool(_ids_in_texts(node, (mentions,)) or _titles_in_text(node, mentions)) and not _is_exception_in(
        node, mentions
    )


def _is_exception_in(node: GraphNode, mentions: Mentions) -> bool:
    kind = "_".join((*node.kind, "id"))
    return any(
        is_named_as_exception(name, kind, mentions)
        for name in (*_ids_in_texts(node, (mentions,)), *_titles_in_text(node, mentions))
    )


def _titles_in_text(node: GraphNode, text: Mentions) -> list[str]:
    """The record's names and numbers, without its ids, that the text has."""
    return [said for name in _titles_of(node) if (said := _name_as_written(name, text.text))]


def _titles_of(node: GraphNode) -> list[str]:
    return [
        value
        for key, value in node.record.items()
        if names_own_record(key) and isinstance(value, str) and value.strip()
    ]


def _is_mentioned_by_short_name(node: GraphNode, others: Sequence[GraphNode], texts: Sequence[str]) -> bool:
    """Whether the texts have a word of the record's name that no name of the others has: "Moreau" of Moreau Freres.

    That is enough for a record that a call names, unless the texts have a whole name of one of the others.
    """
    if any(occurs_in(title, text) for one in others for title in _titles_of(one) for text in texts):
        return False
    own, theirs = _words_of_titles(node), {word for one in others for word in _words_of_titles(one)}
    said = {word for text in texts for word in _singulars_in(text)}
    return not said.isdisjoint(own - theirs - FILLER_WORDS - {*node.kind[-1:]})


def _is_quoted_whole(value: str, text: str) -> bool:
    """Whether the text has the value, or one of its comma-separated pieces, exactly."""
    return any(occurs_in(piece.strip(), text) for piece in value.split(",") if len(piece.strip()) > 2)


def _words_of_titles(node: GraphNode) -> set[str]:
    """The words of the record's names and of its description, if that is no prose, in the singular."""
    told = (one for key, one in node.record.items() if _DESCRIBES.match(key) and isinstance(one, str))
    titles = (*map(without_legal_form, _titles_of(node)), *(one for one in told if one[-1:] not in _SENTENCE_ENDS))
    found = {word for title in titles if not looks_like_id_text(title) for word in _singulars_in(title)}
    return {word for word in found if len(word) > 2 and not word.isdecimal()}


def _singulars_in(text: str) -> set[str]:
    return {one for word in spaced_words(text).split() for one in singular_words(word)}


def _has_name_from_record(text: str, node: GraphNode) -> bool:
    """Whether the text has a full name that a field of the record holds, such as that of an account's holder."""
    values = (leaf.value for leaf in find_leaves(node.record))
    names = (one for one in values if isinstance(one, str) and " " in one and one[:1].isupper())
    return any(_name_as_written(name, text) for name in names)


def _name_as_written(name: str, text: str) -> str:
    """The name as the text has it: whole, or a company's without its legal form; empty if it has neither. A short name
    of one word needs its capital, and no other legal form may follow it.
    """
    if occurs_in(name, text):
        return name
    short = without_legal_form(name)
    if len(short) <= 2 or short == name or not occurs_in(short, text):
        return ""
    places = list(re.finditer(rf"\b{re.escape(short)}\b", text, re.IGNORECASE if " " in short else 0))
    return short if any(not _has_legal_form_after(short, text[place.end() :]) for place in places) else ""


def _is_written(name: str, text: str, is_code: bool = False) -> bool:
    """Whether the text has the name. One of two letters, unless it is a code, needs capitals: IT is not "it"."""
    is_short = len(name) <= 2 and not is_code
    is_there = not is_short or (
        name.isupper() and name.isalpha() and len(name) > 1 and re.search(rf"\b{re.escape(name)}\b", text)
    )
    return bool(is_there) and bool(_name_as_written(name, text))


def _has_legal_form_after(short: str, rest: str) -> bool:
    """Whether the name goes on to a legal form: "Vistula AG" is not Vistula GmbH, nor is "Vistula Trading AG"."""
    behind = rest.split()[: _FORM_WORDS + 1] if rest[:1].isspace() else []
    for count in range(1, len(behind) + 1):
        whole = " ".join((short, *behind[:count]))
        bare = without_legal_form(whole)
        if bare != whole and all(word[:1].isupper() for word in bare.removeprefix(short).split()):
            return True
    return False
