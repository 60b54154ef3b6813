"""Which of the records that were read the user mentions: by an id, a name, or the value of a field."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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
from services.executor.core.figures.numbers import Number, find_tokens_with_digits, looks_like_id_text, read_figure
from services.executor.core.figures.trace import OriginKind, TraceSources
from services.executor.core.figures.vocabulary import (
    MOST_WORDS_OF_LEGAL_FORM,
    find_quoted_texts,
    leaves_choice_open,
    may_mean_unnamed_things,
    spaced_words,
    without_legal_form,
)
from services.executor.core.plan.exclusions import (
    CHARACTERS_BEFORE_IDENTIFIER,
    FILLER_WORDS,
    is_named_as_exception,
    text_before_list,
)
from services.executor.core.plan.faults import ArgumentToCheck, CallToCheck
from services.executor.core.records.record_graph import GraphNode, RecordGraph, build_record_graph
from services.executor.core.records.seen_records import (
    Noun,
    RecordReference,
    are_same_kind,
    get_shape_of_id,
    is_name_in_text,
    names_own_record,
    noun_of_tool,
    reference_of,
    singular_words,
)
from services.executor.core.session.values import Fact
from services.executor.core.tools.classes import NOTIFY_VERBS, split_tool_name
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.record_tree import RecordKeys, find_leaves, is_id_name
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object, walk_json
from shared.domain.words import ToolClass

NAMING_KINDS = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.RECIPIENT})
_NUMBER_RANGE_PATTERN = re.compile(
    r"(?i)(?<![\w/-])([\w/-]*\d)\s+(?:to|through|thru|until|bis|à|a|hasta)\s+([\w/-]*\d)(?![\w/-]|[.,]\d\d)"
)
_LIST_POINT_PATTERN = re.compile(r"(?:^|[\n.:;!?])\s*(?P<number>\d{1,2})[.)]\s")
_DIGITS_PATTERN = re.compile(r"\d+")
_WORD_BEFORE_NUMBER_PATTERN = re.compile(r"(?i)([^\W\d_]+)\s*(?:\b(?:no|nr|num|number|id)\b\.?\s*)?#?\s*$")
_CONTACT_KINDS = frozenset({IdentifierKind.EMAIL, IdentifierKind.PHONE})
_DESCRIPTION_FIELD_PATTERN = re.compile(r"(?i)descr|designation|label|bezeichnung")  # the name of a field
_LONGEST_ABBREVIATION = 3  # characters
_MESSAGE_VERBS = NOTIFY_VERBS | frozenset("send email mail message write contact call tell".split())
_PARTICLES = frozenset("off in out up back down".split())  # which make another verb of them: "write off"
_SENTENCE_ENDS = frozenset(".!?")
_MOST_STEPS_FROM_CHANGE = 2  # from a changed record to who is told of it: claim, employee, the employee's manager
_PLAIN_ID_DIGITS = 4  # a number of so many digits names a record even without a word for its kind


class MentionedRecords:
    """The records that were read, as the user mentions them. ``user_texts``: the user's own words, the task first.

    Made for one reply of the model: each text is searched only once.
    """

    def __init__(
        self, facts: Sequence[Fact], user_texts: Sequence[str], sources: TraceSources, keys: RecordKeys
    ) -> None:
        self._facts = facts
        self._user_texts = user_texts
        self.sources = sources
        self.keys = keys
        self.task = user_texts[0]
        self.calculated_texts = {str(figure).casefold() for figure in sources.calculated.values()}
        self._meant_by_text: dict[str, Sequence[GraphNode]] = {}  # {text: the records that it means}

    @cached_property
    def graph(self) -> RecordGraph:
        return build_record_graph(tuple(self._facts), self.keys)

    @cached_property
    def nodes_read_by_model(self) -> Sequence[GraphNode]:
        """The records that the model itself asked for."""
        return build_record_graph(tuple(fact for fact in self._facts if not fact.by_machine), self.keys).nodes

    @cached_property
    def user_mentions(self) -> tuple[Mentions, ...]:
        return tuple(find_mentions(text, self.sources.now) for text in self._user_texts)

    def list_records_meant_by(self, text: str) -> Sequence[GraphNode]:
        """The records with an id that a text names, and not as an exception."""
        if text not in self._meant_by_text:
            mentions, nodes = find_mentions(text, self.sources.now), self.graph.nodes
            named_nodes = (node for node in nodes if node.ids and _names_in_text(node, mentions))
            self._meant_by_text[text] = [node for node in named_nodes if not _is_exception_in(node, mentions)]
        return self._meant_by_text[text]

    def leaves_records_open(self, part: Mentions, nodes: Sequence[GraphNode]) -> bool:
        """Whether the part leaves open which records of the nodes' kind are meant: "all claims", or simply "all"."""
        if not leaves_choice_open(part.text_without_dates):
            return False
        words = {singular for word in part.text.split() for singular in singular_words(word)}
        kinds = {node.kind[-1] for node in self.nodes_read_by_model if node.kind} & words
        return not kinds or any(node.kind[-1:] and node.kind[-1] in kinds for node in nodes)

    def is_mentioned(self, node: GraphNode, others: Sequence[GraphNode]) -> bool:
        """Whether a text of the session has the record's id or name, or a value that none of ``others`` has, or a name
        that stands in an object within the record.
        """
        texts = self.sources.texts
        if _ids_in_texts(node, texts) or _is_mentioned_by_short_name(node, others, [text.text for text in texts]):
            return True
        for key, value in (*node.record.items(), *self._find_inner_names(node)):
            if any(other.record.get(key) == value for other in others):
                continue
            number, moment = read_figure(value), None
            if isinstance(value, str) and value.strip():
                moment = read_machine_moment(value, self.sources.now.tzinfo)
                is_code = not value.isalpha()  # "A" is no status in "a credit note"
                if any(_is_name_written(value, text.text, is_code) for text in texts):
                    return True
            is_day_in_texts = moment is not None and any(moment.day in text.days for text in texts)
            if is_day_in_texts or any(number is not None and _has_number(text, number) for text in texts):
                return True
        return False

    def _find_inner_names(self, node: GraphNode) -> Iterator[tuple[str, Json]]:
        """Yields the fields with a name in the objects without an id that stand in the record, at any depth."""
        for inner in self.graph.list_nodes_within(node):
            if not inner.ids:
                yield from ((key, value) for key, value in inner.record.items() if _may_be_own_name(value))
                yield from self._find_inner_names(inner)

    def is_known_to_user(self, node: GraphNode) -> bool:
        """Whether a text of the session mentions a record, or its read was asked with something that the user wrote."""
        arguments = loads_object(node.seen.fact.arguments_json)
        is_asked_for = any(self.is_in_user_texts(as_text(argument)) for _, argument in walk_json(arguments))
        return is_asked_for or self.is_mentioned(node, ())

    def is_id_mentioned(self, identifier: str) -> bool:
        """Whether the user mentions the record with this id: by the id or a name, or by a record that refers to it."""
        folded_id, meant_nodes = identifier.casefold(), self.list_records_meant_by(self.task)
        if any(folded_id == name for node in meant_nodes for _, name in _ids_and_references(node)):
            return True
        nodes = self.find_by_id(folded_id)
        return any(_has_name_from_record(text, node) for node in nodes for text in self._user_texts)

    def find_by_id(self, identifier: str) -> list[GraphNode]:
        return [node for node in self.graph.nodes if identifier.casefold() in node.ids]

    @cached_property
    def titles_by_id(self) -> Mapping[str, Sequence[str]]:
        """The names of the records that were read, by their ids."""
        titles_by_id: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            for name in node.ids:
                titles_by_id.setdefault(name, []).extend(_list_titles(node))
        return titles_by_id

    def is_in_user_texts(self, value: str) -> bool:
        return any(is_name_in_text(value, text) for text in self._user_texts)


class CalledRecords:
    """Which of the records that were read one call names, and which ones its part of the task means."""

    def __init__(self, call: CallToCheck, mentioned: MentionedRecords) -> None:
        self._call = call
        self._part = call.part
        self._mentioned = mentioned
        self._graph = mentioned.graph
        self._leaves_choice_open = leaves_choice_open(call.part_mentions.text_without_dates)
        self._text = mentioned.task  # without the task's other parts: "Ann married. Rename her."
        for other in call.part.other_quotes:
            self._text = self._text.replace(other, " ") if other != call.part.quote else self._text
        # Whoever is among the call's arguments is what the call sets.
        self._argument_texts = {as_text(leaf).casefold() for _, leaf in walk_json(call.arguments)}

    def names_unmentioned_record(self, argument: ArgumentToCheck) -> bool:
        """Whether the argument names a record that the user does not mention, while another one of its kind is meant.

        Another one is meant where the user names it and the part does not ask to choose, or where several others were
        read. False for an argument that does not come from a read.
        """
        text, keys = argument.text, self._mentioned.keys
        if argument.origin is not OriginKind.FACT:
            return False
        tool = self._call.tool
        reference = reference_of(argument.field_name, argument.value, noun_of_tool(tool.name, keys), keys)
        if argument.kind is ArgumentKind.ACCOUNT:
            is_unconcerned = reference is not None and self._is_message and self._is_recipient_unconcerned(reference)
            return is_unconcerned or self._is_other_account_meant(text)
        if argument.kind not in NAMING_KINDS and not keys.kind_of(argument.field_name):
            return False
        is_contact = kind_of_identifier(text) in _CONTACT_KINDS and not self._leaves_choice_open
        if is_contact and self._is_address_of_unmentioned(text.casefold()):
            return True
        if not (self._does_part_name_range or argument.is_only_in_free_text) and self._is_other_id_written(text):
            return True
        if reference is None or reference.text in self._mentioned.calculated_texts:
            return False
        if self._is_message and self._is_recipient_unconcerned(reference):
            return True
        return self._is_other_of_kind_meant(reference)

    @cached_property
    def _is_message(self) -> bool:
        """Whether the call tells somebody something: a notice, or a text to the one record that the call names."""
        tool, kinds = self._call.tool, [argument.kind for argument in self._call.scalars]
        texts, words = kinds.count(ArgumentKind.FREE_TEXT), split_tool_name(tool.name)
        is_text_to_one = texts > 0 and len(kinds) - texts == 1
        is_verb_of_message = words[0] in _MESSAGE_VERBS and _PARTICLES.isdisjoint(words[1:2])
        return tool.tool_class is ToolClass.NOTIFY or (is_text_to_one and is_verb_of_message)

    @cached_property
    def _text_mentions(self) -> Mentions:
        return find_mentions(self._text, self._mentioned.sources.now)

    @cached_property
    def _meant_nodes(self) -> Sequence[GraphNode]:
        """The records with an id that the part names, or the task's words outside the other parts."""
        return self._mentioned.list_records_meant_by(self._text)

    @cached_property
    def _texts_of_calls(self) -> Set[str]:
        """The values in all calls of the task, in lower case."""
        return _list_texts_of_calls(arguments for _, arguments in self._part.proposed_calls)

    @cached_property
    def _called_nodes(self) -> Sequence[GraphNode]:
        return [node for node in self._graph.nodes if not self._texts_of_calls.isdisjoint(node.ids)]

    @cached_property
    def _used_names(self) -> Set[str]:
        """The values in all calls of the task, and the ids to which the records that they name refer."""
        return self._texts_of_calls | {reference.text for node in self._called_nodes for reference in node.references}

    def _is_recipient_unconcerned(self, reference: RecordReference) -> bool:
        """Whether the record of a notice's recipient has nothing to do with the changed records that the user names,
        while others of its kind have: claims are approved, and somebody is told who made none of them. If no changed
        record leads to that kind, the other records that the calls name decide. False if the user names the recipient,
        or the part names a record that refers to the recipient.
        """
        if self._mentioned.is_in_user_texts(reference.text):
            return False
        own_nodes = self._mentioned.find_by_id(reference.text)
        if any(map(self._is_named_by_user, own_nodes)):
            return False
        if self._leaves_choice_open and any(self._mentioned.is_mentioned(node, ()) for node in own_nodes):
            return False  # such as "each client of the north"
        if any(reference.text == held.text for node in self._meant_nodes for held in node.references):
            return False
        named_changed_nodes = [*filter(self._is_named_by_user, self._changed_nodes)]
        is_concerned = self._do_records_lead_to_recipient(reference, own_nodes, named_changed_nodes)
        if is_concerned is None and not (own_nodes and self._leaves_choice_open):
            called_nodes = [node for node in self._called_nodes if not are_same_kind(node.kind, reference.noun)]
            is_concerned = self._do_records_lead_to_recipient(reference, own_nodes, called_nodes)
        return is_concerned is False

    def _do_records_lead_to_recipient(
        self, reference: RecordReference, own_nodes: Sequence[GraphNode], nodes: Sequence[GraphNode]
    ) -> bool | None:
        """Whether ``nodes`` are, or reach in two steps, the recipient's record, or it refers to one of them; False if
        they reach only others of its kind, and None if they reach none of its kind.
        """
        reached, on_the_way = nodes, list[GraphNode]()  # to the first record of the recipient's kind
        for _ in range(_MOST_STEPS_FROM_CHANGE + 1):
            references = [kind_and_id for node in reached for kind_and_id in _ids_and_references(node)]
            if any(text == reference.text for _, text in references):  # also by another word, such as ``manager_id``
                return True
            if not on_the_way and any(are_same_kind(kind, reference.noun) for kind, _ in references):
                on_the_way = [*reached]
            linked_nodes = (other for node in reached for other in self._list_inner_and_referenced(node))
            reached = [*dict.fromkeys((*reached, *linked_nodes))]
        names = [(node.kind, own_id) for node in on_the_way for own_id in node.ids]
        return any(_is_or_refers_to_any(node, names) for node in own_nodes) if on_the_way else None

    def _is_named_by_user(self, node: GraphNode) -> bool:
        return any(_names_in_text(node, mentions) for mentions in self._mentioned.user_mentions)

    @cached_property
    def _changed_nodes(self) -> Sequence[GraphNode]:
        """The records that the task's changes name."""
        notices = {tool.name for tool in self._part.write_tools if tool.tool_class is ToolClass.NOTIFY}
        texts = _list_texts_of_calls(args for tool, args in self._part.proposed_calls if tool not in notices)
        return [node for node in self._graph.nodes if not texts.isdisjoint(node.ids)]

    def _list_inner_and_referenced(self, node: GraphNode) -> list[GraphNode]:
        return [*self._graph.list_nodes_within(node), *self._graph.find_records_named_by_fields(node)]

    def _is_other_of_kind_meant(self, reference: RecordReference) -> bool:
        """Whether the part of the task that the call carries out means another record of the reference's kind.

        The record was read, and the part leaves open which records are meant, or names a range: only if it refers to
        another record than the part names. It was read, and the part means certain records: if no text mentions it, and
        the part names others of its kind or it belongs to somebody else. It was not read: if it belongs to somebody
        else, or several of its kind were read; but not if another record that the part names refers to it.
        """
        read_nodes = (node for node in self._mentioned.nodes_read_by_model if node.ids)
        nodes = [node for node in read_nodes if are_same_kind(reference.noun, node.kind)]
        own_nodes = [node for node in nodes if reference.text in node.ids]
        meant_of_kind = (node for node in self._meant_nodes if are_same_kind(reference.noun, node.kind))
        others = [node for node in meant_of_kind if reference.text not in node.ids]
        is_open = self._mentioned.leaves_records_open(
            self._call.part_mentions, own_nodes
        ) and not self._are_meant_alone(others)
        if own_nodes and (is_open or self._does_part_name_range):
            meant_identities = {node.identity for node in self._meant_nodes}
            return any(
                self._belongs_to_unmentioned(node) for node in own_nodes if node.identity not in meant_identities
            )
        means_one = not (self._does_part_name_range or self._leaves_choice_open)
        belongs_to_others = means_one and self._belongs_to_others(reference, own_nodes)
        if own_nodes:
            meant_instead = self._drop_named_by_same_words(others, own_nodes)
            is_other_meant = belongs_to_others or bool(meant_instead)
            return is_other_meant and not any(self._mentioned.is_mentioned(node, meant_instead) for node in own_nodes)
        uncalled_nodes = (node for node in self._meant_nodes if node.ids.isdisjoint(self._argument_texts))
        if any(reference.text == held.text for node in uncalled_nodes for held in node.references):
            return False  # another record that the part names has it
        return belongs_to_others or len({node.identity for node in nodes}) > 1

    def _are_meant_alone(self, nodes: Sequence[GraphNode]) -> bool:
        """Whether the part names one of ``nodes`` that no call uses, and adds no others, as "3 and others" does."""
        unused_nodes = (node for node in nodes if self._used_names.isdisjoint(node.ids))
        names = {name for node in unused_nodes for name in _names_in_text(node, self._text_mentions)}
        return bool(names) and not self._leaves_others_open(names)

    def _leaves_others_open(self, names: Set[str]) -> bool:
        """Whether the part may mean records beside those with these names: "the fee for 3 and others"."""
        topics = {name for node in self._called_nodes for name in (*node.ids, *_list_titles(node), *node.kind[-1:])}
        references = (reference for node in self._called_nodes for reference in node.references)
        topics |= {word for reference in references for word in reference.noun[-1:]}
        topics |= {word for tool, _ in self._part.proposed_calls for word in words_of(tool)}
        return may_mean_unnamed_things(self._text, names, topics)

    def _drop_named_by_same_words(
        self, others: Sequence[GraphNode], own_nodes: Sequence[GraphNode]
    ) -> Sequence[GraphNode]:
        """The ``others`` that may be meant instead of the call's own records.

        If the part has their kind in the plural, as in "the fees of S-1", those drop out that it names only by words
        that name the call's records, too.
        """
        if not _has_plural_of_kind(self._part.quote, own_nodes[0].kind):
            return others
        own_names = {name for node in own_nodes for name in _names_in_text(node, self._text_mentions)}
        return [other for other in others if not own_names.issuperset(_names_in_text(other, self._text_mentions))]

    @cached_property
    def _does_part_name_range(self) -> bool:
        """Whether the part names records from one to another in the same form: "A-4 to A-6", not "A-4 to 6 May", and of
        plain numbers "customers 4 to 6", not "customer 4 to 6".
        """
        text = self._part.quote
        ranges = [match for match in _NUMBER_RANGE_PATTERN.finditer(text) if _may_be_range(match[1], match[2])]
        mentions = self._call.part_mentions
        starts_of_figures = {day.start for day in mentions.dates}
        starts_of_figures |= {number.start for number in mentions.numbers if number.unit or number.money}
        kinds = {node.kind[-1] for node in self._graph.nodes if node.kind}
        for id_range in ranges:
            start = id_range.start()
            word = _WORD_BEFORE_NUMBER_PATTERN.search(text, max(0, start - CHARACTERS_BEFORE_IDENTIFIER), start)
            is_of_one_record = id_range[1].isdecimal() and word and word[1].casefold() in kinds
            if id_range.start(2) not in starts_of_figures and not is_of_one_record:
                return True
        return False

    def _is_other_id_written(self, identifier: str) -> bool:
        """Whether the user does not mention the record with this id, and the part has another of its pattern that no
        call uses: BA-6 for ``BA-5``. Ids to which a call's record refers count as used; exceptions do not count.
        """
        id_pattern = get_shape_of_id(identifier)
        if not id_pattern or self._mentioned.is_in_user_texts(identifier):
            return False
        tokens = find_tokens_with_digits(blank_special_identifiers(self._text))
        written_ids = {token.casefold() for token in tokens if get_shape_of_id(token) == id_pattern} - self._used_names
        if not written_ids or self._mentioned.is_id_mentioned(identifier) or self._leaves_others_open(written_ids):
            return False
        for mentions in self._mentioned.user_mentions:
            written_ids -= {written for written in written_ids if is_named_as_exception(written, "id", mentions)}
        return bool(written_ids)

    def _is_other_account_meant(self, account: str) -> bool:
        """Whether the part writes another account or id, or means another record of the kind with this account."""
        if self._mentioned.is_in_user_texts(account) or self._leaves_choice_open:
            return False
        kind = kind_of_identifier(account)
        if kind is IdentifierKind.IBAN and any(other.form is kind for other in find_special_identifiers(self._text)):
            return True
        return self._is_other_id_written(account) or self._is_account_of_unmentioned(account.casefold())

    def _is_account_of_unmentioned(self, account: str) -> bool:
        """Whether the account is of another record than is meant: none that has it is mentioned by the user, or linked
        to a record that the part or the call names, while another one of that kind is linked to such a record.
        """
        nodes = self._graph.nodes
        holders = [node for node in nodes if account in node.ids or _has_field_with_value(node, account)]
        if not holders or any(self._mentioned.is_mentioned(node, ()) for node in holders):
            return False
        arguments = self._call.arguments.items()
        values = (value for key, value in arguments if isinstance(value, str) or is_id_name(key))
        argument_texts = {as_text(value).casefold() for value in values} - {account}
        called_nodes = (node for node in nodes if not argument_texts.isdisjoint(node.ids))
        named_nodes = (*self._meant_nodes, *called_nodes)
        named_ids = [kind_and_id for node in named_nodes for kind_and_id in _ids_and_references(node)]
        if any(_is_or_refers_to_any(node, named_ids) for node in holders):
            return False
        kind, holder_identities = holders[0].kind, {node.identity for node in holders}
        others = (node for node in nodes if node.kind == kind and node.identity not in holder_identities)
        return any(argument_texts.isdisjoint(node.ids) and _is_or_refers_to_any(node, named_ids) for node in others)

    def _is_address_of_unmentioned(self, address: str) -> bool:
        """Whether an address is of a record that the user does not mention: the applicant of another file.

        The records that the user or a call names are not linked to it, but another record of their kind is.
        """
        graph, mentioned = self._graph, self._mentioned
        holders = [node for node in graph.nodes if _has_field_with_value(node, address)]
        if not holders or mentioned.is_in_user_texts(address):
            return False
        call_texts = self._texts_of_calls - {address}
        named_identities = {node.identity for node in mentioned.list_records_meant_by(mentioned.task)}
        named_identities |= {node.identity for node in graph.nodes if not call_texts.isdisjoint(node.ids)}
        reached_identities = graph.reachable_identities(named_identities)
        if any(node.identity in reached_identities or mentioned.is_known_to_user(node) for node in holders):
            return False
        own_identities = {node.identity for node in holders}
        kinds = {node.kind for node in graph.nodes if node.identity in named_identities and node.kind}
        identities_of_kinds = {node.identity for node in graph.nodes if node.kind in kinds}
        other_identities = identities_of_kinds - reached_identities - own_identities
        return not own_identities.isdisjoint(graph.reachable_identities(other_identities))

    def _belongs_to_others(self, reference: RecordReference, own_nodes: Sequence[GraphNode]) -> bool:
        """Whether the record belongs to another record than the part names: the call takes the budget of ward 2, and
        the part names ward 1, which has a budget, too. False if the user mentions ward 2 or the budget, or a call has
        the id of ward 1.
        """
        is_id_mentioned = self._mentioned.is_id_mentioned
        list_linked_ids = self._graph.list_linked_ids
        unused_nodes = [node for node in self._meant_nodes if self._used_names.isdisjoint(node.ids)]
        if not unused_nodes or is_id_mentioned(reference.text):
            return False
        reached_identities = self._graph.reachable_identities({node.identity for node in own_nodes})
        if any(node.identity in reached_identities for node in self._meant_nodes):
            return False
        linked_ids = list_linked_ids(reference.noun, {reference.text})
        for node in unused_nodes:
            owner_ids = {text for noun, text in linked_ids if are_same_kind(noun, node.kind)}
            has_other = any(are_same_kind(noun, reference.noun) for noun, _ in list_linked_ids(node.kind, node.ids))
            if has_other and owner_ids and not any(map(is_id_mentioned, owner_ids)):
                return True
        return False

    def _belongs_to_unmentioned(self, node: GraphNode) -> bool:
        """Whether a record refers to another record than the part names: an absence of pupil 2, and the part names
        pupil 1. Records whose id is among the call's arguments do not count as named.
        """
        others = [other for other in self._meant_nodes if other.kind and self._argument_texts.isdisjoint(other.ids)]
        for kind in {other.kind for other in others}:
            ids = {own_id for other in others if other.kind == kind for own_id in other.ids}
            owner_ids = {reference.text for reference in node.references if are_same_kind(reference.noun, kind)}
            if owner_ids and owner_ids.isdisjoint(ids):
                return True
        return False


def _list_texts_of_calls(calls: Iterable[JsonObject]) -> set[str]:
    """The values in the arguments of the calls, in lower case."""
    return {as_text(leaf).casefold() for arguments in calls for _, leaf in walk_json(arguments)}


def _has_field_with_value(node: GraphNode, folded_text: str) -> bool:
    return any(as_text(value).casefold() == folded_text for value in node.record.values())


def _has_number(text: Mentions, number: Number) -> bool:
    """Whether the text has the number, and not only before a point of a list: "1. Read first. 2. Act"."""
    mentions = text.numbers_by_value.get(number, ())
    points = {match.start("number") for match in _LIST_POINT_PATTERN.finditer(text.text)} if mentions else set()
    return any(mention.start not in points for mention in mentions)


def _ids_in_texts(node: GraphNode, texts: Sequence[Mentions]) -> list[str]:
    """The record's ids that a text has. A short plain number needs its kind before it: "customers 71 and 75"."""
    numbers = {name for name in node.ids if name.isdecimal() and len(name) < _PLAIN_ID_DIGITS}
    written_ids = [name for name in node.ids - numbers if any(text.has_words(name) for text in texts)]
    numbers = {number for number in numbers if any(_has_kind_and_number(node, number, text.text) for text in texts)}
    return [*written_ids, *numbers]


def _has_kind_and_number(node: GraphNode, number: str, text: str) -> bool:
    for number_match in re.finditer(rf"(?<![\w.,/-]){number}(?![\w/-]|[.,]\d)", text) if node.kind else ():
        word_before = _WORD_BEFORE_NUMBER_PATTERN.search(text_before_list(text, number_match.start()))
        if word_before and singular_words(word_before[1])[-1:] == node.kind[-1:]:
            return True
    return False


def _may_be_range(first: str, last: str) -> bool:
    """Whether two identifiers can be the ends of a range: in one form, and plain numbers close to each other."""
    if _DIGITS_PATTERN.sub("#", first.casefold()) != _DIGITS_PATTERN.sub("#", last.casefold()):
        return False
    return not first.isdecimal() or (int(first) < int(last) and len(last) - len(first) <= 1)


def _has_plural_of_kind(text: str, kind: Noun) -> bool:
    """Whether the text has the word for a kind of records in the plural."""
    words = (word.casefold() for word in text.split())
    return any(singular_words(word)[-1:] == kind[-1:] and word.strip(".,;:!?") != kind[-1] for word in words if kind)


def _names_in_text(node: GraphNode, mentions: Mentions) -> set[str]:
    titles = (_name_as_written(title, mentions.text) for title in _list_titles(node))
    return {*_ids_in_texts(node, (mentions,)), *filter(None, titles)}


def _may_be_own_name(value: Json) -> bool:
    """Whether a value may name somebody or something: "Ada Berg", not "EUR" or "open"."""
    return isinstance(value, str) and value[:1].isupper() and len(value) > _LONGEST_ABBREVIATION


def _ids_and_references(node: GraphNode) -> Iterator[tuple[Noun, str]]:
    yield from ((node.kind, name) for name in node.ids)
    yield from ((reference.noun, reference.text) for reference in node.references)


def _is_or_refers_to_any(node: GraphNode, ids: Sequence[tuple[Noun, str]]) -> bool:
    """Whether the record has one of these ids, each with its kind, or refers to one."""
    own_ids = [*_ids_and_references(node)]
    return any(own_id == name and are_same_kind(noun, kind) for noun, own_id in own_ids for kind, name in ids)


def _is_exception_in(node: GraphNode, mentions: Mentions) -> bool:
    kind = "_".join((*node.kind, "id"))
    return any(is_named_as_exception(name, kind, mentions) for name in _names_in_text(node, mentions))


def _list_titles(node: GraphNode) -> list[str]:
    """The record's names and numbers, without its ids."""
    titles = (value for key, value in node.record.items() if names_own_record(key) and isinstance(value, str))
    return [title for title in titles if title.strip()]


def _is_mentioned_by_short_name(node: GraphNode, others: Sequence[GraphNode], texts: Sequence[str]) -> bool:
    """Whether the texts have a word of the record's name that no name of the others has: "Moreau" of Moreau Freres.

    False if the texts have a whole name of one of the others.
    """
    if any(is_name_in_text(title, text) for other in others for title in _list_titles(other) for text in texts):
        return False
    own_words = _words_of_titles(node)
    words_of_others = {word for other in others for word in _words_of_titles(other)}
    words_in_texts = {word for text in texts for word in _singulars_in(text)}
    return not words_in_texts.isdisjoint(own_words - words_of_others - FILLER_WORDS - {*node.kind[-1:]})


def _words_of_titles(node: GraphNode) -> set[str]:
    """The words of the record's names and of its description, if that is no prose, in the singular."""
    descriptions = (
        value for key, value in node.record.items() if _DESCRIPTION_FIELD_PATTERN.match(key) and isinstance(value, str)
    )
    labels = (description for description in descriptions if description[-1:] not in _SENTENCE_ENDS)
    titles = (*map(without_legal_form, _list_titles(node)), *labels)
    words = {word for title in titles if not looks_like_id_text(title) for word in _singulars_in(title)}
    return {word for word in words if len(word) > 2 and not word.isdecimal()}


def _singulars_in(text: str) -> set[str]:
    return {singular for word in spaced_words(text).split() for singular in singular_words(word)}


def _has_name_from_record(text: str, node: GraphNode) -> bool:
    """Whether the text has a name of several words from any field of the record, such as that of an account's holder,
    or has a name from a field in quotes: the position "Repairs".
    """
    values = [leaf.value for leaf in find_leaves(node.record)]
    quoted_texts = find_quoted_texts(text)
    names = [value for value in values if isinstance(value, str) and value[:1].isupper()]
    return any(name in quoted_texts or (" " in name and _name_as_written(name, text)) for name in names)


def _name_as_written(name: str, text: str) -> str:
    """The name as the text has it: whole, or a company's without its legal form; empty if it has neither.

    A short name of one word needs its capital, and no other legal form may follow it.
    """
    if is_name_in_text(name, text):
        return name
    short_name = without_legal_form(name)
    if len(short_name) <= 2 or short_name == name or not is_name_in_text(short_name, text):
        return ""
    matches = list(re.finditer(rf"\b{re.escape(short_name)}\b", text, re.IGNORECASE if " " in short_name else 0))
    return short_name if any(not _has_legal_form_after(short_name, text[match.end() :]) for match in matches) else ""


def _is_name_written(name: str, text: str, is_code: bool = False) -> bool:
    """Whether the text has the name. Unless a code, two letters need capitals (IT is not "it"), and one is no name."""
    if len(name) <= 2 and not is_code:
        has_two_capitals = len(name) > 1 and name.isalpha() and name.isupper()
        if not has_two_capitals or not re.search(rf"\b{re.escape(name)}\b", text):
            return False
    return bool(_name_as_written(name, text))


def _has_legal_form_after(short_name: str, following_text: str) -> bool:
    """Whether the name goes on to a legal form: "Vistula AG" is not Vistula GmbH, nor is "Vistula Trading AG"."""
    following_words = following_text.split()[: MOST_WORDS_OF_LEGAL_FORM + 1] if following_text[:1].isspace() else []
    for count in range(1, len(following_words) + 1):
        full_name = " ".join((short_name, *following_words[:count]))
        bare_name = without_legal_form(full_name)
        if bare_name != full_name and all(word[:1].isupper() for word in bare_name.removeprefix(short_name).split()):
            return True
    return False
