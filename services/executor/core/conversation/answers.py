"""What a reply without calls must be to count as the answer, and what is said under it."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.dossier.endings import Failed
from services.executor.core.dossier.parts import fold_words
from services.executor.core.dossier.values import PartOfTask
from services.executor.core.figures.identifiers import (
    IdentifierForm,
    find_codes,
    find_special_identifiers,
    identifier_key,
)
from services.executor.core.figures.mentions import spaced_words, split_name
from services.executor.core.plan.known_figures import known_sources
from services.executor.core.plan.sources import SourceFinder
from services.executor.core.prime.prose_sentences import unenforced_sentence
from services.executor.core.records.tool_words import words_of_tool
from services.executor.core.reflect.found import collect_found, untraced_tokens
from services.executor.core.session.context import TurnContext
from services.executor.core.tools import classes
from services.executor.core.write.left_out import append_remarks
from services.executor.ports.models import ModelReply
from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import as_list, is_exact_match
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:[-_.'/][^\W_]+)*")
_LEADING = frozenset("please then also and next finally afterwards now but kindly".split())
_VERBS = classes.READ | classes.COMPUTE | classes.NOTIFY | classes.DELIVER | classes.RECORD | classes.CHANGE
_MORE_VERBS = frozenset("tell ask give let bring take inform find".split())
_STATES = frozenset("is are was were has have had".split())
_FEWEST_WORDS = 3
_MOST = 3


def sentences_not_taken_up(task: str, parts: Sequence[PartOfTask], tools: Iterable[str]) -> tuple[str, ...]:
    """The sentences that no part touches: each asks or tells to do something, and names a thing that no part names.

    Few at most, and only sentences that begin with a verb or are questions: what merely tells something is no part.
    ``tools``: the names of the tools, whose verbs count, too.
    """
    verbs = _VERBS | _MORE_VERBS | {words_of_tool(name).verb for name in tools}
    quoted = [fold_words(piece) for part in parts for piece in _SENTENCE.split(part.quote) if fold_words(piece)]
    known = {key for part in parts for key in _keys(part.quote)}
    found = [
        sentence.strip()
        for sentence in _SENTENCE.split(task)
        if not _is_touched(fold_words(sentence), quoted) and _asks(sentence, verbs) and set(_keys(sentence)) - known
    ]
    return tuple(found[:_MOST])


def still_missing(sentences: Iterable[str], dossier: Dossier) -> tuple[str, ...]:
    """Those of the sentences that name something which no call named, read or write."""
    asked = [call.arguments_json for plan in dossier.every_plan for call in plan.calls]
    asked += [fact.arguments_json for fact in dossier.facts]
    named = {key for text in asked for key in _keys(text)}
    return tuple(sentence for sentence in sentences if set(_keys(sentence)) - named)


def problems_of(sentences: Iterable[str]) -> list[Json]:
    return [f"no part takes up: {sentence!r}" for sentence in sentences]


def _is_touched(sentence: str, quoted: Sequence[str]) -> bool:
    return not sentence or any(quote in sentence or sentence in quote for quote in quoted)


def _asks(sentence: str, verbs: Collection[str]) -> bool:
    words = [word.casefold() for word in _WORD.findall(sentence)]
    if len(words) < _FEWEST_WORDS:
        return False
    first, *rest = [*_without_leading(words), ""]
    if sentence.rstrip().endswith("?") or (first in verbs and first not in classes.AMBIGUOUS):
        return True
    is_noun = _STATES.intersection(rest) or any(map(str.isdigit, rest[0] if rest else ""))
    return first in classes.AMBIGUOUS and not is_noun  # "Order O-5 ...", "The order is ..." tell something


def _without_leading(words: Sequence[str]) -> Sequence[str]:
    start = next((place for place, word in enumerate(words) if word not in _LEADING), 0)
    return words[start:]


def _keys(text: str) -> Iterator[tuple[str, ...]]:
    return (identifier_key(code.text) for code in find_codes(text))


LEFT_OUT = "(address left out)"
_OPENED = frozenset("url urls uri uris link links href endpoint webhook callback host domain site website".split())
_LABEL, _TARGET = r"\[(?P<label>[^\]\n]*)\]", r"\(\s*<?(?P<target>[^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*)>?[^)\n]*\)"
_LINK = re.compile(rf"(?P<image>!?){_LABEL}{_TARGET}")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?(?P<target>[^\s<>]+)>?[^\n]*$", re.MULTILINE)
_HTML = re.compile(r"<(?:a|img|iframe|link|source|video|audio)\b[^>]*>", re.IGNORECASE)
_AUTOLINK = re.compile(r"<(?P<target>[a-z][a-z0-9+.-]*:[^\s<>]+)>", re.IGNORECASE)


def opened_addresses(arguments: JsonObject) -> Iterator[str]:
    """The addresses in a read's arguments that its tool may open."""
    for name, value in _texts("", arguments):
        links = [found.text for found in find_special_identifiers(value) if found.form is IdentifierForm.LINK]
        yield from links
        if not links and value and not _OPENED.isdisjoint(split_name(name)):
            yield value


def without_addresses(text: str, is_strange: Callable[[str], bool]) -> str:
    """The text with each link and image to a strange address as plain text, and without the address."""

    def plain(match: re.Match[str]) -> str:
        return match["label"] if is_strange(match["target"]) else match[0]

    def leave_out(match: re.Match[str]) -> str:
        return LEFT_OUT if any(map(is_strange, _links(match[0]))) else match[0]

    text = _LINK.sub(plain, text)
    for form in (_REFERENCE, _HTML, _AUTOLINK):
        text = form.sub(leave_out, text)
    for address in sorted({*_links(text)}, key=len, reverse=True):
        if is_strange(address):
            text = text.replace(address, LEFT_OUT)
    return text


def _links(text: str) -> list[str]:
    return [found.text for found in find_special_identifiers(text) if found.form is IdentifierForm.LINK]


def _texts(name: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(name, inner)
    elif isinstance(value, str):
        yield name, value.strip()


_NAMED = 6  # figures that a sentence names
_CLAUSE_WORDS = 4  # fewer may stand in an answer by chance
_UNCALLED = (
    "Nothing was read or done yet. Call `understand`, and beside it the tools that the task needs; of a task that only "
    "asks, and needs no tool, call `understand` alone and then answer."
)


class AnswerChecks:
    """Checks the answers of one conversation. Each fault is told to the model once, and kept in the journal: whoever
    walks the conversation again knows more than was known then.
    """

    def __init__(self, ctx: TurnContext) -> None:
        self._ctx = ctx
        self._told: set[str] = set()
        self._untraced: tuple[str, ...] = ()

    async def problem_with(
        self,
        key: str,
        reply: ModelReply,
        progress: Progress,
        lacking: Sequence[int] | None,
        unnamed: Mapping[int, Sequence[str]] = {},  # read only
    ) -> str:
        """What the model is told of its answer; empty where it counts as it is. ``key`` names the reply.

        ``lacking``: the parts to be done that have no call; None where the model has called nothing at all.
        ``unnamed``: by part, what it lists and no call names.

        Raises ``Failed`` where it says nothing at all, once more.
        """
        told = self._ctx.journal.of_earlier_attempt(f"{key}:answer")
        if told is not None:
            name, _, problem = told.partition(": ")
            self._told.add(name)
            return problem
        writes = tuple((await self._ctx.store.ledger()).values())
        self._untraced = self._strangers(reply.text, progress, writes)
        checks = (
            ("cut", self._form(reply, progress)),
            ("unread", self._unread(reply, progress) if lacking is not None else _ask_for_calls(reply)),
            ("lacking", self._lacking(progress, lacking or ())),
            ("unnamed", _ask_for_listed(unnamed)),
            ("untraced", self._strange()),
        )
        for name, problem in checks:
            if problem and name not in self._told:
                self._told.add(name)
                self._ctx.journal.tell("note", answer_problem=problem)
                self._ctx.journal.add(f"{key}:answer", "note", f"{name}: {problem}")
                return problem
        if not (reply.text.strip() or writes):
            raise Failed("the model gave no usable answer: it was empty", "model")
        return ""

    def _strangers(self, text: str, progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[str, ...]:
        """The figures and identifiers that neither way of looking finds in what is known."""
        known = collect_found(self._ctx.task, progress.dossier, writes)
        strange = untraced_tokens(text, known)
        if not strange:
            return ()
        others = " ".join(self._finder(progress).strange_figures(text))
        return tuple(token for token in strange if token in others)

    def _finder(self, progress: Progress) -> SourceFinder:
        return SourceFinder(known_sources(self._ctx, progress.dossier.facts, progress.dossier.values))

    def with_answer(self, progress: Progress, text: str, missing: Sequence[str] = ()) -> Progress:
        """The progress with its answer; a list that was asked for passes through untouched, to the byte (I9).

        ``missing``: sentences of the task that nothing was done about; the task's metadata names them, too.
        """
        if missing:
            progress = progress.model_copy(update={"notes": {**progress.notes, "not_taken_up": [*missing]}})
        text = (as_list(text) if progress.dossier.answer_format == "list" else None) or text
        if is_exact_match(text):
            return progress.update_dossier(answer=text)
        text = without_addresses(text, self._finder(progress).is_address_of_free_text)
        text = f"{text.rstrip()}{self._caveat(progress, text, missing)}"
        return progress.update_dossier(answer=append_remarks(self._ctx, progress.dossier, text))

    def _form(self, reply: ModelReply, progress: Progress) -> str:
        if reply.stop_reason == "max_tokens":
            return "The answer was cut off: answer more briefly."
        if not reply.text.strip():
            return "The answer was empty: answer the task."
        if progress.dossier.answer_format == "list" and as_list(reply.text) is None:
            return "The answer must be one JSON list and nothing else."
        return ""

    def _unread(self, reply: ModelReply, progress: Progress) -> str:
        """An answer in place of a first read; where nothing can be read there is nothing to say."""
        if (
            self._ctx.files
            or progress.dossier.facts
            or progress.dossier.values
            or progress.dossier.plans
            or progress.dossier.plan
        ):
            return ""
        if not any(tool.tool_class is ToolClass.READ for tool in self._ctx.toolbox.tools.values()):
            return ""
        return (
            "Nothing was read yet. Call the tools that the task needs; if it needs none, give the same answer again."
            if reply.text.strip()
            else ""
        )

    def _lacking(self, progress: Progress, lacking: Sequence[int]) -> str:
        quotes = [f"{part.number} ({part.quote[:80]})" for part in progress.dossier.parts if part.number in lacking]
        if not quotes:
            return ""
        return (
            f"No call was made for part {', '.join(quotes)}. Make the calls that it needs now, or `leave_part` where "
            "its own condition is not met; if it cannot or must not be done, give the answer and say in it why."
        )

    def _strange(self) -> str:
        if not self._untraced:
            return ""
        return (
            f"These stand neither in the task nor in any result: {', '.join(self._untraced[:_NAMED])}. Work them out "
            "with `calculate`, or answer without them."
        )

    def _caveat(self, progress: Progress, text: str, missing: Sequence[str]) -> str:
        strange = [token for token in self._untraced if token in text]
        said = [f"Not verified: {', '.join(strange[:_NAMED])}."] if strange else []
        if "unread" in self._told and not progress.dossier.facts:
            said.append("Nothing was read for this answer.")
        left = [part for part in progress.dossier.parts if part.unmet and part.is_excused]  # others: not done
        said += [f"Not done: {part.quote}: {part.unmet}." for part in left if not _tells(text, part.unmet)]
        said += [f"Not taken up: {sentence}" for sentence in missing]
        said += filter(None, [unenforced_sentence(self._ctx)])
        return "".join(f"\n\n{one}" for one in said)


def _tells(text: str, because: str) -> bool:
    """Whether the answer says by itself why a part was left, or at least what was found: the last clause of it.

    The result that shows it is named for the model alone.
    """
    reason = because.rpartition(" (")[0] or because
    found = reason.rpartition(": ")[2]
    said = spaced_words(text)
    return spaced_words(reason) in said or (len(found.split()) >= _CLAUSE_WORDS and spaced_words(found) in said)


def _ask_for_calls(reply: ModelReply) -> str:
    """A first reply of text alone: what it says was neither read nor done, and what the task asks is not known."""
    return _UNCALLED if reply.text.strip() else ""


def _ask_for_listed(unnamed: Mapping[int, Sequence[str]]) -> str:
    if not unnamed:
        return ""
    said = "; ".join(f"part {number}: no call names {', '.join(ids[:_NAMED])}" for number, ids in unnamed.items())
    return (
        f"{said}. Make the calls that are missing now; where they must not be made, `leave_part` with the reason, and "
        "what was made stands."
    )
