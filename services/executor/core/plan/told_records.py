"""Which records the user's words tell of: by an id, a name, or what a field of theirs has."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property

from services.executor.core.figures.arguments import ArgumentKind
from services.executor.core.figures.dates import read_machine_moment
from services.executor.core.figures.identifiers import IdentifierForm, blank_special_identifiers, form_of_identifier
from services.executor.core.figures.mentions import Mentions, find_mentions
from services.executor.core.figures.numbers import looks_like_id_text, number_bearing_tokens, read_figure
from services.executor.core.figures.trace import ArgumentTrace, OriginKind, TraceSources
from services.executor.core.figures.vocabulary import leaves_choice_open, spaced_words, without_legal_form
from services.executor.core.plan.faults import THE_WHOLE, PartOfCall, name_of
from services.executor.core.records.called_records import (
    agree,
    noun_of_tool,
    reference_of,
    shape_of,
    stands_in,
    tells_apart,
    words,
)
from services.executor.core.records.record_graph import GraphNode, RecordGraph, record_graph
from services.executor.core.records.references import value_at
from services.executor.core.session.values import Fact
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import NO_KEYS, RecordKeys, leaves_of
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, as_text, loads_object, walk_json

NAMING = frozenset({ArgumentKind.IDENTIFIER, ArgumentKind.RECIPIENT})
_RANGE = re.compile(  # "A-4 to A-6", not "A-4 to 5,000"
    r"\d\s+(?:to|through|thru|until|bis|à|a|hasta)\s+[\w/-]*\d(?![\w/-]|[.,]\d\d)", re.IGNORECASE
)
_EXCLUDES = re.compile(
    r"(?:\b(?:do\s+not|don't|don’t|never|must\s+not|may\s+not|should\s+not)\s+(?!forget|fail|hesitate|skip|miss|omit|leave|"
    r"neglect|delay|lose|let|wait|keep|stop|hold|postpone|worry|mind)[^\W\d]+\s+|"
    r"\b(?:except(?:ing)?(?:\s+for)?|excluding|but\s+not|not|other\s+than|apart\s+from|leave|leaving|skip|spare|"
    r"with\s+the\s+exception\s+of|save|keep|bis\s+auf|mit\s+Ausnahme\s+von|"
    r"außer|ausser|nicht|sauf|excepté|à\s+l'exception\s+de|salvo|excepto|menos)\s+)(?P<between>(?:[^\W\d]+\s+){0,2})$",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\s+(?:(?:stays?|remains?|keeps?)\b|(?:must|may|should|shall)\s+not\b|mustn't\b|(?:is|are)\s+not\s+to\b|"
    r"bleibt|bleiben|darf\s+nicht|dürfen\s+nicht|reste|restent|se\s+queda)",
    re.IGNORECASE,
)
_LISTED = re.compile(  # what is listed before an identifier: each piece has a digit and is matched in one way only
    r"(?:(?<![\w/.-])(?=[\w/.-]*\d)(?>[\w/.-]+)(?>\s*)(?:[,;&]|(?<=\s)(?:and|or|und|oder|et|ou)(?=\s))(?>\s*))+$",
    re.IGNORECASE,
)
_LITTLE = frozenset(
    "the a for of to from this that only just with number no der die das den dem für an zu le la les pour à".split()
)
_LOOKED_BACK = 160  # characters before an identifier in which an exception is looked for
_ADDRESSES = frozenset({IdentifierForm.EMAIL, IdentifierForm.PHONE})
_STEPS = 2  # from a record that is named to the one that has an address
_FORM_WORDS = 3  # at most, of a legal form: "Sp. z o.o."
_PLAIN_ID = 4  # digits of a number that a text can name a record by


class ToldRecords:
    """The records of what was read, as the user's words tell of them. ``told``: the user's own texts, the task first.

    Made for one reply: each text is looked through once.
    """

    def __init__(
        self, facts: Sequence[Fact], told: Sequence[str], sources: TraceSources, keys: RecordKeys = NO_KEYS
    ) -> None:
        self._facts, self._told, self._sources, self._keys = facts, told, sources, keys
        self._named: dict[str, Sequence[GraphNode]] = {}  # records by the words that name them
        self._told_by_words: dict[str, Sequence[tuple[GraphNode, Set[tuple[str, str]]]]] = {}

    def is_untold(self, leaf: ArgumentTrace, call: PlannedCall, tool: Tool, part: PartOfCall) -> bool:
        """Whether a change names a record that no word of the user tells of, where another one of its kind is meant.

        Another one is meant where the user names it and the part does not choose, or where several others were read.
        """
        value = value_at(call.arguments, leaf.path)
        if leaf.kind not in NAMING or leaf.origin is not OriginKind.FACT:
            return False
        if (
            form_of_identifier(as_text(value)) in _ADDRESSES
            and not leaves_choice_open(part.quote)
            and self._is_of_untold(value, part)
        ):
            return True
        is_one = not (leaves_choice_open(part.quote) or _RANGE.search(part.quote))
        if is_one and self._is_other_told(as_text(value), call, part):
            return True
        if is_one and not leaf.free_text_only and self._is_other_written(as_text(value), part):
            return True
        named = reference_of(name_of(leaf.path), value, noun_of_tool(tool.name), self._keys)
        calculated = {str(one).casefold() for one in self._sources.calculated.values()}
        if named is None or named.text in calculated:
            return False
        nodes = [node for node in self._read_nodes if node.names[0] and agree(named.noun, node.kind)]
        own = [node for node in nodes if named.text in node.names[0]]
        meant = self.list_meant(part)
        given = {str(one).casefold() for one in call.arguments.values()}
        if own and (self.leaves_choice(part.quote, own) or _RANGE.search(part.quote)):
            chosen = (node for node in own if not any(node.identity == one.identity for one in meant))
            return any(self._is_of_another(node, meant, given) for node in chosen)
        if own:
            others = [one for one in meant if agree(named.noun, one.kind) and named.text not in one.names[0]]
            return bool(others) and not any(self._is_told_of(node, others) for node in own)
        held = (reference.text for one in meant if one.names[0].isdisjoint(given) for reference in one.references)
        if named.text in held:
            return False  # another record that the part names has it
        return len({node.identity for node in nodes}) > 1

    def _is_other_told(self, name: str, call: PlannedCall, part: PartOfCall) -> bool:
        """Whether the part has what another record of the kind has, a name, an address or a reference, and nothing of
        what this one has in its place.
        """
        text = self._words_of(part)
        if stands_in(name, " ".join(self._told)):
            return False
        own = [node for node in self._read_nodes if name.casefold() in node.names[0]]
        given = {as_text(one).casefold() for _, one in walk_json(call.arguments) if not isinstance(one, dict | list)}
        given |= {title.casefold() for one in [*given] for title in self.titles.get(one, ())}
        kinds, mine = {node.kind for node in own}, {key for node in own for key in _told_values(node.record, text)}
        others = (
            (node, values - mine)
            for node, values in self._list_told(text)
            if node.kind in kinds and name.casefold() not in node.names[0] and mine <= values
        )
        return any(
            value.casefold() not in given
            and (_is_said_whole(value, text) or not any(_is_said_in_short(one, [node], (text,)) for one in own))
            for node, values in others
            for _, value in values
        )

    def _is_other_written(self, name: str, part: PartOfCall) -> bool:
        """Whether the part writes out an identifier of the same form which no call has, and nothing tells of this one:
        ``BA-5`` where it says BA-6. One that refers to the other, or to which the other refers, is told of with it.
        """
        shape, text = shape_of(name), self._words_of(part)
        if not shape or self.is_in_words_of_user(name):
            return False
        called = {as_text(one).casefold() for _, given in part.calls for _, one in walk_json(given)}
        written = {
            token.casefold()
            for token in number_bearing_tokens(blank_special_identifiers(text))
            if shape_of(token) == shape
        } - called
        referred = {reference.text for node in self.find_named(name) for reference in node.references}
        if not referred.isdisjoint(written) or self.tells_of(name):
            return False
        return any(not any(is_excluded(one, "id", said) for said in self.said) for one in written)

    def _is_of_untold(self, address: Json, part: PartOfCall) -> bool:
        """Whether an address is that of a record of which the user says nothing, and to which another one leads of the
        kind of those that they or the task's calls name, and none of these: the applicant of another file.
        """
        graph, wanted = self._graph, as_text(address).casefold()
        holders = [
            node for node in graph.nodes if any(as_text(one).casefold() == wanted for one in node.record.values())
        ]
        if not holders or self.is_in_words_of_user(wanted):
            return False
        called = {as_text(one).casefold() for _, given in part.calls for _, one in walk_json(given)} - {wanted}
        named = {node.identity for node in self.list_meant(THE_WHOLE)}
        named |= {node.identity for node in graph.nodes if not called.isdisjoint(node.names[0])}
        reached = _reach(graph, named)
        if any(node.identity in reached or self._is_asked_for(node) or self._is_told_of(node, ()) for node in holders):
            return False
        own = {node.identity for node in holders}
        kinds = {node.kind for node in graph.nodes if node.identity in named and node.kind}
        others = {node.identity for node in graph.nodes if node.kind in kinds} - reached - own
        return not own.isdisjoint(_reach(graph, others))

    def _is_asked_for(self, node: GraphNode) -> bool:
        """Whether the read that showed a record was made with something that the user says."""
        asked = (as_text(one) for _, one in walk_json(loads_object(node.seen.fact.arguments_json)))
        return any(self.is_in_words_of_user(one) for one in asked)

    def _list_told(self, text: str) -> Sequence[tuple[GraphNode, Set[tuple[str, str]]]]:
        """The records that a text tells of, and not as an exception, each with its values that the text has."""
        if text not in self._told_by_words:
            told = ((node, {*_told_values(node.record, text)}) for node in self._read_nodes)
            self._told_by_words[text] = [
                (node, values)
                for node, values in told
                if values and not any(_is_left_out(node, said) for said in self.said)
            ]
        return self._told_by_words[text]

    def _is_of_another(self, node: GraphNode, meant: Sequence[GraphNode], given: Set[str]) -> bool:
        """Whether a chosen record belongs to somebody whom no word tells of, where the user names another one of that
        kind: an absence of another pupil. One whom the call itself is given is what it sets, and counts for nothing.
        """
        known = [one for one in meant if one.kind and given.isdisjoint(one.names[0])]
        for kind in {one.kind for one in known}:
            names = {name for one in known if one.kind == kind for name in one.names[0]}
            held = {reference.text for reference in node.references if agree(reference.noun, kind)}
            if held and held.isdisjoint(names):
                return True
        return False

    def list_meant(self, part: PartOfCall) -> Sequence[GraphNode]:
        """The records with an id that the part names, or what the user says besides the other parts ("Ann married.
        Rename her."), and not as an exception.
        """
        text = self._words_of(part)
        if text not in self._named:
            said = find_mentions(text, self._sources.now)
            nodes = self._graph.nodes
            self._named[text] = [node for node in nodes if node.names[0] and _is_meant(node, said)]
        return self._named[text]

    def _words_of(self, part: PartOfCall) -> str:
        """What the user says in this turn besides the task's other parts."""
        text = self._told[0]
        for other in part.others:
            text = text.replace(other, " ") if other != part.quote else text
        return text

    @cached_property
    def said(self) -> tuple[Mentions, ...]:
        return tuple(find_mentions(text, self._sources.now) for text in self._told)

    def leaves_choice(self, quote: str, nodes: Sequence[GraphNode]) -> bool:
        """Whether the part leaves it open which record of this kind is meant: "all claims", but of other kinds."""
        if not leaves_choice_open(quote):
            return False
        said = {word for one in quote.split() for word in words(one)}
        kinds = {node.kind[-1] for node in self._read_nodes if node.kind} & said
        return not kinds or any(node.kind[-1:] and node.kind[-1] in kinds for node in nodes)

    def _is_told_of(self, node: GraphNode, others: Sequence[GraphNode]) -> bool:
        """Whether the user's words have any value of the record that those others do not have as well."""
        texts = self._sources.texts
        if _names_in(node, texts) or _is_said_in_short(node, others, [text.text for text in texts]):
            return True
        for key, value in node.record.items():
            if any(one.record.get(key) == value for one in others):
                continue
            number, moment = read_figure(value), None
            if isinstance(value, str) and value.strip():
                moment = read_machine_moment(value, self._sources.now.tzinfo)
                if any(_name_said(value, text.text) for text in texts):
                    return True
            if any(number in text.numbers_by_value or (moment and moment.day in text.days) for text in texts):
                return True
        return False

    @cached_property
    def _graph(self) -> RecordGraph:
        return record_graph(tuple(self._facts), self._keys)

    @cached_property
    def _read_nodes(self) -> Sequence[GraphNode]:
        """The records that the model asked for itself."""
        return record_graph(tuple(fact for fact in self._facts if not fact.by_machine), self._keys).nodes

    def tells_of(self, identifier: str) -> bool:
        """Whether the user's words tell of the record, by its id or a name, or of one that refers to it."""
        value, told = identifier.casefold(), self.list_meant(THE_WHOLE)
        if any(value in one.names[0] or value in {each.text for each in one.references} for one in told):
            return True
        return any(_is_named_by_field(node, text) for node in self.find_named(value) for text in self._told)

    def find_named(self, identifier: str) -> list[GraphNode]:
        return [node for node in self._graph.nodes if identifier.casefold() in node.names[0]]

    @cached_property
    def titles(self) -> Mapping[str, Sequence[str]]:
        """What the records that were read are called, by their ids."""
        found: dict[str, list[str]] = {}
        for node in self._graph.nodes:
            for name in node.names[0]:
                found.setdefault(name, []).extend(_titles_of(node))
        return found

    def is_in_words_of_user(self, value: str) -> bool:
        return any(stands_in(value, text) for text in self._told)


def _reach(graph: RecordGraph, named: Set[tuple[str, ...]]) -> Set[tuple[str, ...]]:
    """The identities of these records, and of those to which they lead, also under another kind's name."""
    reached = set(named)
    for _ in range(_STEPS):
        ids = {
            one for node in graph.nodes if node.identity in reached for one in node.names[0] if looks_like_id_text(one)
        }
        sights = [node for node in graph.nodes if node.identity in reached or not ids.isdisjoint(node.names[0])]
        reached |= {one.identity for node in sights for one in (node, *graph.records_around(node))}
    return reached


def _told_values(record: JsonObject, text: str, path: str = "") -> Iterator[tuple[str, str]]:
    """Yields what a text has of a record's names, addresses and references, with the paths of their fields: a number
    only behind its field's name, "unit 104".
    """
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _told_values(value, text, f"{path}{key}.")
        elif isinstance(value, str):
            pieces = (piece.strip() for piece in value.split(","))
            if any(len(piece) > 2 and piece[0].isupper() and _name_said(piece, text) for piece in pieces):
                yield f"{path}{key}", value
        elif isinstance(value, int) and not isinstance(value, bool):
            named = [word for word in words(f"{path}{key}".replace(".", "_")) if word != "id"][-1:]
            if named and re.search(rf"\b{re.escape(named[0])}\s+{value}\b", text, re.IGNORECASE):
                yield f"{path}{key}", str(value)


def _names_in(node: GraphNode, texts: Sequence[Mentions]) -> list[str]:
    """The record's ids that one of the texts has; a short plain number may be anything."""
    ids = [name for name in node.names[0] if not name.isdecimal() or len(name) >= _PLAIN_ID]
    return [name for name in ids if any(text.has_words(name) for text in texts)]


def _is_meant(node: GraphNode, said: Mentions) -> bool:
    """Whether a text names the record, and not as an exception."""
    return bool(_names_in(node, (said,)) or _titles_in(node, said)) and not _is_left_out(node, said)


def _is_left_out(node: GraphNode, said: Mentions) -> bool:
    kind = "_".join((*node.kind, "id"))
    return any(is_excluded(name, kind, said) for name in (*_names_in(node, (said,)), *_titles_in(node, said)))


def is_excluded(text: str, name: str, said: Mentions) -> bool:
    """Whether an identifier stands in a text as an exception. ``name``: of the field that it is the value of."""
    allowed = _LITTLE | {*words_of(name), *words(name)}
    for place in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", said.text, re.IGNORECASE):
        before = said.text[max(0, place.start() - _LOOKED_BACK) : place.start()].rstrip("\"'«„“‘(")
        before = _LISTED.sub("", before)
        found = _EXCLUDES.search(before)
        between = found["between"].split() if found else ()
        if found and all((words(word) or (word,))[0].casefold() in allowed for word in between):
            return True
        if _STAYS.match(said.text, place.end()):
            return True
    return False


def _titles_in(node: GraphNode, text: Mentions) -> list[str]:
    """The record's names and numbers, which are no ids, that the text has."""
    return [said for name in _titles_of(node) if (said := _name_said(name, text.text))]


def _titles_of(node: GraphNode) -> list[str]:
    return [
        value for key, value in node.record.items() if tells_apart(key) and isinstance(value, str) and value.strip()
    ]


def _is_said_in_short(node: GraphNode, others: Sequence[GraphNode], texts: Sequence[str]) -> bool:
    """Whether the texts have a word of the record's name that is in no name of the others: "Moreau" of Moreau Freres.
    Enough for a record that a call names, unless the texts have a whole name of one of the others.
    """
    if any(stands_in(title, text) for one in others for title in _titles_of(one) for text in texts):
        return False
    own, theirs = _words_of_titles(node), {word for one in others for word in _words_of_titles(one)}
    said = {word for text in texts for word in spaced_words(text).split()}
    return any(words(word) != node.kind[-1:] for word in (own - theirs - _LITTLE) & said)


def _is_said_whole(value: str, text: str) -> bool:
    """Whether a text has a value, or a piece of one with commas, just as it stands."""
    return any(stands_in(piece.strip(), text) for piece in value.split(",") if len(piece.strip()) > 2)


def _words_of_titles(node: GraphNode) -> set[str]:
    titles = (without_legal_form(title) for title in _titles_of(node))
    found = {word for title in titles for word in spaced_words(title).split() if not looks_like_id_text(title)}
    return {word for word in found if len(word) > 2 and not word.isdecimal()}


def _is_named_by_field(node: GraphNode, text: str) -> bool:
    """Whether a text has a full name of the record: of the holder of an account."""
    values = (leaf.value for leaf in leaves_of(node.record))
    names = (one for one in values if isinstance(one, str) and " " in one and one[:1].isupper())
    return any(_name_said(name, text) for name in names)


def _name_said(name: str, text: str) -> str:
    """A name as a text has it: whole, or a company's without its legal form, which has its capital if it is one word
    and no legal form behind it; empty if the text has neither.
    """
    if stands_in(name, text):
        return name
    short = without_legal_form(name)
    if len(short) <= 2 or short == name or not stands_in(short, text):
        return ""
    places = list(re.finditer(rf"\b{re.escape(short)}\b", text, re.IGNORECASE if " " in short else 0))
    return short if any(not _has_form_behind(short, text[place.end() :]) for place in places) else ""


def _has_form_behind(short: str, rest: str) -> bool:
    """Whether a legal form follows a name: "Vistula AG" is not Vistula GmbH."""
    behind = rest.split()[:_FORM_WORDS] if rest[:1].isspace() else []
    return any(without_legal_form(" ".join((short, *behind[:count]))) == short for count in range(1, len(behind) + 1))
