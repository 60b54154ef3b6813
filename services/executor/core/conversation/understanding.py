"""What the first reply says of a task (parts, form of the answer, process), and the choice of process and strategy."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError

from services.executor.core.figures.identifiers import find_code_like_tokens, normalize_identifier
from services.executor.core.model.model_calls import (
    HelperUnavailable,
    UnusableAnswer,
    ask_if_possible,
    build_helper_request,
    parse_reply,
)
from services.executor.core.prime import known
from services.executor.core.process.synthesis import (
    ProposedProcess,
    build_template,
    general_template_with_approval,
    parse_stored_template,
    template_may_ask_a_person,
)
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import DO, FIND_OUT, PartOfTask, list_parts_to_do, normalize_quote
from services.executor.core.states.machine import (
    GENERAL_TEMPLATE,
    READ_ONLY_STATES,
    BadTemplate,
    ProcessTemplate,
    normalize_process_name,
)
from services.executor.core.states.prompts import PROCESS_SCHEMA
from services.executor.core.tools import classes
from services.executor.core.tools.classes import words_of_tool
from services.executor.core.tools.toolbox import define_local_tool
from services.executor.ports.services import OrchestratorName
from shared.contracts.base import Contract, describe_first_error
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import Strategy
from shared.ports.models import ToolDefinition
from shared.ports.store import StoreUnavailable

UNDERSTAND_TOOL_NAME = "understand"
_MOST_PARTS = 40
_PARTS_SCHEMA: dict[str, JsonValue] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "quote": {"type": "string", "description": "the words of the task for this part, copied exactly"},
            "kind": {"type": "string", "enum": [FIND_OUT, DO]},
        },
        "required": ["quote", "kind"],
        "additionalProperties": False,
    },
}


class Understanding(NamedTuple):
    """The content of an ``understand`` call. ``process``: as the model wrote it; ``problems``: faults it is told of."""

    parts: tuple[PartOfTask, ...]
    process: str
    answer_form: Literal["prose", "list"]
    problems: tuple[str, ...] = ()


class _QuotedPart(BaseModel):
    quote: str = Field(max_length=20_000)
    kind: Literal["find out", "do"]


class _UnderstandArguments(BaseModel):
    parts: tuple[_QuotedPart, ...] = Field(max_length=_MOST_PARTS)
    process: str = "general"
    answer_form: Literal["prose", "list"] = "prose"


@lru_cache(maxsize=256)
def define_understand_tool(processes: tuple[str, ...]) -> ToolDefinition:
    """The definition of the tool ``understand``; ``processes`` are the names of the known kinds of task."""
    return define_local_tool(
        UNDERSTAND_TOOL_NAME,
        "Once, in your first reply: split the task into its parts, in order. Each "
        'part quotes the task\'s own words exactly. Its kind is "do" if something is to be changed, created, sent, '
        'booked, paid or told to somebody; else "find out". `process` names the kind of task: one of '
        f"{', '.join(processes)}, or of the section process_types; or a new name in "
        "snake_case for a special kind that is not listed. "
        '`answer_form` is "list" only if the task wants one JSON list and nothing else as its answer.',
        {
            "parts": cast(JsonValue, _PARTS_SCHEMA),
            "process": {"type": "string"},
            "answer_form": {"type": "string", "enum": ["prose", "list"]},
        },
        "parts",
        "process",
        "answer_form",
    )


def read_understanding(arguments: JsonObject, texts: Sequence[str]) -> Understanding:
    """Parses the call. A part that quotes none of the ``texts`` is dropped, and named among the problems.

    Raises ``ValueError`` if the call does not fit its schema.
    """
    try:
        call = _UnderstandArguments.model_validate_json(dumps(arguments))
    except ValidationError as error:
        raise ValueError(describe_first_error(error)) from error
    normal_texts = [normalize_quote(text) for text in texts]
    parts = list[PartOfTask]()
    problems = list[str]()
    for part in call.parts:
        quote = normalize_quote(part.quote)
        if quote and any(quote in text for text in normal_texts):
            parts.append(PartOfTask(number=len(parts) + 1, quote=part.quote, kind=part.kind))
        else:
            problems.append(f"this is no quote of the task, and is no part of it: {part.quote[:120]!r}")
    return Understanding(tuple(parts), call.process, call.answer_form, tuple(problems))


def build_default_understanding(task: str) -> Understanding:
    """The default understanding if the model gives none: the whole task as one part to be done."""
    return Understanding((PartOfTask(number=1, quote=task, kind=DO),), "general", "prose")


_SENTENCE_END_PATTERN = re.compile(r"(?<=[.!?;])\s+|\n+")
_WORD_PATTERN = re.compile(r"[^\W_]+(?:[-_.'/][^\W_]+)*")
_CONJUNCTION_PATTERN = re.compile(r"[,;]|\b(?:and|then|und|et)\b", re.IGNORECASE)
_LEADING_WORDS = frozenset("please then also and next finally afterwards now but kindly".split())
_REQUEST_VERBS = frozenset("tell ask give let bring take inform find".split())
_STATE_VERBS = frozenset("is are was were has have had".split())
_FEWEST_WORDS_OF_PART = 3
_MOST_UNADDRESSED_SENTENCES = 3


def find_unaddressed_sentences(task: str, parts: Sequence[PartOfTask], tools: Iterable[str]) -> tuple[str, ...]:
    """Up to three requests of the task that no part takes up: sentences that no part quotes whole, and that have an
    identifier (such as ``PO-7``) which no part has.

    A request begins with a verb or is a question; other sentences only inform. ``tools``: tool names, whose verbs
    count, too.
    """
    verbs = classes.CLEAR_VERBS | _REQUEST_VERBS | {words_of_tool(name).verb for name in tools}
    quotes = [normalize_quote(sentence) for part in parts for sentence in _SENTENCE_END_PATTERN.split(part.quote)]
    quoted_ids = {key for part in parts for key in _find_identifier_keys(part.quote)}
    unaddressed = (
        sentence.strip()
        for sentence in _SENTENCE_END_PATTERN.split(task)
        if not quoted_ids.issuperset(_find_identifier_keys(sentence))
        and _is_request(sentence, verbs)
        and not any(normalize_quote(sentence) in quote for quote in quotes)
    )
    return tuple(islice(unaddressed, _MOST_UNADDRESSED_SENTENCES))


def _is_request(sentence: str, verbs: Collection[str]) -> bool:
    words = [word.casefold() for word in _WORD_PATTERN.findall(sentence)]
    if len(words) < _FEWEST_WORDS_OF_PART:
        return False
    start = next((index for index, word in enumerate(words) if word not in _LEADING_WORDS), 0)
    verb, next_word, *_ = [*words[start:], "", ""]
    if sentence.rstrip().endswith("?") or (verb in verbs and verb not in classes.VERBS_OR_NOUNS):
        return True
    is_noun = _STATE_VERBS.intersection(words[start + 1 :]) or any(map(str.isdigit, next_word))
    return verb in classes.VERBS_OR_NOUNS and not is_noun  # "Order O-5 ...", "The order is ..." tell something


def find_still_unaddressed_sentences(
    sentences: Iterable[str], dossier: Dossier, write_tools: Collection[str]
) -> tuple[str, ...]:
    """The ``sentences`` about which nothing was done.

    Such a sentence has an identifier that no part, no read and no planned call has. Or a part quotes only some of it,
    and an unquoted clause that begins with the verb of a writing tool has an identifier that no planned call has.
    """
    planned_ids = {
        key for plan in dossier.every_plan for call in plan.calls for key in _find_identifier_keys(call.arguments_json)
    }
    texts = (*(part.quote for part in dossier.parts), *(fact.arguments_json for fact in dossier.facts))
    known_ids = planned_ids.union(*map(_find_identifier_keys, texts))
    verbs = {words_of_tool(name).verb for name in write_tools} - classes.VERBS_OR_NOUNS
    unaddressed = []
    for sentence in sentences:
        clauses = _find_unquoted_commands(sentence, dossier.parts, verbs)
        ids_of_clauses = {key for clause in clauses for key in _find_identifier_keys(clause)}
        if set(_find_identifier_keys(sentence)) - known_ids or ids_of_clauses - planned_ids:
            unaddressed.append(sentence)
    return tuple(unaddressed)


def _find_unquoted_commands(sentence: str, parts: Sequence[PartOfTask], verbs: Collection[str]) -> Iterator[str]:
    """Yields the clauses that no part quotes and that begin with one of the ``verbs``; none, if no part quotes any."""
    unquoted = sentence
    for part in parts:
        unquoted = unquoted.replace(part.quote.strip(" .!?;"), ";")
    for clause in _CONJUNCTION_PATTERN.split(unquoted) if unquoted != sentence else ():
        words = [word.casefold() for word in _WORD_PATTERN.findall(clause)]
        if next((word for word in words if word not in _LEADING_WORDS), "") in verbs:
            yield clause


def _find_identifier_keys(text: str) -> Iterator[tuple[str, ...]]:
    return (normalize_identifier(code.text) for code in find_code_like_tokens(text))


_PROCESS_STEP_KEY = "talk:process"
_DESIGN_FAILURES = (BadTemplate, HelperUnavailable, UnusableAnswer)
_DESIGN_SECONDS = 15.0  # how long a model is waited for that designs a process
_LONGEST_EXAMPLE = 800  # characters shown of the task that a process is designed for


class _FoundProcess(Contract):
    """The chosen process, as its journal step stores it. ``by``: what chose it. ``problem``: why it is not the process
    that the model named. A built-in template is stored by its name only, so a replay uses the present one.
    """

    process_type: str
    by: str
    problem: str = ""
    model_calls: int = 0
    template: ProcessTemplate | None = None


async def _choose_named_process(ctx: TurnContext, name: str, *, has_part_to_do: bool) -> _FoundProcess:
    """The process that the model named, stored or designed now.

    Without ``has_part_to_do`` the task only asks: then no process is designed, and an unknown name means ``general``.
    """
    if name in ctx.processes or name in ("", GENERAL_TEMPLATE.process_type):
        return _FoundProcess(process_type=name or GENERAL_TEMPLATE.process_type, by="model")
    if not has_part_to_do:
        return _FoundProcess(
            process_type=GENERAL_TEMPLATE.process_type, by="model", problem=f"a question, said to be of {name}"
        )
    return await _get_or_design_process(ctx, name)


async def _get_or_design_process(ctx: TurnContext, kind: str) -> _FoundProcess:
    """The stored design of the process, or one designed now. If there is neither, ``general`` and the reason.

    If a stored design cannot be read from the store, or cannot be used and might ask for an approval, ``general`` asks
    a person, too.
    """
    tenant = ctx.record.tenant
    calls = 0
    chosen_by = "synthesized before"
    try:
        text = await ctx.ports.learned.get_synthesized_process(tenant, kind)
        if text is None:
            calls, chosen_by = 1, "synthesizer"
            design = await _design_process(ctx, kind)
            text = await ctx.ports.learned.store_synthesized_process_if_new(tenant, kind, design.model_dump_json())
    except StoreUnavailable as error:
        return _fall_back_to_general(kind, error, calls, asks_a_person=True)
    except _DESIGN_FAILURES as error:
        return _fall_back_to_general(kind, error, calls)
    try:
        template = parse_stored_template(kind, text)
        return _FoundProcess(process_type=kind, by=chosen_by, model_calls=calls, template=template)
    except BadTemplate as error:
        return _fall_back_to_general(kind, error, calls, asks_a_person=template_may_ask_a_person(text))


def _fall_back_to_general(kind: str, error: Exception, calls: int, *, asks_a_person: bool = False) -> _FoundProcess:
    problem, template = f"there is no process for {kind}: {error}", None
    if asks_a_person:
        problem += "; a person is asked before anything is written"
        template = general_template_with_approval(kind)
    return _FoundProcess(
        process_type=GENERAL_TEMPLATE.process_type, by="model", problem=problem, model_calls=calls, template=template
    )


async def _design_process(ctx: TurnContext, kind: str) -> ProcessTemplate:
    """Asks a model to design a process, once and within a time limit; raises one of ``_DESIGN_FAILURES``."""
    sections: dict[str, Json] = {"task": ctx.task[:_LONGEST_EXAMPLE], "process_type": kind}
    request = build_helper_request(ctx, ctx.prompts.new_process, sections, 1_500, schema=PROCESS_SCHEMA)
    reply = await ask_if_possible(ctx, f"{_PROCESS_STEP_KEY}:new", request, seconds=_DESIGN_SECONDS)
    return build_template(kind, parse_reply(reply, ProposedProcess), ctx.task)


async def choose_process(
    ctx: TurnContext, progress: Progress, understanding: Understanding
) -> tuple[TurnContext, Progress]:
    """Chooses the task's process and strategy.

    Returns the context, with what was learned of tasks of that process, and the progress with both.
    """
    has_part_to_do = bool(list_parts_to_do(understanding.parts))

    async def find_process() -> str:
        name = normalize_process_name(understanding.process)
        return (await _choose_named_process(ctx, name, has_part_to_do=has_part_to_do)).model_dump_json()

    choice = _FoundProcess.model_validate_json(await ctx.journal.run_local_step(_PROCESS_STEP_KEY, find_process))
    classification: JsonValue = {"by": choice.by, **({"problem": choice.problem} if choice.problem else {})}
    update: dict[str, object] = {
        "template": choice.template or ctx.processes.get(choice.process_type, GENERAL_TEMPLATE),
        "model_calls": progress.model_calls + choice.model_calls,
    }
    progress = progress.add_notes(classification=classification).model_copy(update=update)
    limits = ctx.thresholds
    if progress.process_type != ctx.template.process_type:  # else PRIME has recalled it
        experience = await known.recall(
            ctx.ports.learned, ctx.record.tenant, progress.process_type, ctx.journal, ctx.task
        )
        ctx = replace(ctx, experience=experience)
        limits = known.find_thresholds_of_task(with_process(ctx, progress))
    path = progress.template.states if has_part_to_do else READ_ONLY_STATES
    progress = progress.model_copy(update={"path": path, "read_only": not has_part_to_do, "thresholds": limits})
    return ctx, _mark_unused_strategy(await known.with_strategy(ctx, progress))


def _mark_unused_strategy(progress: Progress) -> Progress:
    """The progress, marked as fallen back if its strategy is not used, so that the outcome does not count for it."""
    if progress.strategy is Strategy.FSM:
        return progress
    if progress.read_only:
        return progress.model_copy(update={"fell_back": "the task only reads"})
    if progress.orchestrator is not OrchestratorName.LOCAL:
        return progress.model_copy(update={"fell_back": f"{progress.orchestrator.value} thinks"})
    return progress


def with_process(ctx: TurnContext, progress: Progress) -> TurnContext:
    """The context with the task's process template."""
    return replace(ctx, template=progress.template)


def build_learned_sections_of_process(ctx: TurnContext, progress: Progress) -> dict[str, Json]:
    """What was learned of tasks of this process, as ``{"known": {section name: content}}``, without sections that the
    first message had; empty for ``general``, or if nothing is new.
    """
    if progress.process_type == GENERAL_TEMPLATE.process_type:
        return {}
    limits = known.describe_thresholds_of_tools(with_process(ctx, progress))
    primer = ctx.sections.get("primer")
    learned = known.build_learned_sections(ctx.experience, ctx.journal, primer)
    sections: dict[str, Json] = {**learned, "thresholds": limits}
    news = {name: text for name, text in sections.items() if text and text != ctx.sections.get(name)}
    return {"known": {**news}} if news else {}


def with_parts_and_answer_form(ctx: TurnContext, progress: Progress, understanding: Understanding) -> Progress:
    """The progress with the understanding's parts and its form of the answer.

    For a request of the solver endpoint the form is the one that its caller chose.
    """
    solver = ctx.record.request.solver
    form = understanding.answer_form
    if solver is not None:
        form = "prose" if solver.expected_format == "single" else "list"
    return progress.update_dossier(parts=understanding.parts, answer_format=form)
