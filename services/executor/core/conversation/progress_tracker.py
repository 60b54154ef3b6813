"""The progress of one task through its states, part of which an earlier attempt at the turn may have stored."""

from services.executor.core.authorize.persons import list_states_of_plan
from services.executor.core.conversation.understanding import Understanding, choose_process, with_parts
from services.executor.core.model.message_history import MessageHistory
from services.executor.core.plan.draft import ClosedPlan
from services.executor.core.session.context import TurnContext, enter_state
from services.executor.core.session.dossier import Progress
from services.executor.core.states.machine import first_plan_state
from shared.domain.words import FsmState


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
        """Settles the task's parts, process and strategy; returns the context with what was learned of that process."""
        if not self.was_reply_stored:
            ctx, self.progress = await choose_process(ctx, self.progress, understanding)
        self.progress = with_parts(ctx, self.progress, understanding)
        return ctx

    async def enter_state_once(self, ctx: TurnContext, state: FsmState) -> None:
        """Enters a state, unless an earlier attempt passed through it."""
        if not self.was_reply_stored:
            await self.enter_state(ctx, state)

    async def enter_state(self, ctx: TurnContext, state: FsmState) -> None:
        """Enters a state, unless the task is in it already."""
        if self.progress.state is not state:
            self.progress = await enter_state(ctx, self._with_reply_count(), state)

    async def begin_plan(self, ctx: TurnContext, closed_plan: ClosedPlan) -> None:
        """Enters the plan's first state, unless an earlier attempt closed it: a person may have approved it since."""
        plan = closed_plan.plan
        if plan.round <= self._stored_plan:
            return
        plan_fields: dict[str, object] = {
            "plan": plan, "plans": self.progress.dossier.every_plan, "verdict": closed_plan.verdict,
            "approved_hash": None, "approval_note": None, "by_person": False, "approved_level": None,
        }  # fmt: skip
        ctx.journal.add_event("plan", calls=[call.tool for call in plan.calls], number=plan.round)
        progress = self._with_reply_count().update_dossier(**plan_fields).model_copy(update={"confirmed": ()})
        progress = progress.model_copy(update={"path": list_states_of_plan(ctx, progress)})
        self.progress = await enter_state(ctx, progress, first_plan_state(progress.path), closed_plan.events)

    def _with_reply_count(self) -> Progress:
        return self.progress.model_copy(update={"replies": max(self.progress.replies, self._message_history.replies)})
