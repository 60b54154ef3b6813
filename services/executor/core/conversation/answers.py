"""Checks whether a model's reply without tool calls can be accepted as the answer, and adds the remarks below it."""

from collections.abc import Mapping, Sequence
from functools import cache

from services.executor.core.figures.identifiers import strip_strange_addresses
from services.executor.core.figures.trace import days_of_answer
from services.executor.core.figures.vocabulary import spaced_words
from services.executor.core.model.talk import local_now
from services.executor.core.plan.outcomes import write_as_fact
from services.executor.core.plan.sources import SourceFinder, known_sources
from services.executor.core.prime.prose import read_unenforced_sentence
from services.executor.core.reflect.quality import collect_sources, mentions_failure, says_found_value, untraced_tokens
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.left_out import append_remarks
from services.executor.core.session.values import Fact, list_open_questions
from services.executor.core.states.machine import NOTHING_WRITTEN, Failed
from services.executor.core.tools.failures import ReadFailure, classify_failure
from services.executor.core.tools.record_tree import is_empty_result
from services.executor.ports.tools import ToolAnswer
from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import is_json_list, parse_list_answer
from shared.domain.exact_json import as_text, dumps, loads, loads_object
from shared.domain.words import DONE, ToolClass
from shared.ports.models import ModelReply

_MOST_NAMED = 6  # figures that a sentence names
_MOST_TOLD = 3  # times that a fault of an answer is told
_CLAUSE_WORDS = 4  # fewer may stand in an answer by chance
_ENDS_EARLY = "[The answer was longer than a reply may be, and ends here.]"
_ADVICE_TO_CALL_TOOLS = (  # of a first reply of text alone: the task's parts are not known
    "Nothing was read or done yet. Call `understand`, and beside it the tools that the task needs; of a task that only "
    "asks, and needs no tool, call `understand` alone and then answer."
)


class AnswerChecks:
    """Checks the answers of one conversation. The model is told of a fault at most three times, and after the first
    time only if it has done something since. What it was told is journaled, so that a later attempt at the turn decides
    alike.
    """

    def __init__(self, ctx: TurnContext) -> None:
        self._ctx = ctx
        self._told: dict[str, list[str]] = {}  # by a fault's name, how far the task was each time that it was told
        self._untraced: tuple[str, ...] = ()
        self._cut = ""  # the text of a reply that ended at its greatest length

    async def find_problem(
        self,
        key: str,
        reply: ModelReply,
        progress: Progress,
        lacking: Sequence[int] | None,
        unnamed: Mapping[int, Sequence[str]],
    ) -> str:
        """The text that tells the model what is wrong with its answer; empty if the answer is accepted.

        ``key`` names the reply in the journal. ``lacking``: the parts to be done that have no call; None if the model
        has called no tool at all. ``unnamed``: by part, the listed identifiers that no call names. Raises ``Failed`` if
        the answer is empty for a second time.
        """
        self._cut = reply.text if reply.is_cut else ""
        told = self._ctx.journal.get_from_earlier_attempt(f"{key}:answer")
        if told is not None:
            head, _, problem = told.partition(": ")
            name, _, stand = head.partition("@")
            self._told.setdefault(name, []).append(stand)
            return problem
        writes = tuple((await self._ctx.store.read_ledger()).values())
        self._untraced = self._find_untraced(reply.text, progress, writes)
        checks = (
            ("cut", self._find_format_problem(reply, progress)),
            (
                "unread",
                self._write_request_to_read(reply, progress)
                if lacking is not None
                else _ADVICE_TO_CALL_TOOLS * bool(reply.text.strip()),
            ),
            ("lacking", self._describe_uncalled_parts(progress, lacking or ())),
            ("unnamed", _write_request_for_unnamed_ids(unnamed)),
            ("untraced", _write_request_to_trace(self._untraced)),
            ("unanswered", self._write_request_to_leave_parts(reply.text, progress, lacking, writes)),
        )
        stand = _progress_fingerprint(progress, self._untraced)
        for name, problem in checks:
            told_at = self._told.setdefault(name, [])
            if problem and len(told_at) < _MOST_TOLD and stand not in told_at:
                told_at.append(stand)
                self._ctx.journal.add_event("note", answer_problem=problem)
                self._ctx.journal.add_entry(f"{key}:answer", "note", f"{name}@{stand}: {problem}")
                return problem
        if not (reply.text.strip() or writes):
            raise Failed("the model gave no usable answer: it was empty", "model")
        return ""

    async def has_only_traced_values(self, key: str, text: str, progress: Progress) -> bool:
        """Whether each figure and identifier of the text has a source. Decided once, and journaled under ``key``."""
        writes = tuple((await self._ctx.store.read_ledger()).values())
        return not self._ctx.journal.decide_once(key, lambda: " ".join(self._find_untraced(text, progress, writes)))

    def _find_untraced(self, text: str, progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[str, ...]:
        """The figures and identifiers of the text for which neither of two searches finds a source, and such days."""
        strange = untraced_tokens(text, collect_sources(self._ctx.task, progress.dossier, writes))
        days = days_of_answer(text, local_now(self._ctx))
        if not (strange or days):
            return ()
        finder = self._make_source_finder(progress, writes)
        others = " ".join(finder.untraced_figures(text)) if strange else ""
        return (*(token for token in strange if token in others), *finder.untraced_days(days))

    def _make_source_finder(self, progress: Progress, writes: Sequence[LedgerEntry] = ()) -> SourceFinder:
        facts = (*progress.dossier.facts, *map(_answer_to_write, writes))
        return SourceFinder(known_sources(self._ctx, facts, progress.dossier.values))

    def with_answer(self, progress: Progress, text: str, missing: Sequence[str], *, was_refused: bool) -> Progress:
        """The progress with its answer and the remarks below it. An answer that is a JSON list is kept to the byte
        (I9).

        ``missing``: sentences of the task that nothing was done about, which the task's metadata names, too.
        ``was_refused``: whether the model proposed a write though the task only asks.
        """
        if missing:
            progress = progress.add_notes(not_taken_up=[*missing])
        is_cut = bool(text) and text == self._cut
        text = (parse_list_answer(text) if progress.dossier.answer_format == "list" else None) or text
        if is_json_list(text.strip()):  # what stands around a list stays, too: without it nobody said that list
            return progress.update_dossier(answer=text)
        finder = cache(lambda: self._make_source_finder(progress))  # few answers have an address
        text = strip_strange_addresses(text, lambda address: finder().is_address_of_free_text(address))
        ends = f" ... {_ENDS_EARLY}" if is_cut else ""
        text = f"{text.rstrip()}{ends}{self._build_caveat(progress, text, missing)}"
        text += f"\n\n{NOTHING_WRITTEN}" if was_refused else ""
        return progress.update_dossier(answer=append_remarks(self._ctx, progress.dossier, text))

    def _find_format_problem(self, reply: ModelReply, progress: Progress) -> str:
        if reply.is_cut:
            return "The answer was cut off: answer more briefly."
        if not reply.text.strip():
            return "The answer was empty: answer the task."
        if progress.dossier.answer_format == "list" and parse_list_answer(reply.text) is None:
            return "The answer must be one JSON list and nothing else."
        return ""

    def _write_request_to_read(self, reply: ModelReply, progress: Progress) -> str:
        """The text that tells the model to read first; empty if something was read or calculated, or there is no read
        tool.
        """
        dossier = progress.dossier
        if self._ctx.files or dossier.facts or dossier.values or dossier.every_plan:
            return ""
        if not any(tool.tool_class is ToolClass.READ for tool in self._ctx.toolbox.tools.values()):
            return ""
        return (
            "Nothing was read yet. Call the tools that the task needs; if it needs none, give the same answer again."
            if reply.text.strip()
            else ""
        )

    def _describe_uncalled_parts(self, progress: Progress, lacking: Sequence[int]) -> str:
        quotes = [f"{part.number} ({part.quote[:80]})" for part in progress.dossier.parts if part.number in lacking]
        if not quotes:
            return ""
        return (
            f"No call was made for part {', '.join(quotes)}. Make the calls that it needs now, or `leave_part` where "
            "its own condition is not met; if it cannot or must not be done, give the answer and say in it why."
        )

    def _write_request_to_leave_parts(
        self, text: str, progress: Progress, lacking: Sequence[int] | None, writes: Sequence[LedgerEntry]
    ) -> str:
        """The text that asks the model to leave each part that it did not answer, if the answer has nothing of what was
        read, or says that something was not found; else empty. The answer's words alone decide nothing; the model's
        declaration does.
        """
        parts = progress.dossier.parts
        elsewhere = lacking is None or lacking or any(part.unmet for part in parts)
        elsewhere = elsewhere or any(entry.status not in DONE for entry in writes)
        questions = list_open_questions(parts)
        if elsewhere or not questions or self._ctx.record.request.practice:
            return ""
        numbers = ", ".join(str(part.number) for part in questions)
        facts = [fact for fact in progress.dossier.facts if fact.ok]
        shows = any(not is_empty_result(fact.result) for fact in facts) and not any(map(_is_yes_or_no_result, facts))
        if (
            shows
            and not self._untraced
            and not says_found_value(text, collect_sources(self._ctx.task, progress.dossier, writes))
        ):
            return (
                f"Your answer has nothing of what was found. Answer each part to find out ({numbers}), and "
                "`leave_part` each one that has no answer; if it answers them all, give it again as it is."
            )
        if mentions_failure(text):
            return (
                f"Your answer says that something was not found. Of the parts to find out ({numbers}), `leave_part` "
                "each one that it leaves unanswered; if it leaves none so, give it again as it is."
            )
        return ""

    def _build_caveat(self, progress: Progress, text: str, missing: Sequence[str]) -> str:
        strange = [token for token in self._untraced if token in text]
        said = [f"Not verified: {', '.join(strange[:_MOST_NAMED])}."] if strange else []
        if self._told.get("unread") and not progress.dossier.facts:
            said.append("Nothing was read for this answer.")
        left = [part for part in progress.dossier.parts if part.unmet and part.is_excused]  # others: not done
        said += [f"Not done: {part.quote}: {part.unmet}." for part in left if not _contains_reason(text, part.unmet)]
        said += [f"Not taken up: {sentence}" for sentence in missing]
        said += filter(None, [read_unenforced_sentence(self._ctx)])
        return "".join(f"\n\n{one}" for one in said)


def _answer_to_write(entry: LedgerEntry) -> Fact:
    """What was written and what the server said to it, as a source of what the answer tells of it."""
    written, said = loads(entry.arguments_json), loads(entry.result_json or "null")
    return write_as_fact(entry, dumps({"arguments": written, "result": said, "refusal": entry.refusal}))


def _is_yes_or_no_result(fact: Fact) -> bool:
    """Whether a read returned only true or false values. An answer tells these in words, so none of its values recurs
    there.
    """
    asked = {as_text(value) for value in loads_object(fact.arguments_json).values()}
    values = fact.result.values() if isinstance(fact.result, dict) else ()
    news = [value for value in values if as_text(value) not in asked]
    return bool(news) and all(isinstance(value, bool) for value in news)


def _progress_fingerprint(progress: Progress, untraced: Sequence[str]) -> str:
    """The number of reads, figures and plans so far, and the answer's untraced figures, as one text to compare."""
    dossier = progress.dossier
    counts = (len(dossier.facts), len(dossier.values), len(dossier.every_plan))
    return "/".join((*map(str, counts), *untraced))


def why_not_answerable(text: str, ctx: TurnContext, dossier: Dossier) -> str:
    """Why no part to find out can have an answer; empty if one may have.

    One may have if there is a text, unless the model has only made reads, without figures, plans and files, and each of
    them failed. A read that found nothing has not failed.
    """
    if not text.strip():
        return "none was given"
    read = [fact for fact in dossier.facts if not fact.by_machine]
    if not read or dossier.values or dossier.every_plan or ctx.files:
        return ""
    # That a server has nothing of a name is an answer, too.
    if any(one.ok or classify_failure(ToolAnswer(one.result, is_error=True)) is ReadFailure.NOT_FOUND for one in read):
        return ""
    return f"no read worked: {', '.join(dict.fromkeys(fact.tool for fact in read))}"


def _contains_reason(text: str, because: str) -> bool:
    """Whether the answer contains the reason why a part was left, or at least the reason's last clause, which says what
    was found.

    The result's reference in brackets is meant for the model alone, and is not looked for.
    """
    reason = because.rpartition(" (")[0] or because
    found = reason.rpartition(": ")[2]
    said = spaced_words(text)
    return spaced_words(reason) in said or (len(found.split()) >= _CLAUSE_WORDS and spaced_words(found) in said)


def _write_request_to_trace(untraced: Sequence[str]) -> str:
    if not untraced:
        return ""
    return (
        f"These stand neither in the task nor in any result: {', '.join(untraced[:_MOST_NAMED])}. Work them out "
        "with `calculate`, or answer without them."
    )


def _write_request_for_unnamed_ids(unnamed: Mapping[int, Sequence[str]]) -> str:
    if not unnamed:
        return ""
    said = "; ".join(f"part {number}: no call names {', '.join(ids[:_MOST_NAMED])}" for number, ids in unnamed.items())
    return (
        f"{said}. Make the calls that are missing now; where they must not be made, `leave_part` with the reason, and "
        "what was made stands."
    )
