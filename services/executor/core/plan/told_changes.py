"""Changes that a notice does not tell of: its words and its records are all of something else."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.figures.numbers import is_like_an_id, number_bearing_tokens
from services.executor.core.figures.vocabulary import has_condition
from services.executor.core.plan.notices import changes_told_by
from services.executor.core.records.binding import named_records
from services.executor.core.records.called_records import agree, as_id, noun_of_tool
from services.executor.core.records.record_graph import GraphNode, RecordGraph, record_graph
from services.executor.core.records.references import literal_parts
from services.executor.core.session.values import Fact, PartOfTask
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.record_tree import RecordKeys
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import JsonObject
from shared.domain.keywords import keywords

_ENDS_PIECE = re.compile(
    r"[.,;:!?]+(?=\s|$)|[\n()。、，；：！？]|\s[-–—]\s|\b(?:and|or|but|as|because|since|while|also|und|oder|aber|weil|sowie|et|ou|"
    r"mais|car|y|o|pero|porque|e|ma|en|och|og|ja)\b",
    re.IGNORECASE,
)
_FOLLOWS = re.compile(
    r"\b(?:then|after\w*|upon|following|result\w*|confirm\w*|now|instead|in place|therefore|thus|hence|so|too|both|"
    r"else|everything|rest|others?|done|likewise|dann|danach|nachdem|stattdessen|deshalb|daher|puis|ensuite|après|donc|"
    r"luego|después|lugar)\b",
    re.IGNORECASE,
)
_POLITE = frozenset("dear hello hi sir madam kind best warm regards wishes yours sincerely thank thanks you".split())


def mark_apart(
    plan: WritePlan, texts: Iterable[str], parts: Iterable[PartOfTask], facts: Sequence[Fact], keys: RecordKeys
) -> WritePlan:
    """The plan whose notices say of which changes they do not tell. ``texts``: all that the user said.

    Only a notice without a change in its part leaves any out: where each piece of its part names a record that was read
    by its identifier, and each piece of its text one by identifier or name, no path of records leads from these to the
    change's, and no word is of the change, its part or its records. One without a text, such as a statement to another
    party than the change's, waits until the changes are acknowledged, and for no proof. Where the user's words say that
    something depends on something or follows it, each notice tells of all.
    """
    if any(map(_follows, texts)):
        return plan
    graph, quotes = record_graph(tuple(facts), keys), {part.number: part.quote for part in parts}
    return plan.model_copy(update={"calls": tuple(_mark(call, plan, quotes, graph) for call in plan.calls)})


def _mark(notice: PlannedCall, plan: WritePlan, quotes: Mapping[int, str], graph: RecordGraph) -> PlannedCall:
    told, quote = changes_told_by(notice, plan), quotes.get(notice.part or 0, "")
    is_alone = notice in plan.notices and not any(change.part in (None, notice.part) for change in told)
    named = _find_named(notice, quote, graph) if told and quote and is_alone else None
    if named is None:
        return notice
    parts = {change.call_id: quotes.get(change.part or 0, "") for change in told}
    apart = tuple(change.call_id for change in told if _is_apart(change, parts[change.call_id], named, graph))
    if named.texts:
        return notice.model_copy(update={"apart_from": apart})
    return notice.model_copy(update={"if_acknowledged": ""}) if len(apart) == len(told) else notice


class _Named(NamedTuple):
    """The records that a notice names, the texts in which it says more, and its words without its identifiers."""

    nodes: Sequence[GraphNode]
    texts: Sequence[str]
    words: frozenset[str]


def _find_named(notice: PlannedCall, quote: str, graph: RecordGraph) -> _Named | None:
    """None if it is not known which records the notice is about."""
    given, called = named_records(notice.tool, notice.arguments, graph), _nodes_by_text(graph)
    leaves = [str(leaf) for leaf in literal_parts(notice.arguments) if leaf not in (None, "")]
    meant = called.keys() | {name for node in given.mentioned for names in node.names for name in names}
    texts = [leaf for leaf in leaves if as_id(leaf) not in meant]
    ids = {one.casefold() for text in (quote, *leaves) for one in number_bearing_tokens(text) if is_like_an_id(one)}
    nodes = [*given.mentioned, *(node for one in (*ids, *map(as_id, leaves)) for node in called.get(one or "", ()))]
    names = {
        name
        for node in nodes
        for name in _tokens_of(*node.names[0], *node.names[1], *node.names[2])
        if not name.isdigit()
    }
    is_about = all(_is_about(piece, names) for text in texts for piece in _ENDS_PIECE.split(text))
    is_bound = any(map(_follows, texts))
    is_asked = not texts or all(any(one in piece.casefold() for one in ids) for piece in _ENDS_PIECE.split(quote))
    own = noun_of_tool(notice.tool, graph.keys)
    is_document = bool(own) and not any(agree(own, node.kind) for node in nodes)
    tells_itself = any(one in text.casefold() for one in ids for text in texts) if texts else is_document
    is_unknown = given.unread or not nodes or not ids <= called.keys()
    if is_unknown or is_bound or not (is_about and is_asked and tells_itself):
        return None
    kinds = sorted({word for node in nodes for word in node.kind})
    called_so = rf"(?:\b(?:{'|'.join(map(re.escape, kinds))})s?\s+)?(?:{'|'.join(map(re.escape, ids)) or '(?!)'})(?!\w)"
    said = (re.sub(called_so, " ", text, flags=re.IGNORECASE) for text in (quote, *texts))
    tool = (word for word in words_of(notice.tool) if word not in kinds)
    return _Named(nodes, texts, _tokens_of(*said, *tool))


def _follows(text: str) -> bool:
    """Whether something in a text depends on something else, or follows it."""
    return has_condition(text) or _FOLLOWS.search(text) is not None


def _is_about(piece: str, names: Collection[str]) -> bool:
    """Whether a piece of a sentence names one of the records, or says nothing."""
    return any(one in names for one in _tokens_of(piece)) or _POLITE.issuperset(re.findall(r"\w+", piece.casefold()))


def _is_apart(change: PlannedCall, quote: str, notice: _Named, graph: RecordGraph) -> bool:
    given = named_records(change.tool, change.arguments, graph)
    joined = _connected_records(graph, given.mentioned)
    is_known = given.records and not given.unread
    if not is_known or any(id(node) in joined for node in notice.nodes):
        return False
    kinds = (word for noun in given.kinds for word in noun)
    arguments = map(str, literal_parts(change.arguments))
    told = _tokens_of(quote, *words_of(change.tool), *kinds, *arguments, *_tell_of(joined.values()))
    others = [one.noun for node in joined.values() for one in node.references]
    is_to_another = all(any(agree(noun, node.kind) for noun in others) for node in notice.nodes)
    return notice.words.isdisjoint(told) and (bool(notice.texts) or is_to_another)


def _connected_records(graph: RecordGraph, named: Iterable[GraphNode]) -> dict[int, GraphNode]:
    """Every record to which a path of records leads, in whatever direction they refer to each other."""
    found, near, called = dict[int, GraphNode](), [*named], _nodes_by_text(graph)
    while near:
        node = near.pop()
        if id(node) not in found:
            found[id(node)] = node
            near += [*graph.records_around(node), *graph.records_about(node)]
            ids = (name for name in node.names[0] | node.names[1] if is_like_an_id(name))
            near += [one for name in ids for one in called[name]]  # other sights of it, whatever they call it
    return found


@lru_cache(maxsize=8)
def _nodes_by_text(graph: RecordGraph) -> dict[str, list[GraphNode]]:
    """The records by their names, else by the identifiers and addresses that stand in them; no mere figure is one."""
    own, others = dict[str, list[GraphNode]](), dict[str, list[GraphNode]]()
    for node in graph.nodes:
        stand = {as_id(text) or "" for text in _texts_in(node.record) if "@" in text or is_like_an_id(text)}
        for found, texts in ((own, frozenset().union(*node.names)), (others, stand)):
            for text in texts:
                if not text.isdigit():
                    found.setdefault(text, []).append(node)
    return {**others, **own}


def _texts_in(value: JsonObject) -> Iterator[str]:
    yield from (leaf for leaf in literal_parts(value) if isinstance(leaf, str) and leaf.strip())


def _tell_of(nodes: Iterable[GraphNode]) -> Iterator[str]:
    """What could be said of the records: their texts, and the identifiers that they have or refer to."""
    for node in nodes:
        yield from _texts_in(node.record)
        yield from (name for names in node.names for name in names)
        yield from (one.text for one in node.references if one.is_id)


def _tokens_of(*texts: str) -> frozenset[str]:
    """The words of texts as they are compared: stems, and whatever has a digit as it stands."""
    whole = "\n".join(texts)
    return frozenset((*map(str.casefold, number_bearing_tokens(whole)), *keywords(whole, len(whole))))
