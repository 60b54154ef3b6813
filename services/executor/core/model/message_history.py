"""The message history of a task's conversation. It only grows, until it is too long or another tier takes over."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from services.executor.core.model.model_calls import append_text_for_one_request, ask_model, get_stored_or_new_call_mode
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import TurnContext, get_task_time
from services.executor.core.states.machine import Failed
from services.executor.core.states.prompts import render_in_order
from services.executor.core.tools.toolbox import find_tool_of_condition
from shared.contracts.policy import ToolRule, ToolRuleKind
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.ports import models

_OPENING_KEY = "talk:opening"
_OPENING_SECTIONS = (
    "task", "files", "now", "history", "primer", "knowledge", "entities", "policy_advice", "constraints", "thresholds",
    "documents", "answer_format", "process_types",
)  # fmt: skip
_MOST_RULES, _LONGEST_RULE = 60, 300  # rules that the model is told, and characters of each


async def get_opening_sections(ctx: TurnContext) -> dict[str, Json]:
    """The sections of the first message, as ``{section name: content}``; journaled, so that every attempt sends the
    same. The section ``files`` is built anew if later messages of the task brought files.
    """

    async def compose() -> str:
        return dumps(_build_sections(ctx))

    opening = loads_object(await ctx.journal.run_local_step(_OPENING_KEY, compose))
    came_later = ctx.record.later_files or ctx.turn.files
    return {**opening, "files": ctx.sections["files"]} if came_later else opening


def _build_first_message(sections: dict[str, Json], pictures: Sequence[models.ImageBlock]) -> models.Message:
    """The first message: the task's pictures, then all sections."""
    return models.Message("user", (*pictures, models.TextBlock(render_in_order(sections))))


def _build_sections(ctx: TurnContext) -> dict[str, Json]:
    solver = ctx.record.request.solver
    sections: dict[str, Json] = {
        **ctx.sections,
        "now": _describe_current_time(ctx),
        "constraints": _describe_constraints(ctx),
        "process_types": [*ctx.experience.synthesized],  # designed for the tenant before: they keep their names
    }
    if solver is not None:
        sections["answer_format"] = "prose" if solver.expected_format == "single" else "list"
    return {name: sections[name] for name in _OPENING_SECTIONS if sections.get(name) not in (None, "", [], {})}


def _describe_current_time(ctx: TurnContext) -> Json:
    local, practice = get_task_time(ctx), ctx.record.request.practice
    times: dict[str, Json] = {"current_time": local.isoformat(timespec="minutes"), "weekday": local.strftime("%A")}
    if practice and practice.turn:
        times["turn"] = practice.turn
        times["first_turn"] = (practice.began or local).isoformat(timespec="minutes")
    return times


def _describe_constraints(ctx: TurnContext) -> str:
    """The constraints as texts: those of the provisional verdict, and each rule that may concern the task's tools."""
    provisional = str(ctx.sections.get("constraints") or "")
    practice = ctx.record.request.practice
    offered = ctx.toolbox.names
    rules = [
        f"{rule.action.replace('_', ' ')}{f' by {rule.level}' if rule.level else ''} when {rule.condition}"
        f"{f': {rule.reason}' if rule.reason else ''}"
        for policy in ctx.policies
        for rule in policy.rules
        if not rule.report_only and find_tool_of_condition(rule.condition) in offered
    ]
    rules += [
        _describe_tool_rule(rule)
        for policy in ctx.policies
        for rule in policy.tool_rules
        if not rule.report_only and any(fnmatchcase(name, rule.tool.strip()) for name in offered)
    ]
    lines = "\n".join(f"- {text[:_LONGEST_RULE]}" for text in rules[:_MOST_RULES])
    paragraph = f"Standing rules; a write that one of them concerns is checked, and may wait for a person:\n{lines}"
    if lines and ctx.policies == ctx.tenant.policies:  # many tasks have them in common
        ctx.journal.register_shared_texts(dumps(paragraph)[1:-1])
    texts = (practice.instructions if practice else "", provisional, paragraph if lines else "")
    return "\n".join(filter(None, texts))


def _describe_tool_rule(rule: ToolRule) -> str:
    """A rule about a tool's calls as a sentence: its limit, what it counts, and which fields must agree."""
    sentence = f"{rule.kind.replace('_', ' ')} {rule.tool}"
    if rule.kind == ToolRuleKind.AT_MOST:
        limit = 1 if rule.limit is None else rule.limit
        noun = "successful call" if rule.counting == "successes" else "call"
        sentence = f"at most {limit} {noun}{'' if limit == 1 else 's'} of {rule.tool}"
    elif rule.kind.startswith("only"):
        required_tools = f" {' or '.join(rule.after)}" if rule.after else ""
        sentence = f"{rule.tool} {rule.kind.replace('_', ' ').removesuffix(' when')}{required_tools}"
    limitations = (
        f"with the same {', '.join(rule.per)}" if rule.per else "",
        f"when {rule.condition}" if rule.condition else "",
        f"by {rule.level}" if rule.level else "",
    )
    return " ".join(filter(None, (sentence, *limitations))) + (f": {rule.reason}" if rule.reason else "")


PROPOSE_AGAIN_TEXT = "Not made: propose it again."
_LONGEST_REPLY = 4_096
_MOST_PAUSES_OF_A_REPLY = 4  # times that a model may pause within one reply
_MOST_HISTORY_CHARACTERS = 240_000  # characters; beyond that a new history begins


class CallAnswer(NamedTuple):
    """The result of a tool call. If the call already got the result "held", the model is told ``outcome`` instead."""

    result: models.ToolResult
    outcome: JsonObject | None = None


class MessageHistory:
    """The messages between this conversation and the model, the model's tier, and the results of calls that were not
    sent yet. ``calls_so_far``: all calls of the conversation, those before a ``restart`` among them.
    """

    def __init__(
        self, ctx: TurnContext, sections: dict[str, Json], tools: tuple[models.ToolDefinition, ...], prefix: str
    ) -> None:
        """``prefix``: of the journal keys of the replies. ``sections``: of the first message, by name."""
        self._prefix = prefix
        self._ctx = ctx
        self._sections = sections
        self.tools = tools
        self.tier = models.Tier.SMALL
        self.messages: tuple[models.Message, ...] = (_build_first_message(sections, ctx.pictures),)
        self.replies = 0
        self.has_calls_waiting = False  # whether calls wait for their results, so that no new history may begin
        self.understanding: JsonObject = {}
        self.calls_so_far: list[Json] = []
        self.figures = ""  # of the process, in the text that the model was sent last
        self._last_request: models.ModelRequest | None = None  # of this history
        self._results: dict[str, models.ToolResult] = {}  # by call id, those that wait to be sent

    @property
    def reply_key(self) -> str:
        """The journal key of the present reply, and the prefix of the keys of its steps."""
        return f"{self._prefix}:{self.replies}"

    async def ask(self, share: BudgetShare, tier: models.Tier) -> models.ModelReply:
        """The model's next reply. Raises ``Failed`` once there were too many replies."""
        if self.replies >= self._ctx.limits.iterations:
            raise Failed(f"the task took {self.replies} replies of the model without an end")
        self.replies += 1
        actual_tier = get_stored_or_new_call_mode(self._ctx, f"{self.reply_key}:model", tier, share).tier
        if actual_tier is not self.tier or (self._is_long() and not self.has_calls_waiting):
            self.restart(actual_tier)
        request, last_request = self.build_request(), self._last_request
        self._last_request = request
        sent_request = request._replace(tier=tier)  # where it is put to a lower one, that is counted
        return await self._ask_model(f"{self.reply_key}:model", sent_request, share, last_request)

    def build_request(self, appended_text: str = "", effort: models.Effort | None = None) -> models.ModelRequest:
        """The next request. ``appended_text`` is in this request only."""
        return models.ModelRequest(
            tier=self.tier,
            system=(self._ctx.prompts.rules,),
            messages=append_text_for_one_request(self.messages, appended_text) if appended_text else self.messages,
            tools=self.tools,
            max_tokens=_LONGEST_REPLY,
            effort=effort,
            will_be_extended=True,
        )

    def add_reply(self, reply: models.ModelReply) -> None:
        self._ctx.journal.saw_pictures &= reply.saw_images
        self.messages = (*self.messages, models.Message("assistant", reply.blocks))

    def add_message(self, text: str, results: Sequence[models.ToolResult] = ()) -> None:
        """Adds a user message: the results of the last reply's calls, and a text of the executor."""
        blocks = (models.TextBlock(text),) if text else ()
        self.messages = (*self.messages, models.Message("user", (*results, *blocks)))

    def restart(self, tier: models.Tier) -> None:
        """Continues on ``tier`` with a new history of one message: the opening sections, the parts, all calls so far,
        the last message's texts and the figures. A history that has only its first message is kept.
        """
        self.tier = tier
        if len(self.messages) > 1:
            last_texts = [block for block in self.messages[-1].blocks if isinstance(block, models.TextBlock)]
            if self.figures and not any(self.figures in block.text for block in last_texts):
                last_texts.insert(0, models.TextBlock(self.figures))
            sections: dict[str, Json] = {**self._sections, "parts": self.understanding, "so_far": [*self.calls_so_far]}
            opening = _build_first_message(sections, self._ctx.pictures)
            self.messages = (opening._replace(blocks=(*opening.blocks, *last_texts)),)
            self._last_request = None

    async def _ask_model(
        self, key: str, request: models.ModelRequest, share: BudgetShare, last_request: models.ModelRequest | None
    ) -> models.ModelReply:
        """One reply. If the model pauses within it, it is asked to continue, at most four times."""
        reply = await ask_model(self._ctx, key, request, share, last_request)
        for number in range(_MOST_PAUSES_OF_A_REPLY):
            if reply.stop_reason != "pause_turn":
                break
            longer = request._replace(messages=(*request.messages, models.Message("assistant", reply.blocks)))
            next_reply = await ask_model(self._ctx, f"{key}:more{number}", longer, share, request)
            reply = next_reply._replace(blocks=(*reply.blocks, *next_reply.blocks))
        return reply

    def _is_long(self) -> bool:
        blocks = (
            block for message in self.messages for block in message.blocks if not isinstance(block, models.ImageBlock)
        )
        length = sum(len(block.text) if isinstance(block, models.TextBlock) else len(str(block)) for block in blocks)
        return len(self.messages) > 2 and length > _MOST_HISTORY_CHARACTERS

    def reset_results(self, results: Mapping[str, models.ToolResult]) -> None:
        """Replaces the results that wait to be sent by those that a new reply's calls already have."""
        self._results = dict(results)

    def add_results(self, results: Iterable[models.ToolResult]) -> None:
        self._results |= {result.tool_use_id: result for result in results}

    def append_outcomes_message(self, answers: Sequence[CallAnswer]) -> None:
        """Adds a message with the answers to the last reply's calls, and all other results.

        For calls that already have a result, the message's text lists the ``outcome`` of their answers.
        """
        waiting = {use_id for use_id in self._list_call_ids() if use_id not in self._results}
        self.add_results(answer.result for answer in answers if answer.result.tool_use_id in waiting)
        answered_before = [answer for answer in answers if answer.result.tool_use_id not in waiting]
        outcomes: list[Json] = [answer.outcome for answer in answered_before if answer.outcome]
        self.append_results_message(render_in_order({"outcomes": outcomes}) if outcomes else "")

    def append_results_message(self, text: str) -> None:
        """Adds a message with all results and the text. A call without a result is reported as not made."""
        calls = self._list_call_ids()
        if not calls:
            return self.add_message(text or "Go on.")
        missing = models.ToolResult("", PROPOSE_AGAIN_TEXT, is_error=True)
        results = [self._results.get(use_id, missing._replace(tool_use_id=use_id)) for use_id in calls]
        self._results = {}
        return self.add_message(text, results)

    def _list_call_ids(self) -> list[str]:
        last_message = self.messages[-1]
        if last_message.role != "assistant":
            return []
        return [block.id for block in last_message.blocks if isinstance(block, models.ToolUse)]
