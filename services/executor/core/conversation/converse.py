"""EXECUTE as one guarded conversation: the model reads, calculates and proposes writes; its proposals become plans.

All state comes from the journal. A later attempt at the turn takes replies and results from it, and goes on after them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import TypeAdapter

from services.executor.core.authorize.persons import list_remaining_states
from services.executor.core.conversation import strategies
from services.executor.core.conversation.answers import AnswerChecks, why_text_is_no_answer
from services.executor.core.conversation.dispatch import CheckedProposals, ReplyDispatch
from services.executor.core.conversation.local_tools import LocalTools, has_condition_or_open_selection
from services.executor.core.conversation.understanding import (
    UNDERSTAND_TOOL_NAME,
    Understanding,
    build_default_understanding,
    build_learned_sections_of_process,
    choose_process,
    find_still_unaddressed_sentences,
    with_parts_and_answer_form,
    with_process,
)
from services.executor.core.figures.calculate import CALCULATE_DEFINITION
from services.executor.core.model.made_tools import add_made_tools
from services.executor.core.model.message_history import MessageHistory, get_opening_sections
from services.executor.core.plan.agreement import asks_for_several
from services.executor.core.plan.closing import PlanClosing
from services.executor.core.plan.draft import ClosedPlan, Omission, PlanDraft, build_held_result, build_outcome_answer
from services.executor.core.plan.listed_ids import find_listed_ids_without_call
from services.executor.core.plan.named_reads import NamedRecordReader
from services.executor.core.plan.outcomes import list_answers_as_facts, list_parts_not_done
from services.executor.core.plan.sources import KnownSources, build_known_sources
from services.executor.core.process.figures import describe_process, render_figures, with_process_figures
from services.executor.core.reads.reader import TaskReader, fetch_allowances
from services.executor.core.reads.recovering import list_known_renames
from services.executor.core.session.budget import BudgetShare
from services.executor.core.session.context import TurnContext, enter_state, open_state_span
from services.executor.core.session.dossier import Progress
from services.executor.core.session.ledger import index_plan_entries, list_entries, list_past_calls_of_writes
from services.executor.core.session.values import (
    Fact,
    PartOfTask,
    list_open_questions,
    list_parts_to_do,
    mark_unanswered,
    mark_unmet_conditions,
    without_values,
)
from services.executor.core.states.machine import GENERAL_TEMPLATE, Failed, first_plan_state, has_complex_word
from services.executor.core.tools.toolbox import WRITE_CLASSES, list_offered_tools, unwrap_use_tool
from services.executor.ports.services import OrchestratorName
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import PastCall
from shared.domain.exact_json import Json, dumps, loads_object
from shared.domain.words import FsmState
from shared.ports.models import ModelReply, Tier, ToolDefinition, ToolResult, ToolUse


class ProgressTracker:
    """Tracks how far a task has come, in this attempt at the turn and earlier ones.

    After a crash the stored replies are replayed. Their effects are in the stored progress already, so they are neither
    counted nor stored again.
    """

    def __init__(self, progress: Progress, history: MessageHistory) -> None:
        """``progress``: that of the last checkpoint."""
        self.progress = progress.update_dossier(values=())  # they are calculated again, by the journal's replies
        self._message_history = history
        self._stored_replies = progress.replies
        self._stored_plan = progress.dossier.plan.round if progress.dossier.plan else 0

    @property
    def was_reply_stored(self) -> bool:
        """Whether the stored progress already includes the effects of the last reply."""
        return self._message_history.replies <= self._stored_replies

    def count_model_calls(self, calls: int, *, were_counted: bool) -> None:
        """Adds model calls to the progress, unless the stored progress counts them already (``were_counted``)."""
        if not were_counted:
            self.progress = self.progress.model_copy(update={"model_calls": self.progress.model_calls + calls})

    async def set_parts_and_process(self, ctx: TurnContext, understanding: Understanding) -> TurnContext:
        """Sets the task's parts, process and strategy; returns the context, with what was learned of a new process."""
        if not self.was_reply_stored:
            ctx, self.progress = await choose_process(ctx, self.progress, understanding)
        self.progress = with_parts_and_answer_form(ctx, self.progress, understanding)
        return ctx

    async def enter_state_unless_reply_stored(self, ctx: TurnContext, state: FsmState) -> None:
        """Enters a state, unless the stored progress already has what the last reply led to."""
        if not self.was_reply_stored:
            await self.enter_state(ctx, state)

    async def enter_state(self, ctx: TurnContext, state: FsmState) -> None:
        """Enters a state, unless the task is in it already."""
        if self.progress.state is not state:
            self.progress = await enter_state(ctx, self._with_reply_count(), state)

    async def begin_plan(self, ctx: TurnContext, closed_plan: ClosedPlan) -> None:
        """Enters a new plan's first state. A plan closed in an earlier attempt stays: it may be approved by now."""
        plan = closed_plan.plan
        if plan.round <= self._stored_plan:
            return
        plan_fields: dict[str, object] = {
            "plan": plan, "plans": self.progress.dossier.every_plan, "verdict": closed_plan.verdict,
            "approved_hash": None, "approval_note": None, "by_person": False, "approved_level": None,
        }  # fmt: skip
        ctx.journal.add_event("plan", calls=[call.tool for call in plan.calls], number=plan.round)
        progress = self._with_reply_count().update_dossier(**plan_fields).model_copy(update={"confirmed": ()})
        progress = progress.model_copy(update={"path": list_remaining_states(ctx, progress)})
        self.progress = await enter_state(ctx, progress, first_plan_state(progress.path), closed_plan.events)

    def _with_reply_count(self) -> Progress:
        return self.progress.model_copy(update={"replies": max(self.progress.replies, self._message_history.replies)})


_PAST_CALLS_ADAPTER = TypeAdapter(tuple[PastCall, ...])
# To the larger model, of what the smaller one's first reply proposed.
_PROPOSE_AGAIN_MESSAGE = "Not made. Propose it again now."
_TRUNCATED_REPLY_MESSAGE = "Your reply was cut off before its calls: make them now, with fewer words before them."
_MOST_ROUNDS_OF_READS = 3  # of what a plan names, and of the records that those lead to


class Conversation:
    """The conversation of one task with its model, in its present state."""

    def __init__(self, ctx: TurnContext, progress: Progress, sections: dict[str, Json], reader: TaskReader) -> None:
        self.ctx = ctx
        self.reader = reader
        self._local = LocalTools(ctx, progress)
        self._uses_local_model = progress.orchestrator is OrchestratorName.LOCAL
        model_ctx, prefix = ctx, "talk"
        if not self._uses_local_model:
            model_ctx = strategies.with_orchestrator(ctx)
            prefix = f"talk:{strategies.ORCHESTRATOR_KEY_PREFIX}"
        self._is_understood = False  # whether a reply has settled the task's parts
        self._message_history = MessageHistory(model_ctx, sections, self._list_offered_tools(), prefix)
        self._tracker = ProgressTracker(progress, self._message_history)
        self.draft = PlanDraft(ctx.limits.plans)
        self._has_proposed_writes = False
        self._closed_plan: ClosedPlan | None = None
        self._was_asked_for_notice = False  # whether the model was told once whom the process has to tell
        self._write_answers: tuple[Fact, ...] = ()  # of servers to the writes of earlier plans
        self._has_outcomes = False  # whether a plan was carried out since the last reply
        self._drafting = strategies.SingleDraft(ctx)  # of every strategy, until the task is understood
        self._answers = AnswerChecks(ctx)

    @property
    def progress(self) -> Progress:
        return self._tracker.progress

    @property
    def reply_key(self) -> str:
        """The journal key of the reply that is asked for, or was received last."""
        return self._message_history.reply_key

    @property
    def may_answer_from_ledger(self) -> bool:
        """Whether a list of the writes may replace the model's answer.

        This requires that prose is wanted, that every part is a change of one thing and has calls that do it, that no
        proposal is waiting, and that no listed identifier is left out.
        """
        only_changes = bool(self._parts) and all(part.is_to_do for part in self._parts)
        is_of_several = any(
            asks_for_several(part.quote) or has_condition_or_open_selection(part.quote) for part in self._parts
        )
        if not only_changes or is_of_several or self.progress.dossier.answer_format != "prose":
            return False
        return not (
            self.draft.held or self.draft.list_parts_without_effect(self._parts) or self.ids_without_call_by_part
        )

    @property
    def ids_without_call_by_part(self) -> Mapping[int, tuple[str, ...]]:
        """By part number, the ids in a list of the part that no call names, while calls name others of that list."""
        calls = [call for plan in self.draft.plans for call in plan.calls]
        parts = [part for part in list_parts_to_do(self._parts) if not part.unmet]
        ids_by_part = {
            part.number: find_listed_ids_without_call(part, calls, self.reader.facts, self.ctx.toolbox.keys)
            for part in parts
        }
        return {number: ids for number, ids in ids_by_part.items() if ids}

    def list_omissions(self) -> list[Omission]:
        """What the closed plan leaves out of the task; empty if no plan is closed."""
        return self.draft.list_omissions(self._closed_plan, self._parts) if self._closed_plan else []

    async def run_until_plan_or_answer(self) -> WritePlan | None:
        """Asks the model for replies and carries out their calls, until a plan closes or the answer is found.

        Returns the closed plan, which is to be carried out now; None for an answer. ``progress`` holds either.
        """
        if self._has_outcomes and await self._answer_by_strategy():
            return None
        while True:
            self._message_history.has_calls_waiting = bool(self.draft.held)
            self._drafting.open_parts = self.draft.list_parts_without_calls(self._parts)
            reply = await self._drafting.next_reply(self._message_history, self._budget_share, self._tier)
            if await self._act_and_tell_if_done(reply):
                return self._closed_plan.plan if self._closed_plan else None

    async def add_outcomes(self, progress: Progress, outcomes: Mapping[str, Json]) -> None:
        """Tells the model the outcomes of the closed plan's calls, by call id. ``progress``: as the plan left it.

        Raises ``Failed`` if no plan was closed.
        """
        self._tracker.progress = progress
        closed_plan, self._closed_plan = self._closed_plan, None
        if closed_plan is None:
            raise Failed("no plan was closed")
        self.reader.mark_outdated_by_writes(
            list_past_calls_of_writes((await index_plan_entries(self.ctx.store, closed_plan.plan)).values())
        )
        self._has_outcomes = True
        self._write_answers += await list_answers_as_facts(self.ctx, (closed_plan.plan,))
        proposals = self.draft.record_outcomes(closed_plan, outcomes, self._parts)
        self._message_history.append_outcomes_message(
            [build_outcome_answer(proposal, outcome) for proposal, outcome in proposals]
        )
        self._message_history.calls_so_far += [
            {**proposal.as_json(), "result": outcome} for proposal, outcome in proposals
        ]

    async def _act_and_tell_if_done(self, reply: ModelReply) -> bool:
        """Adds the reply and carries out its calls; returns whether a plan is closed or the answer found."""
        self._count_model_calls(1)
        self._message_history.add_reply(reply)
        if reply.tool_uses:
            return await self._dispatch_calls(reply)
        if not self.draft.held:
            return await self._accept_or_correct_answer(reply)
        if not reply.is_cut:
            return await self._close_plan()
        self._message_history.add_message(_TRUNCATED_REPLY_MESSAGE)
        return False

    @property
    def _parts(self) -> tuple[PartOfTask, ...]:
        return self.progress.dossier.parts

    @property
    def _has_parts_to_do(self) -> bool:
        """Whether the task has a part to be done; otherwise it only asks."""
        return bool(list_parts_to_do(self._parts))

    @property
    def _tier(self) -> Tier:
        """The model tier of the next reply: large if the task has a part to be done or a word for complex work; small
        otherwise, for the first reply, and for an orchestrator.
        """
        if self._message_history.replies == 0 or not self._uses_local_model:
            return Tier.SMALL
        return Tier.LARGE if self._has_parts_to_do or has_complex_word(self.ctx.task) else Tier.SMALL

    @property
    def _budget_share(self) -> BudgetShare:
        if self._message_history.replies == 0:
            return BudgetShare.READING
        if not self._has_parts_to_do:
            return BudgetShare.WHOLE
        # The answer after writes may use the whole budget, too.
        return BudgetShare.PLAN if self.progress.dossier.plans else BudgetShare.PROPOSING

    def _count_model_calls(self, calls: int) -> None:
        """Counts ``calls`` and the extra ones that the strategy made, unless the stored progress includes them."""
        extra_calls = self._drafting.pop_extra_call_count()
        were_counted = self._tracker.was_reply_stored
        self._tracker.count_model_calls(calls + extra_calls, were_counted=were_counted)

    async def _dispatch_calls(self, reply: ModelReply) -> bool:
        """Carries out the reads and local tools of a reply, and adds its writes to the draft; sends no write.

        Returns whether the draft is closed as a plan now; False for a reply that was cut off.
        """
        uses = self._list_complete_calls(reply)
        is_first = self._should_set_parts(uses)
        understood = await self._understand_task(uses) if is_first else {}
        dispatch = await self._read_and_calculate([use for use in uses if use.id not in understood])
        self._message_history.reset_results({**understood, **dispatch.results})
        self._message_history.calls_so_far += dispatch.calls_as_data
        if any(use.name == CALCULATE_DEFINITION.name for use in uses):
            await self._tracker.enter_state_unless_reply_stored(self.ctx, FsmState.COMPUTE)
        self._update_progress()
        if is_first and self._uses_local_model and (use_ids := dispatch.proposed.write_call_ids):
            self._message_history.add_results(
                ToolResult(use_id, _PROPOSE_AGAIN_MESSAGE, is_error=True) for use_id in use_ids
            )
            self._append_results_message()
            return False
        return await self._add_and_close_if_complete(dispatch.proposed, is_cut=reply.is_cut)

    def _list_complete_calls(self, reply: ModelReply) -> tuple[ToolUse, ...]:
        """The reply's calls; of one that was cut off all but the last, or none if ``understand`` was not called yet."""
        if not reply.is_cut:
            return reply.tool_uses
        complete_uses = reply.tool_uses[:-1]
        is_understood = self._is_understood or any(use.name == UNDERSTAND_TOOL_NAME for use in complete_uses)
        return complete_uses if is_understood else ()

    def _should_set_parts(self, uses: Sequence[ToolUse]) -> bool:
        """Whether the task's parts are set now: these are the first calls with ``understand`` or a server's tool."""
        return not self._is_understood and any(
            use.name == UNDERSTAND_TOOL_NAME or not self._local.is_local_tool(use.name) for use in uses
        )

    async def _read_and_calculate(self, uses: Sequence[ToolUse]) -> ReplyDispatch:
        """Carries out the reply's reads, then its local tools, and collects the writes that it proposes."""
        called_tools = (self.ctx.toolbox.tools.get(unwrap_use_tool(use).name) for use in uses)
        if any(tool and tool.tool_class not in WRITE_CLASSES for tool in called_tools):
            await self._tracker.enter_state_unless_reply_stored(
                self.ctx, FsmState.ASSESS
            )  # before the first of them goes out (I1)
        self._local.progress = self.progress
        dispatch = ReplyDispatch(self.ctx, self.reader, self.reply_key, uses)
        with open_state_span(self.ctx, self.progress):
            await dispatch.read_all(self._known_sources)
            for use in sorted(dispatch.other_uses, key=lambda other_use: not self._local.is_local_tool(other_use.name)):
                result = await self._local.call(dispatch.build_local_step_key(use), use, self.reader.facts)
                dispatch.add_local_result(use, result)
            await self._check_proposals(dispatch)
        self._has_proposed_writes |= bool(dispatch.proposed.write_call_ids)
        return dispatch

    async def _check_proposals(self, dispatch: ReplyDispatch) -> None:
        """Checks the proposed writes; if an argument has no source, reads the records they name and checks again."""
        key = f"{self.reply_key}:sought"
        if dispatch.proposed.write_call_ids:  # as an earlier attempt decided it
            if self.ctx.journal.get_from_earlier_attempt(key) is not None:
                await self._read_named_records(key, ())  # takes the reads of that attempt from the journal
        elif dispatch.writes:
            context = self.draft.build_proposal_context(
                self._mark_parts_left_undone, self.reader.corrections, self._message_history.replies
            )
            sourceless = dispatch.check_writes_and_find_unsourced(self.draft.held, context, self._known_sources)
            if sourceless and await self._read_named_records(key, sourceless):
                dispatch.check_writes_and_find_unsourced(self.draft.held, context, self._known_sources)
            dispatch.journal_proposals()

    async def _add_and_close_if_complete(self, reply_proposals: CheckedProposals, *, is_cut: bool) -> bool:
        """Adds the reply's proposals to the draft; closes the plan if every part has its calls, or nothing new was
        proposed, and returns whether it did.

        A reply that was cut off closes no plan, since its further proposals are unknown.
        """
        self.draft.told_doubts.update(reply_proposals.doubts)
        if errors := {**reply_proposals.wrong, **self.draft.get_reasons_for_dropped_calls(self._parts)}:
            self._send_errors_to_model(errors)
            return False
        entries = await list_entries(self.ctx.store, self.draft.plans)
        new_proposals, results = self.draft.hold_proposals(reply_proposals.proposals, self._parts, entries)
        self._message_history.add_results(results)
        is_complete = not new_proposals or not self.draft.list_parts_without_calls(self._parts)
        if self.draft.held and is_complete and not is_cut:
            return await self._close_plan()
        self._message_history.add_results(build_held_result(proposal, proposal) for proposal in new_proposals)
        self._append_results_message()
        return False

    def _send_errors_to_model(self, errors: Mapping[str, str]) -> None:
        """Tells the model the errors; all held writes must be proposed again. Raises ``Failed`` the fourth time."""
        answers = self.draft.discard_proposals(errors)
        self.ctx.journal.add_event("note", corrected=[*dict.fromkeys(errors.values())])
        self._message_history.append_outcomes_message(answers)

    async def _read_named_records(self, key: str, calls: Sequence[PlannedCall]) -> bool:
        """Reads the records that these calls name and nobody has read; returns whether there were any."""
        reads = NamedRecordReader(self.ctx, self.reader, key, calls)
        if reads.has_unmade_reads:
            await self._tracker.enter_state(self.ctx, FsmState.ASSESS)
        return await reads.make_reads()

    def _append_results_message(self) -> None:
        """Adds a message with the results, the strategy's text and any new figures of the process."""
        figures = "" if self.progress.read_only else render_figures(self.ctx, self.progress)
        new_figures = figures if figures != self._message_history.figures else ""
        self._message_history.figures = figures
        texts = (new_figures, self._drafting.get_instruction_after_results(self._message_history.replies))
        self._message_history.append_results_message("\n\n".join(filter(None, texts)))

    async def _close_plan(self) -> bool:
        """Freezes the waiting proposals as a plan; False if the model has to correct something first."""
        if early := self.draft.send_back_early_notices(self._parts):
            self._send_errors_to_model(early)
            return False
        number = self.draft.next_plan_number
        calls = [proposal.call for proposal in self.draft.held]
        for round_ in range(_MOST_ROUNDS_OF_READS):  # what was read may lead on to what rules ask for
            facts_before = len(self.reader.facts)
            await self._read_named_records(f"{self.reply_key}:named{'+' * round_}", calls)
            if len(self.reader.facts) == facts_before:
                break
        closing = PlanClosing(self.ctx, self.reader, self.reply_key, asks_for_notice=not self._was_asked_for_notice)
        closed_plan = await closing.close(self.progress, self.draft.held, number)
        self._count_model_calls(closed_plan.model_calls)
        if not closed_plan.is_frozen:
            self._was_asked_for_notice |= closed_plan.asks_for_notice
            self._update_progress()
            self._send_errors_to_model(closed_plan.errors)
            return False
        self._local.values = [*without_values(self._local.values, closed_plan.stale)]
        self._update_progress()
        self._closed_plan = closed_plan
        await self._tracker.begin_plan(self.ctx, closed_plan)
        return True

    @property
    def _mark_parts_left_undone(self) -> tuple[PartOfTask, ...]:
        """All parts of the task; those that the model left undone, by an unmet condition, are marked so."""
        return mark_unmet_conditions(self._parts, self._local.unmet, self._local.unexcused)

    @property
    def _known_sources(self) -> KnownSources:
        return build_known_sources(self.ctx, (*self.reader.facts, *self._write_answers), self._local.all_values)

    def _update_progress(self) -> None:
        """Stores in the progress what was read and calculated, and computes the process's own figures from it."""
        progress = self.progress.model_copy(
            update={"repeated_calls": self.reader.repeated_reads, "corrections": dict(self.reader.corrections.names)}
        )
        progress = progress.update_dossier(
            facts=self.reader.facts,
            values=tuple(self._local.values),
            parts=mark_unanswered(self._mark_parts_left_undone, self._local.unanswered),
            made=self._local.used_made_tools,
        )
        self._tracker.progress = with_process_figures(self.ctx, progress)

    async def _understand_task(self, uses: Sequence[ToolUse]) -> dict[str, ToolResult]:
        """Sets the task's parts, process and strategy by the first reply with calls, before its other calls are made;
        returns the result of its ``understand`` call by call id, empty if it has none.
        """
        self._is_understood = True
        use = next((use for use in uses if use.name == UNDERSTAND_TOOL_NAME), None)
        result = await self._local.call(self.reply_key, use, ()) if use else None
        whole_task = build_default_understanding(self.ctx.task)
        understanding = self._local.understanding or whole_task
        understanding = understanding._replace(parts=understanding.parts or whole_task.parts)
        self.ctx = await self._tracker.set_parts_and_process(self.ctx, understanding)
        self.reader.adopt_process(with_process(self.ctx, self.progress))
        self._drafting = strategies.choose_drafting(self.ctx, self.progress)
        await self._make_missing_calculators()
        self._message_history.tools = self._list_offered_tools()
        self._message_history.understanding = {"parts": [part.as_json() for part in understanding.parts]}
        if use is None or result is None:
            return {}
        if not result.is_error:
            learned = self.ctx.journal.decide_once(
                f"{self.reply_key}:known", lambda: dumps(build_learned_sections_of_process(self.ctx, self.progress))
            )
            process: dict[str, Json] = {"process": describe_process(self.progress.template)}
            self._message_history.understanding = {**loads_object(result.content), **process, **loads_object(learned)}
            result = result._replace(content=dumps(self._message_history.understanding))
        return {use.id: result}

    async def _make_missing_calculators(self) -> None:
        """Makes the calculators that the task needs and lacks, if the tenant has made tools switched on."""
        if self.ctx.tenant.made_tools:
            progress, self._local.made_tools = await add_made_tools(self.ctx, self.progress, f"{self.reply_key}:tools")
            self._tracker.progress = self.progress if self._tracker.was_reply_stored else progress

    def _list_offered_tools(self) -> tuple[ToolDefinition, ...]:
        """The tools offered to the model. Writes are offered once the parts are known and include something to do."""
        may_write = self._is_understood and self._has_parts_to_do
        local, is_remote = self._local.list_definitions(), not self._uses_local_model
        return list_offered_tools(
            self.ctx.toolbox, local, outlines_writes=not (may_write or is_remote), is_remote=is_remote
        )

    async def _accept_or_correct_answer(self, reply: ModelReply) -> bool:
        """Accepts the reply as the answer, or tells the model what is wrong with it and returns False."""
        self._update_progress()
        lacking = self.draft.list_parts_without_effect(self._parts) if self._is_understood else None
        self._local.asked_about |= self.ids_without_call_by_part.keys()
        if problem := await self._answers.find_problem(
            self.reply_key, reply, self.progress, lacking, self.ids_without_call_by_part
        ):
            self._message_history.add_message(problem)
            return False
        if not self._is_understood:
            self.ctx = await self._tracker.set_parts_and_process(self.ctx, build_default_understanding(self.ctx.task))
        await self._store_answer(reply.text)
        return True

    async def _answer_by_strategy(self) -> bool:
        """Has the strategy write a finished task's answer; False if it writes none, or a figure has no source."""
        self._has_outcomes = False
        self._update_progress()
        ledger = await self.ctx.store.read_ledger()
        if not self.may_answer_from_ledger or list_parts_not_done(self._parts, self.draft.plans, ledger):
            return False
        key = f"{self.reply_key}:artifact"
        with open_state_span(self.ctx, self.progress):
            text = await self._drafting.draft_final_answer(key, self.progress)
        has_ended = self.progress.state is self.progress.path[-1]  # then an earlier attempt counted them
        self._tracker.count_model_calls(self._drafting.pop_extra_call_count(), were_counted=has_ended)
        if not text.strip() or not await self._answers.has_only_traced_values(f"{key}:traced", text, self.progress):
            return False
        await self._store_answer(text)
        return True

    async def _store_answer(self, text: str) -> None:
        reason = why_text_is_no_answer(text, self.ctx, self.progress.dossier)
        reasons = {part.number: reason for part in list_open_questions(self._parts)} if reason else {}
        self._tracker.progress = self.progress.update_dossier(parts=mark_unanswered(self._parts, reasons))
        await self._tracker.enter_state(self.ctx, self.progress.path[-1])
        with open_state_span(self.ctx, self.progress):
            writes = [tool.name for tool in self.ctx.toolbox.tools.values() if tool.tool_class in WRITE_CLASSES]
            sentences = find_still_unaddressed_sentences(self._local.not_taken_up, self.progress.dossier, writes)
            was_write_refused = self._has_proposed_writes and not self._has_parts_to_do
            self._tracker.progress = self._answers.with_answer(
                self.progress, text, sentences, was_write_refused=was_write_refused
            )


def build_lost_orchestrator_reads_key(name: str) -> str:
    """The journal key of the reads that an orchestrator made before it became unavailable."""
    return f"passed-over:{name}:reads"


def _list_reads_of_lost_orchestrators(ctx: TurnContext, progress: Progress) -> tuple[PastCall, ...]:
    """The reads of orchestrators that became unavailable. The latest one's note includes those of the earlier ones."""
    note = (
        ctx.journal.get(build_lost_orchestrator_reads_key([*progress.passed_over][-1]))
        if progress.passed_over
        else None
    )
    return _PAST_CALLS_ADAPTER.validate_json(note) if note is not None else ()


async def begin_conversation(ctx: TurnContext, progress: Progress) -> Conversation:
    # For the first reads: in every attempt, also where the process is known.
    general = replace(ctx, template=GENERAL_TEMPLATE)
    allowances = await fetch_allowances(ctx)
    earlier_reads = _list_reads_of_lost_orchestrators(ctx, progress)
    reader = TaskReader(general, list_known_renames(ctx, progress), allowances, progress.dossier.facts, earlier_reads)
    return Conversation(ctx, progress, await get_opening_sections(ctx), reader)
