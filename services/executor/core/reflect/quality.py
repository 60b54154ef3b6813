"""The evidence from which a run's quality is scored, and whether a text says only what the run found."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple, TypeGuard

from services.executor.core.figures.arguments import is_minor_unit_name
from services.executor.core.figures.numbers import (
    find_tokens_with_digits,
    list_roundings,
    looks_like_id_text,
    normalize_token,
    read_figure,
)
from services.executor.core.figures.trace import read_duration
from services.executor.core.figures.vocabulary import spaced_words
from services.executor.core.reflect.documents import find_document_requests
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import stems_of
from services.executor.core.tools.record_tree import is_empty_result, is_keyed_table
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, loads, walk_json
from shared.domain.identity_cache import IdentityCache, cached_by_identity
from shared.domain.quality import TaskEvidence
from shared.domain.words import TaskState, ToolClass, WriteStatus

# Words of an answer that mention a required output without its own word.
_WORDS_FOR_OUTPUT: dict[str, str] = {
    "decision": "approved rejected declined denied escalated accepted refused granted held flagged reconciled paid "
    "canceled cancelled completed closed done nothing",
    "reason": "because since due therefore policy rule limit exceeds within condition",
    "approval": "approved approver authorized signed",
    "resolution": "resolved fixed mitigated restored closed",
    "findings": "found finding gap",
    "action": "next actions reminder remind escalated sent",
    "requester": "employee submitted claimant",
}
SUMMARY_OUTPUT = "summary"  # an output that any answer is
_NUMBERING_PATTERN = re.compile(r"^[^\S\n]*+(\d+)[.)]\s", re.MULTILINE)  # of a list's items
_LONGEST_VALUE_MET_BY_CHANCE = 3  # characters of a value that may stand in an answer by chance


class NamedScalar(NamedTuple):
    """A scalar value and the name it stands under: a field, an argument or a figure."""

    name: str
    value: Json


class FoundSources(NamedTuple):
    """All values that a text may state. ``named_scalars``: those that were read, computed, planned and written.
    ``counts``: the lengths of the lists that were read, as texts. ``tokens``: all figures and identifiers, in each
    spelling.
    """

    task: str
    named_scalars: tuple[NamedScalar, ...]
    counts: frozenset[str]
    tokens: frozenset[str]


def find_missing_outputs(outputs: Sequence[str], answer: str, sources: FoundSources) -> tuple[str, ...]:
    """The required outputs that the answer does not mention: neither their words, nor words that say the same, nor a
    found value whose name has their words. In the order of ``outputs``.
    """
    answer_words, tokens = spaced_words(answer), _list_spellings_in_text(answer)
    items = (item for item in sources.named_scalars if item.name)
    name_stems = [
        stems_of(name) for name in {item.name for item in items if _mentions_value(item, answer_words, tokens)}
    ]
    stems = stems_of(answer)
    return tuple(output for output in outputs if not _mentions_output(output, answer, stems, name_stems))


def select_answerable_outputs(outputs: Sequence[str], sources: FoundSources) -> tuple[str, ...]:
    """The outputs that the run found something about, so that an answer could state them."""
    name_stems = [stems_of(name) for name in {item.name for item in sources.named_scalars}]
    return tuple(output for output in outputs if any(stems_of(output) <= stems for stems in name_stems))


def collect_sources(task: str, dossier: Dossier, writes: Sequence[LedgerEntry] = ()) -> FoundSources:
    """All values known at the end of a run, also those in the refusal of a write, which the answer reports; but not
    those in the error answer of a read.
    """
    facts = [_collect_from_fact(fact) for fact in dossier.facts]
    calls = dossier.every_call
    values = dossier.values
    verdict = dossier.verdict
    calculated = [value.number for value in values if value.number is not None]
    reasons = [rule.reason for rule in verdict.triggered_rules] if verdict else []
    written_texts = [text for entry in writes for text in (entry.arguments_json, entry.result_json) if text]
    contents: list[Json] = [*(call.arguments for call in calls), *map(loads, written_texts)]
    scalars = [
        *(
            NamedScalar(f"{value.name} {value.unit}".strip(), value.value if value.number is None else value.number)
            for value in values
        ),
        *(NamedScalar("", rounding) for number in calculated for rounding in list_roundings(number)),
        *(NamedScalar("", call.call_id) for call in calls),
        *(scalar for content in contents for scalar in _find_scalars(content)),
        *(NamedScalar("", text) for text in (*reasons, dossier.approval_note, *(e.refusal for e in writes)) if text),
    ]
    counts = {str(len(facts)), str(len(writes)), str(len(calls))}
    counts = counts.union(*(fact.counts for fact in facts))
    tokens = counts.union(
        _list_spellings_in_text(task), _list_spellings_of_scalars(scalars), *(fact.tokens for fact in facts)
    )
    all_scalars = (*chain.from_iterable(fact.named_scalars for fact in facts), *scalars)
    return FoundSources(task, all_scalars, frozenset(counts), frozenset(tokens))


@cached_by_identity(64)  # a fact stays what it is while the answer, the review and the score ask
def _collect_from_fact(fact: Fact) -> FoundSources:
    result = fact.result if fact.ok else None
    scalars = (NamedScalar("", fact.ref), *_find_scalars(loads(fact.arguments_json)), *_find_scalars(result))
    counts = frozenset(str(len(item)) for _, item in walk_json(result) if _is_list_or_table(item))
    return FoundSources("", scalars, counts, frozenset(_list_spellings_of_scalars(scalars)))


def find_untraced_tokens(text: str, sources: FoundSources) -> tuple[str, ...]:
    """The figures and identifiers of a text that occur neither in the task nor in what was found.

    An amount that was found in cents counts in whole units, too, and so does the length of a list. Numbering and
    durations are left out.
    """
    numberings = {*_NUMBERING_PATTERN.findall(text)}
    tokens = (
        token
        for token in find_tokens_with_digits(text)
        if not (token in numberings or read_duration(token) is not None)
    )
    return tuple(dict.fromkeys(token for token in tokens if sources.tokens.isdisjoint(_list_token_spellings(token))))


def says_new_value(text: str, sources: FoundSources) -> bool:
    """Whether the text states at least one found value that the task itself did not state."""
    task_words = spaced_words(sources.task)
    text_words = spaced_words(text)
    tokens, task_tokens = _list_spellings_in_text(text), _list_spellings_in_text(sources.task)
    return any(
        _mentions_value(item, text_words, tokens) and not _mentions_value(item, task_words, task_tokens)
        for item in sources.named_scalars
    )


def says_found_value(text: str, sources: FoundSources) -> bool:
    """Whether the text states any found value or list length, even one that the task stated; or a figure of a found
    text that the task does not have.
    """
    text_words, tokens = spaced_words(text), _list_spellings_in_text(text)
    if not sources.counts.isdisjoint(tokens):
        return True
    if any(
        _mentions_value(item, text_words, tokens)
        or (looks_like_id_text(str(item.value)) and spaced_words(str(item.value)) in text_words)  # however short it is
        for item in sources.named_scalars
    ):
        return True
    new_tokens = tokens - _list_spellings_in_text(sources.task)
    texts = (item.value for item in sources.named_scalars if isinstance(item.value, str))
    return any(not new_tokens.isdisjoint(_list_spellings_in_text(text)) for text in texts)


def _mentions_output(output: str, answer: str, stems: frozenset[str], name_stems: list[frozenset[str]]) -> bool:
    output_stems = stems_of(output)
    if output == SUMMARY_OUTPUT:
        return bool(answer.strip())
    if output_stems <= stems or any(output_stems <= name for name in name_stems):
        return True
    return bool(stems_of(_WORDS_FOR_OUTPUT.get(output.lower(), "")) & stems)


def _mentions_value(item: NamedScalar, text_words: str, tokens: set[str]) -> bool:
    value = item.value
    if value is None or isinstance(value, bool):
        return False
    figures = _list_number_spellings(item)
    if figures:
        return bool(figures & tokens)
    text = str(value)
    return len(text) > _LONGEST_VALUE_MET_BY_CHANCE and spaced_words(text) in text_words


def _list_spellings_in_text(text: str) -> set[str]:
    return {spelling for token in find_tokens_with_digits(text) for spelling in _list_token_spellings(token)}


def _list_spellings_of_scalars(scalars: Sequence[NamedScalar]) -> set[str]:
    tokens = {spelling for item in scalars for spelling in _list_number_spellings(item)}
    return tokens.union(*(_list_spellings_in_text(item.value) for item in scalars if isinstance(item.value, str)))


def _list_number_spellings(item: NamedScalar) -> set[str]:
    """All spellings of a number; empty for any other value."""
    number = read_figure(item.value)
    if number is None:
        return set()
    spellings = [number, abs(number)]
    if is_minor_unit_name(item.name):
        spellings += [number / 100, abs(number) / 100]
    return {normalize_token(format(number, "f")) for number in spellings}


def _list_token_spellings(token: str) -> set[str]:
    """The forms in which a token is compared: as it is, without its sign, and without a percent sign."""
    normal = normalize_token(token)
    return {normal, normal.removeprefix("-"), normalize_token(token.rstrip("%"))}


def _find_scalars(value: Json) -> Iterator[NamedScalar]:
    for name, item in walk_json(value):
        if isinstance(item, dict):  # the keys of a table keyed by id
            keys = (key for key, row in item.items() if isinstance(row, dict) and any(mark.isdigit() for mark in key))
            yield from (NamedScalar("", key) for key in keys)
        elif item is not None and not isinstance(item, list):
            yield NamedScalar(name, item)


def _is_list_or_table(value: Json) -> TypeGuard[list[Json] | JsonObject]:
    """Whether a value is a list, or an object that is a table keyed by id. An empty object counts as such a table."""
    return isinstance(value, list) or (isinstance(value, dict) and (not value or is_keyed_table(value)))


_DOUBTFUL_STATUSES = (WriteStatus.UNVERIFIED, WriteStatus.ABSENT, WriteStatus.IN_DOUBT)
_FAILURE_PHRASE_PATTERN = re.compile(
    r"\b(?:an? (?:\w+ )?error (?:occurred|happened)|error:|something went wrong|exception|traceback"
    r"|(?:I|we) (?:could not|couldn't|was unable|were unable|am unable|cannot|can't)|unable to|failed to"
    r"|(?:could not|cannot|can't) be (?:\w+ly )?(?:found|read|completed|carried out|determined|retrieved|checked)"
    r"|not found|nothing (?:that answers \w+ \w+ )?(?:could be |was )found|needs a model)\b",
    re.I,
)


class EndedRun(NamedTuple):
    """A run at its end, as its answer is scored. ``progress``: None if the run failed before it began."""

    state: TaskState
    answer: str
    progress: Progress | None
    writes: Sequence[LedgerEntry]
    task: str
    is_escalated: bool = False
    is_dry_run: bool = False

    @property
    def sources(self) -> FoundSources:
        return _collect_sources_once(self)

    @property
    def unmentioned_outputs(self) -> tuple[str, ...]:
        """The required outputs that the answer does not mention. A list, or a run that was not to act, needs none."""
        if self.progress is None or is_json_list(self.answer) or not self.has_to_act:
            return ()
        return find_missing_outputs(self.progress.template.outputs, self.answer, self.sources)

    @property
    def has_to_act(self) -> bool:
        """Whether the run was to carry out its process, and not only to answer a question or write a document."""
        if self.progress is None or self.progress.read_only:
            return False
        return bool(self.calls) or not find_document_requests(self.task)

    @property
    def is_wrongly_idle(self) -> bool:
        """Whether a run that was to act planned no call, without a stated reason for every part to be done."""
        return self.has_to_act and not self.calls and not self.are_all_parts_left_undone

    @property
    def are_all_parts_left_undone(self) -> bool:
        """Whether each part to be done was left undone for a stated reason; False without such parts."""
        parts = [part for part in self.dossier.parts if part.is_to_do]
        return bool(parts) and all(part.unmet for part in parts)

    @property
    def dossier(self) -> Dossier:
        """The run's dossier; an empty one if the run failed before it began."""
        return self.progress.dossier if self.progress else Dossier()

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """The calls of all plans."""
        return tuple(call for plan in self.dossier.every_plan for call in plan.calls)


_collect_sources_once = IdentityCache[EndedRun, FoundSources](
    lambda run: collect_sources(run.task, run.dossier, run.writes), 32
)


def collect_evidence(run: EndedRun) -> TaskEvidence:
    """The evidence for a run's score. What a run did not have to prove is None and earns nothing."""
    progress = run.progress
    dossier = run.dossier
    calls = run.calls
    outputs = progress.template.outputs if progress and run.has_to_act else ()
    has_required_outputs = any(output != SUMMARY_OUTPUT for output in outputs)
    changes = [call for call in (dossier.plan.calls if dossier.plan else ()) if call.tool_class is ToolClass.CHANGE]
    nothing_found = bool(dossier.facts) and all(is_empty_result(fact.result) for fact in dossier.facts if fact.ok)
    has_results = not run.is_wrongly_idle and not nothing_found
    is_grounded = says_new_value(run.answer, run.sources) and not find_untraced_tokens(run.answer, run.sources)
    return TaskEvidence(
        state=run.state,
        is_exact_match=is_json_list(run.answer),
        policy_kept=_was_policy_obeyed(run, dossier) if calls else None,
        writes_planned=0 if run.is_dry_run else sum(call.tool_class is ToolClass.CHANGE for call in calls),
        writes_verified=sum(e.status is WriteStatus.VERIFIED and e.compensates is None for e in run.writes),
        writes_doubtful=sum(entry.status in _DOUBTFUL_STATUSES for entry in run.writes),
        audit_clean=True if dossier.values and _has_closed_plan(dossier) else None,
        needs_met=bool(dossier.facts) and all(fact.ok for fact in dossier.facts) and not nothing_found,
        is_answer_empty=not run.answer.strip(),
        repeated_calls=progress.repeated_calls if progress else 0,
        outputs_there=not run.unmentioned_outputs if has_required_outputs and not run.is_wrongly_idle else None,
        is_grounded=has_results and (run.is_dry_run or is_grounded),
        is_provable=run.is_dry_run and bool(changes) and all(call.read_back is not None for call in changes),
        has_empty_data=nothing_found,
        has_error_phrase=mentions_failure(run.answer),
        is_idle=run.is_wrongly_idle,
        tool_calls=progress.calls_made if progress else 0,
        answer_words=len(run.answer.split()),
        task_words=len(run.task.split()),
    )


def mentions_failure(text: str) -> bool:
    """Whether a text says that something failed or was not found."""
    return bool(_FAILURE_PHRASE_PATTERN.search(text))


def _has_closed_plan(dossier: Dossier) -> bool:
    """Whether a plan was closed, so that its figures agreed when computed again, and was not blocked by policy."""
    verdict = dossier.verdict
    return verdict is not None and not (verdict.blocked or verdict.problems)


def _was_policy_obeyed(run: EndedRun, dossier: Dossier) -> bool | None:
    """Whether the verdict, or the person it required, permitted the plan; None if unjudged, or blocked and rejected."""
    verdict = dossier.verdict
    if verdict is None or (verdict.blocked and run.state is TaskState.REJECTED):
        return None
    was_permitted_by_person = run.is_escalated or (dossier.by_person and not verdict.blocked)
    return verdict.passed or (was_permitted_by_person and run.state is TaskState.COMPLETED)
