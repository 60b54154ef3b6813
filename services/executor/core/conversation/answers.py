"""Checks whether a model's reply without tool calls can be accepted as the answer, and adds the remarks below it."""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from services.executor.core.figures.identifiers import strip_strange_addresses
from services.executor.core.figures.trace import find_days_in_answer
from services.executor.core.figures.vocabulary import spaced_words
from services.executor.core.plan.outcomes import convert_write_to_fact
from services.executor.core.plan.sources import SourceFinder, build_known_sources
from services.executor.core.prime.prose import read_unenforced_sentence
from services.executor.core.reflect.quality import (
    collect_sources,
    find_untraced_tokens,
    mentions_failure,
    says_found_value,
)
from services.executor.core.session.context import TurnContext, append_remarks, get_task_time
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.ledger import list_writes
from services.executor.core.session.values import Fact, list_open_questions
from services.executor.core.states.machine import NOTHING_WRITTEN_TEXT, Failed
from services.executor.core.tools.failures import ReadFailureKind, classify_failure
from services.executor.core.tools.record_tree import is_empty_result
from services.executor.ports.tools import ToolAnswer
from shared.contracts.ledger import LedgerEntry
from shared.domain.answer import is_json_list, parse_list_answer
from shared.domain.exact_json import as_text, dumps, loads, loads_object
from shared.domain.words import DONE_STATUSES, ToolClass
from shared.ports.models import ModelReply

_MOST_FIGURES_NAMED = 6  # figures that a sentence names
_MOST_REPEATS_OF_FAULT = 3  # that the model is told of one fault
_FEWEST_WORDS_OF_CLAUSE = 4  # fewer may stand in an answer by chance
_TRUNCATED_ANSWER_TEXT = "[The answer was longer than a reply may be, and ends here.]"
_PART_NUMBER_PATTERN = re.compile(r"\bparts? (\d{1,3})\b(?![.,/-]?\w)", re.IGNORECASE)  # as the model is told of a part
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
        self._fingerprints_by_fault: dict[str, list[str]] = {}  # of the progress, each time that a fault was told
        self._untraced_tokens: tuple[str, ...] = ()
        self._cut_text = ""  # the text of a reply that ended at its greatest length

    async def find_problem(
        self,
        key: str,
        reply: ModelReply,
        progress: Progress,
        uncalled_parts: Sequence[int] | None,
        ids_without_call: Mapping[int, Sequence[str]],
    ) -> str:
        """The text that tells the model what is wrong with its answer; empty if the answer is accepted.

        This text is journaled and remembered: one fault is told at most three times, and not twice while nothing has
        changed.

        ``key`` names the reply in the journal. ``uncalled_parts``: the parts to be done that have no call; None if the
        model has called no tool at all. ``ids_without_call``: by part, the listed ids that no call names. Raises
        ``Failed`` if the answer is empty, nothing was written, and the model was told so before.
        """
        self._cut_text = reply.text if reply.is_cut else ""
        earlier_note = self._ctx.journal.get_from_earlier_attempt(f"{key}:answer")
        if earlier_note is not None:
            head, _, problem = earlier_note.partition(": ")
            name, _, fingerprint = head.partition("@")
            self._fingerprints_by_fault.setdefault(name, []).append(fingerprint)
            return problem
        writes = await list_writes(self._ctx.store)
        self._untraced_tokens = self._find_untraced(reply.text, progress, writes)
        checks = (
            ("cut", self._find_format_problem(reply, progress)),
            ("unread", self._write_request_to_read(progress, uncalled_parts is not None) if reply.text.strip() else ""),
            ("lacking", _write_request_for_calls(progress, uncalled_parts) if uncalled_parts else ""),
            ("unnamed", _write_request_for_ids_without_call(ids_without_call) if ids_without_call else ""),
            ("untraced", _write_request_to_trace(self._untraced_tokens) if self._untraced_tokens else ""),
            ("unanswered", self._write_request_to_leave_parts(reply.text, progress, uncalled_parts, writes)),
        )
        fingerprint = _build_progress_fingerprint(progress, self._untraced_tokens)
        for name, problem in checks:
            earlier = self._fingerprints_by_fault.setdefault(name, [])
            if problem and len(earlier) < _MOST_REPEATS_OF_FAULT and fingerprint not in earlier:
                earlier.append(fingerprint)
                self._ctx.journal.add_event("note", answer_problem=problem)
                self._ctx.journal.add_entry(f"{key}:answer", "note", f"{name}@{fingerprint}: {problem}")
                return problem
        if not (reply.text.strip() or writes):
            raise Failed("the model gave no usable answer: it was empty", "model")
        return ""

    async def has_only_traced_values(self, key: str, text: str, progress: Progress) -> bool:
        """Whether each figure and identifier of the text has a source. Decided once, and journaled under ``key``."""
        writes = await list_writes(self._ctx.store)
        return not self._ctx.journal.decide_once(key, lambda: " ".join(self._find_untraced(text, progress, writes)))

    def _find_untraced(self, text: str, progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[str, ...]:
        """The figures, identifiers and days of the text that have no source. The number of a part needs none.

        A figure or identifier counts only if neither the search by characters nor the one by value finds its source.
        """
        numbers = {str(part.number) for part in progress.dossier.parts}
        text = _PART_NUMBER_PATTERN.sub(lambda match: "part" if match[1] in numbers else match[0], text)
        tokens = find_untraced_tokens(text, collect_sources(self._ctx.task, progress.dossier, writes))
        days = find_days_in_answer(text, get_task_time(self._ctx))
        if not (tokens or days):
            return ()
        finder = self._make_source_finder(progress, writes)
        untraced_figures = " ".join(finder.find_untraced_figures(text)) if tokens else ""
        return (*(token for token in tokens if token in untraced_figures), *finder.find_untraced_days(days))

    def _make_source_finder(self, progress: Progress, writes: Sequence[LedgerEntry] = ()) -> SourceFinder:
        facts = (*progress.dossier.facts, *map(_ledger_entry_as_fact, writes))
        return SourceFinder(build_known_sources(self._ctx, facts, progress.dossier.values))

    def with_answer(
        self, progress: Progress, text: str, unaddressed: Sequence[str], *, was_write_refused: bool
    ) -> Progress:
        """The progress with its answer and the remarks below it.

        An answer that is a JSON list is kept to the byte (I9).

        ``unaddressed``: sentences of the task that nothing was done about, which the task's metadata names, too.
        ``was_write_refused``: whether the model proposed a write though the task only asks.
        """
        if unaddressed:
            progress = progress.add_notes(not_taken_up=[*unaddressed])
        is_cut = bool(text) and text == self._cut_text
        text = (parse_list_answer(text) if progress.dossier.answer_format == "list" else None) or text
        if is_json_list(text.strip()):  # what stands around a list stays, too: without it nobody said that list
            return progress.update_dossier(answer=text)
        finder = cache(lambda: self._make_source_finder(progress))  # few answers have an address
        text = strip_strange_addresses(text, lambda address: finder().is_address_of_free_text(address))
        ending = f" ... {_TRUNCATED_ANSWER_TEXT}" if is_cut else ""
        text = f"{text.rstrip()}{ending}{self._build_remarks_on_answer(progress, text, unaddressed)}"
        text += f"\n\n{NOTHING_WRITTEN_TEXT}" if was_write_refused else ""
        return progress.update_dossier(answer=append_remarks(self._ctx, progress.dossier, text))

    def _find_format_problem(self, reply: ModelReply, progress: Progress) -> str:
        if reply.is_cut:
            return "The answer was cut off: answer more briefly."
        if not reply.text.strip():
            return "The answer was empty: answer the task."
        if progress.dossier.answer_format == "list" and parse_list_answer(reply.text) is None:
            return "The answer must be one JSON list and nothing else."
        return ""

    def _write_request_to_read(self, progress: Progress, has_called_tools: bool) -> str:
        """The text that asks for tool calls first, or for reads; empty if something was read, or no tool reads."""
        if not has_called_tools:
            return _ADVICE_TO_CALL_TOOLS
        dossier = progress.dossier
        has_source = self._ctx.files or dossier.facts or dossier.values or dossier.every_plan
        has_read_tool = any(tool.tool_class is ToolClass.READ for tool in self._ctx.toolbox.tools.values())
        if has_source or not has_read_tool:
            return ""
        return "Nothing was read yet. Call the tools that the task needs; if it needs none, give the same answer again."

    def _write_request_to_leave_parts(
        self, text: str, progress: Progress, uncalled_parts: Sequence[int] | None, writes: Sequence[LedgerEntry]
    ) -> str:
        """The text that asks the model to call ``leave_part`` for each part that it did not answer, if the answer has
        nothing of what was read, or says that something was not found; else empty. A part counts as not answered by
        that call only, never by the answer's words.
        """
        parts = progress.dossier.parts
        is_all_done = uncalled_parts is not None and not uncalled_parts and not any(part.unmet for part in parts)
        is_all_done = is_all_done and all(entry.status in DONE_STATUSES for entry in writes)
        questions = list_open_questions(parts)
        if not (is_all_done and questions) or self._ctx.record.request.practice:
            return ""
        numbers = ", ".join(str(part.number) for part in questions)
        facts = [fact for fact in progress.dossier.facts if fact.ok]
        has_values = not all(is_empty_result(fact.result) for fact in facts) and not any(
            map(_is_yes_or_no_result, facts)
        )
        sources = collect_sources(self._ctx.task, progress.dossier, writes)
        if has_values and not self._untraced_tokens and not says_found_value(text, sources):
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

    def _build_remarks_on_answer(self, progress: Progress, text: str, unaddressed: Sequence[str]) -> str:
        tokens = [token for token in self._untraced_tokens if token in text]
        remarks = [f"Not verified: {', '.join(tokens[:_MOST_FIGURES_NAMED])}."] if tokens else []
        if self._fingerprints_by_fault.get("unread") and not progress.dossier.facts:
            remarks.append("Nothing was read for this answer.")
        excused_parts = [part for part in progress.dossier.parts if part.unmet and part.is_excused]  # others: not done
        untold_parts = [part for part in excused_parts if not _contains_reason(text, part.unmet)]
        remarks += [f"Not done: {part.quote}: {part.unmet}." for part in untold_parts]
        remarks += [f"Not taken up: {sentence}" for sentence in unaddressed]
        remarks += filter(None, [read_unenforced_sentence(self._ctx)])
        return "".join(f"\n\n{remark}" for remark in remarks)


def _ledger_entry_as_fact(entry: LedgerEntry) -> Fact:
    """A write with the server's answer, as a source of what the task's answer says of it."""
    arguments, result = loads(entry.arguments_json), loads(entry.result_json or "null")
    return convert_write_to_fact(entry, dumps({"arguments": arguments, "result": result, "refusal": entry.refusal}))


def _is_yes_or_no_result(fact: Fact) -> bool:
    """Whether a read returned only true or false values, which an answer tells in words instead of repeating them."""
    argument_texts = {as_text(value) for value in loads_object(fact.arguments_json).values()}
    values = fact.result.values() if isinstance(fact.result, dict) else ()
    new_values = [value for value in values if as_text(value) not in argument_texts]
    return bool(new_values) and all(isinstance(value, bool) for value in new_values)


def _build_progress_fingerprint(progress: Progress, tokens: Sequence[str]) -> str:
    """How many reads, figures and plans there are, and the answer's untraced figures: ``3/1/0/42``, to be compared."""
    dossier = progress.dossier
    counts = (len(dossier.facts), len(dossier.values), len(dossier.every_plan))
    return "/".join((*map(str, counts), *tokens))


def why_text_is_no_answer(text: str, ctx: TurnContext, dossier: Dossier) -> str:
    """Why ``text`` can be no answer to a question of the task; empty if it may be one.

    An empty text is none. Nor is any text if all that the model did was to read, there is no file, and each read
    failed. A read that found nothing has not failed.
    """
    if not text.strip():
        return "none was given"
    reads = [fact for fact in dossier.facts if not fact.by_machine]
    if not reads or dossier.values or dossier.every_plan or ctx.files:
        return ""
    # That a server has nothing of a name is an answer, too.
    failures = [classify_failure(ToolAnswer(fact.result, is_error=True)) for fact in reads if not fact.ok]
    if len(failures) < len(reads) or ReadFailureKind.NOT_FOUND in failures:
        return ""
    return f"no read worked: {', '.join(dict.fromkeys(fact.tool for fact in reads))}"


def _contains_reason(text: str, because: str) -> bool:
    """Whether the answer has the reason why a part was left undone, or at least its last clause, which says what was
    found. The reference in brackets at the reason's end is not looked for: it is meant for the model alone.
    """
    reason = because.rpartition(" (")[0] or because
    answer_words, last_clause = spaced_words(text), reason.rpartition(": ")[2]
    if spaced_words(reason) in answer_words:
        return True
    return len(last_clause.split()) >= _FEWEST_WORDS_OF_CLAUSE and spaced_words(last_clause) in answer_words


def _write_request_for_calls(progress: Progress, numbers: Sequence[int]) -> str:
    quotes = [f"{part.number} ({part.quote[:80]})" for part in progress.dossier.parts if part.number in numbers]
    return (
        f"No call was made for part {', '.join(quotes)}. Make the calls that it needs now, or `leave_part` where "
        "its own condition is not met; if it cannot or must not be done, give the answer and say in it why."
    )


def _write_request_to_trace(tokens: Sequence[str]) -> str:
    return (
        f"These stand neither in the task nor in any result: {', '.join(tokens[:_MOST_FIGURES_NAMED])}. Work them out "
        "with `calculate`, or answer without them."
    )


def _write_request_for_ids_without_call(ids_without_call: Mapping[int, Sequence[str]]) -> str:
    clauses = [
        f"part {number}: no call names {', '.join(ids[:_MOST_FIGURES_NAMED])}"
        for number, ids in ids_without_call.items()
    ]
    return (
        f"{'; '.join(clauses)}. Make the calls that are missing now; where they must not be made, `leave_part` with "
        "the reason, and what was made stands."
    )
