"""The strategies by which the next reply is obtained, and the orchestrator in place of the model."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from typing_extensions import override

from services.executor.core.figures.numbers import find_tokens_with_digits, normalize_token
from services.executor.core.model.message_history import MessageHistory
from services.executor.core.model.model_calls import (
    HelperUnavailable,
    ask_if_possible,
    build_user_message,
    can_afford_all,
)
from services.executor.core.session.budget import BudgetShare, Tariff, TaskSpending, estimate_tokens, measure_request
from services.executor.core.session.context import TurnContext
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import list_writes, writes_as_json
from services.executor.core.session.values import Fact
from services.executor.core.states.prompts import render_in_order
from services.executor.core.tools.shorten import shorten_result
from services.executor.core.tools.toolbox import RESERVED_ARGUMENT, WRITE_CLASSES, unwrap_use_tool
from services.executor.ports.services import (
    Orchestrator,
    OrchestratorMessage,
    OrchestratorReply,
    OrchestratorResult,
    OrchestratorUnavailable,
)
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, digest, dumps, loads, loads_object, to_exact
from shared.domain.words import Strategy
from shared.ports import models

_LEAST_WORD_OVERLAP = 0.70  # of the words of both together; a score and no amount of money
_WORD_PATTERN = re.compile(r"[^\W\d_]+(?:n't)?")
_NEGATIONS = frozenset("not no never nothing none nobody without cannot neither nor".split())
_STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both but by could did do
    does doing during each few for from further had has have having he her here his how i if in into is it its itself
    just me more most my of off on once only or other our out over own same she should so some such than that the their
    them then there these they this those through to too under until up very was we were what when where which while
    who whom why will with would you your
    """.split()
)


def do_texts_agree(text: str, other_text: str) -> bool:
    """Whether two drafts have the same figures, identifiers and denials, and most words (Jaccard's measure, without
    stop-words) in common. A JSON list agrees only with an identical text (I9).
    """
    texts = (text, other_text)
    if any(map(is_json_list, texts)):
        return text == other_text
    if len({(_list_normalized_figures(draft), _has_negation(draft)) for draft in texts}) > 1:
        return False
    words, other_words = (_collect_words_in_lower_case(draft) - _STOP_WORDS for draft in texts)
    return len(words & other_words) >= _LEAST_WORD_OVERLAP * len(words | other_words)


def _collect_words_in_lower_case(text: str) -> frozenset[str]:
    return frozenset(_WORD_PATTERN.findall(text.lower()))


def _list_normalized_figures(text: str) -> frozenset[str]:
    """The amounts, dates and identifiers of a text in a normal form. Two drafts that agree have the same ones."""
    return frozenset(normalize_token(token) for token in find_tokens_with_digits(text))


def _has_negation(text: str) -> bool:
    """Whether a text has a negation, since a sentence and its opposite share most words."""
    return any(word in _NEGATIONS or word.endswith("n't") for word in _collect_words_in_lower_case(text))


_MOST_CHARACTERS_OF_FACTS, _FEWEST_CHARACTERS_OF_FACT = 8_000, 500  # shown to the model that writes the answer
_MOST_DRAFT_TOKENS = 1_024
_INSTRUCTION_BY_REPLY_NUMBER = {  # of the reply of this number
    1: "Name now, in one reply, every other read that the task needs; they are made at once. If none is needed, go on.",
    2: "Draw everything together now: calculate what is to be calculated, then propose all writes in one reply, or "
    "answer.",
}


class SingleDraft:
    """The strategy ``fsm``: every reply is used as it is. The other strategies derive from this class.

    ``extra_call_count``: how many further model calls the last reply took. ``open_parts``: the numbers of the parts to
    be done that have no call yet.
    """

    def __init__(self, ctx: TurnContext) -> None:
        self._ctx = ctx
        self.extra_call_count = 0
        self.open_parts: Collection[int] = ()

    async def next_reply(self, history: MessageHistory, share: BudgetShare, tier: models.Tier) -> models.ModelReply:
        return await history.ask(share, tier)

    def pop_extra_call_count(self) -> int:
        calls, self.extra_call_count = self.extra_call_count, 0
        return calls

    def get_instruction_after_results(self, reply_number: int) -> str:  # noqa: ARG002
        """The text that is added to the results of the reply of this number; may be empty."""
        return ""

    async def draft_final_answer(self, key: str, progress: Progress) -> str:  # noqa: ARG002
        """The answer, once everything that the task asks for is done; empty to let the conversation continue."""
        return ""

    async def _ask_separately(
        self,
        key: str,
        step: str,
        request: models.ModelRequest,
        share: BudgetShare,
        earlier_request: models.ModelRequest | None = None,
    ) -> models.ModelReply | None:
        """The reply to a request outside the conversation, stored as ``step``; None if the reply is cut off or no model
        answers. The latter is noted under ``key``, so that later attempts do not ask again.
        """
        if self._ctx.journal.get(f"{key}:away") is not None:
            return None
        try:
            reply = await ask_if_possible(self._ctx, step, request, share, earlier_request)
        except HelperUnavailable as error:
            self._ctx.journal.add_entry(f"{key}:away", "note", str(error))
            return None
        self.extra_call_count += 1
        return None if reply.is_cut else reply


class FivePhases(SingleDraft):
    """The strategy ``five_phase``: after its first replies the model is told the next phase; a short request of its own
    writes the answer.
    """

    def get_instruction_after_results(self, reply_number: int) -> str:
        return _INSTRUCTION_BY_REPLY_NUMBER.get(reply_number, "")

    async def draft_final_answer(self, key: str, progress: Progress) -> str:
        """The answer, from a short request to the smaller model; empty if that gives nothing usable."""
        request = await _build_final_answer_request(self._ctx, progress)
        reply = await self._ask_separately(key, key, request, BudgetShare.WHOLE)
        return reply.text if reply else ""


class TwoDrafts(SingleDraft):
    """The strategy ``moa``: the first reply that closes a plan or answers is drafted twice, and two drafts that differ
    are merged by a third request.

    A reply that leaves a part without calls is not drafted twice. Nor is any reply after one that only called local
    tools (its figures are computed by the executor), or that closed a plan by a mere text.
    """

    def __init__(self, ctx: TurnContext) -> None:
        super().__init__(ctx)
        self._is_spent = False  # whether a reply was drafted twice already, or none may be

    async def next_reply(self, history: MessageHistory, share: BudgetShare, tier: models.Tier) -> models.ModelReply:
        reply = await history.ask(share, tier)
        if self._is_spent or not self._answers_or_completes_parts(reply, history):
            names_called = (unwrap_use_tool(use).name for use in reply.tool_uses)
            self._is_spent |= self._ctx.toolbox.tools.keys().isdisjoint(names_called)
            return reply
        self._is_spent = True
        if not await self._can_afford_drafts(history, share):
            return reply
        second_draft = await self._ask_for_draft(
            history, "doubting", history.build_request(self._ctx.prompts.moa_doubting, "high"), share
        )
        if second_draft is None or _do_drafts_agree(reply, second_draft, self._ctx):
            return reply
        drafts = render_in_order({"drafts": [_draft_as_data(reply), _draft_as_data(second_draft)]})
        merged_draft = await self._ask_for_draft(
            history, "merged", history.build_request(f"{drafts}\n\n{self._ctx.prompts.moa_merge}"), share
        )
        return merged_draft or reply

    def _answers_or_completes_parts(self, reply: models.ModelReply, history: MessageHistory) -> bool:
        """Whether the reply is the answer, or proposes writes for all open parts (any, if at most one part is open)."""
        proposals = _list_writing_uses(reply, self._ctx)
        if not proposals:
            return not (reply.tool_uses or history.has_calls_waiting)
        reserved_arguments = [use.input.get(RESERVED_ARGUMENT) for use in proposals]
        planned_parts = {argument.get("part") for argument in reserved_arguments if isinstance(argument, dict)}
        return len(self.open_parts) < 2 or {*self.open_parts} <= planned_parts

    async def _can_afford_drafts(self, history: MessageHistory, share: BudgetShare) -> bool:
        """Whether the budget allows both further drafts. Decided once and journaled, so that all attempts agree."""

        async def decide() -> str:
            draft = history.build_request()._replace(messages=(), max_tokens=_MOST_DRAFT_TOKENS)
            return "both" if can_afford_all(self._ctx, (draft, draft), share) else "one"

        return await self._ctx.journal.run_local_step(f"{history.reply_key}:drafts", decide) == "both"

    async def _ask_for_draft(
        self, history: MessageHistory, name: str, request: models.ModelRequest, share: BudgetShare
    ) -> models.ModelReply | None:
        key = f"{history.reply_key}:draft:{name}"
        return await self._ask_separately(key, f"{key}:model", request, share, history.build_request())


_DRAFTING_BY_STRATEGY: Mapping[Strategy, type[SingleDraft]] = {
    Strategy.FSM: SingleDraft,
    Strategy.FIVE_PHASE: FivePhases,
    Strategy.MOA: TwoDrafts,
}


def choose_drafting(ctx: TurnContext, progress: Progress) -> SingleDraft:
    """The object that obtains the model's replies by the task's effective strategy."""
    return _DRAFTING_BY_STRATEGY[progress.effective_strategy](ctx)


async def _build_final_answer_request(ctx: TurnContext, progress: Progress) -> models.ModelRequest:
    dossier = progress.dossier
    parts: list[Json] = [part.as_json() for part in dossier.parts]
    most_characters = max(_FEWEST_CHARACTERS_OF_FACT, _MOST_CHARACTERS_OF_FACTS // max(1, len(dossier.facts)))
    sections: dict[str, Json] = {
        "task": ctx.task,
        "answer_format": dossier.answer_format,
        "parts": parts,
        "facts": [_shorten_fact(fact, most_characters) for fact in dossier.facts],
        "values": [value.as_json() for value in dossier.values],
        "writes": [*writes_as_json(await list_writes(ctx.store))],
    }
    message = build_user_message(render_in_order(sections))
    return models.ModelRequest(models.Tier.SMALL, (ctx.prompts.artifact,), (message,), max_tokens=2_048)


def _shorten_fact(fact: Fact, most_characters: int) -> Json:
    """A fact for the model that writes the answer, with a long result cut to its beginning."""
    result, note = shorten_result(fact.result, most_characters)
    call: dict[str, Json] = {"ref": fact.ref, "tool": fact.tool, "arguments": loads_object(fact.arguments_json)}
    return {**call, "result": result, **({"note": note} if note else {})}


def _do_drafts_agree(draft: models.ModelReply, other_draft: models.ModelReply, ctx: TurnContext) -> bool:
    """Whether both replies propose the same writes with equal arguments; without writes, whether their texts agree."""
    writes = [sorted(_format_writing_calls(reply, ctx)) for reply in (draft, other_draft)]
    if writes[0] or writes[1]:
        return writes[0] == writes[1]
    return do_texts_agree(draft.text, other_draft.text)


def _list_writing_uses(reply: models.ModelReply, ctx: TurnContext) -> list[models.ToolUse]:
    tools = ctx.toolbox.tools
    return [
        use
        for use in map(unwrap_use_tool, reply.tool_uses)
        if use.name in tools and tools[use.name].tool_class in WRITE_CLASSES
    ]


def _format_writing_calls(reply: models.ModelReply, ctx: TurnContext) -> list[str]:
    return [
        dumps([use.name, {name: value for name, value in use.input.items() if name != RESERVED_ARGUMENT}])
        for use in _list_writing_uses(reply, ctx)
    ]


def _draft_as_data(reply: models.ModelReply) -> Json:
    calls: list[Json] = [{"tool": use.name, "arguments": use.input} for use in reply.tool_uses]
    return {"text": reply.text, "calls": calls}


ORCHESTRATOR_KEY_PREFIX = "brainos"  # begins the journal keys of an orchestrator's replies, after ``talk:``


def with_orchestrator(ctx: TurnContext) -> TurnContext:
    """The context in which model requests go to the orchestrator."""
    record = ctx.record
    conversation_id = f"purple-{digest([record.tenant, record.session_id, record.task_id])[:24]}"
    model = OrchestratorModel(ctx.ports.brainos, conversation_id, ctx.journal.spending)
    ceilings = ctx.limits.ceilings._replace(nanos=None, tariff=Tariff())
    return replace(ctx, ports=ctx.ports._replace(model=model), limits=ctx.limits._replace(ceilings=ceilings))


class OrchestratorModel(models.Model):
    """A model that passes requests on to the orchestrator, which keeps the history and gets only what is new.

    A message whose reply was lost in a crash is never sent again. Instead a new conversation begins, with all calls so
    far as its context.
    """

    def __init__(self, orchestrator: Orchestrator | None, conversation_id: str, spending: TaskSpending) -> None:
        """Without an ``orchestrator``, as in a replay, every request fails."""
        self._orchestrator = orchestrator
        self._id = conversation_id
        self._spending = spending

    @override
    async def complete(self, request: models.ModelRequest) -> models.ModelReply:
        if self._orchestrator is None:
            raise models.ModelUnavailable("BrainOS is not configured")
        message = self._build_message(request)
        try:
            reply = await self._orchestrator.send(message)
        except OrchestratorUnavailable as error:
            raise models.ModelUnavailable(str(error)) from error
        return _build_reply(request, message, reply)

    def _build_message(self, request: models.ModelRequest) -> OrchestratorMessage:
        """The message to send: what is new, or the task and all results so far, if a reply was lost in a crash."""
        *lost_keys, current_key = [
            key for key in self._spending.unanswered_keys if f":{ORCHESTRATOR_KEY_PREFIX}" in key
        ]
        name = f"{self._id}-{len(lost_keys) + 1}" if lost_keys else self._id
        if len(request.messages) == 1 or current_key in lost_keys:
            return _build_opening(name, request)
        last_message = request.messages[-1]
        names = {use.id: use.name for use in _list_tool_uses(request)}
        results = tuple(
            OrchestratorResult(names[block.tool_use_id], _result_as_json(block))
            for block in last_message.blocks
            if isinstance(block, models.ToolResult)
        )
        text = "\n\n".join(filter(None, _list_message_texts(last_message)))
        return OrchestratorMessage(name, "Tool results:" if results else text, results=results)


def _build_opening(name: str, request: models.ModelRequest) -> OrchestratorMessage:
    """The first message: the task is its text; the role, the known facts and the tools are its context."""
    task, *sections = _list_message_texts(request.messages[0])
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": to_exact(tool.input_schema)}
        for tool in request.tools
    ]
    so_far = _list_results_so_far(request)
    news = [] if len(request.messages) == 1 else _list_message_texts(request.messages[-1])
    context = (*request.system, *sections, render_in_order({"read_tools": tools, "so_far": so_far}), *news)
    return OrchestratorMessage(name, task, "\n\n".join(filter(None, context)))


def _list_results_so_far(request: models.ModelRequest) -> list[Json]:
    blocks = [block for message in request.messages[1:] for block in message.blocks]
    result_by_use_id = {
        block.tool_use_id: _result_as_json(block) for block in blocks if isinstance(block, models.ToolResult)
    }
    uses = [use for use in _list_tool_uses(request) if use.id in result_by_use_id]
    return [{"tool": use.name, "arguments": use.input, "result": result_by_use_id[use.id]} for use in uses]


def _list_tool_uses(request: models.ModelRequest) -> list[models.ToolUse]:
    return [block for message in request.messages for block in message.blocks if isinstance(block, models.ToolUse)]


def _list_message_texts(message: models.Message) -> list[str]:
    return [block.text for block in message.blocks if isinstance(block, models.TextBlock)]


def _result_as_json(result: models.ToolResult) -> Json:
    try:
        content = loads(result.content)
    except ValueError:
        content = result.content
    return {"error": content} if result.is_error else content


def _build_reply(
    request: models.ModelRequest, message: OrchestratorMessage, reply: OrchestratorReply
) -> models.ModelReply:
    earlier_uses = len(_list_tool_uses(request))
    uses = [
        models.ToolUse(f"b{earlier_uses + index}", call.name, call.params) for index, call in enumerate(reply.calls)
    ]
    blocks = (*((models.TextBlock(reply.text),) if reply.text else ()), *uses)
    characters_sent = len(message.message) + sum(len(dumps(result.result)) for result in message.results)
    characters_sent += sum(len(text) for text in _list_message_texts(request.messages[0])[1:]) if message.context else 0
    characters_received = len(reply.text) + sum(len(call.name) + len(dumps(call.params)) for call in reply.calls)
    cached_tokens = max(0, measure_request(request).total - estimate_tokens(characters_sent))
    usage = models.Usage(
        estimate_tokens(characters_sent), estimate_tokens(characters_received), cache_read=cached_tokens
    )
    return models.ModelReply(blocks, "tool_use" if uses else "end_turn", usage, ORCHESTRATOR_KEY_PREFIX)
