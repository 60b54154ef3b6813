"""An assessment as an A2A task: its updates as status messages, its results as an artifact."""

from collections.abc import Mapping

from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types.a2a_pb2 import Message, Task, TaskState
from structlog import get_logger
from typing_extensions import override

from services.assessor.entrypoints.request import EvaluationRequest, key_for_agent, read_request
from services.assessor.ports.participants import Agent, Assessments, Emitter
from shared.contracts.assessment.messages import ActionObserved, Update
from shared.contracts.assessment.results import AssessmentResults

RESULTS = "assessment_results"
log = get_logger()


class TaskUpdateEmitter(Emitter):
    """Each update is a status of the task, still working. Not ``verbose``: without what the participant does."""

    def __init__(self, updater: TaskUpdater, verbose: bool = True) -> None:
        self._updater = updater
        self._verbose = verbose

    @override
    async def emit(self, update: Update) -> None:
        if isinstance(update, ActionObserved) and not self._verbose:
            return
        message = self._updater.new_agent_message([new_data_part(update.to_json())])
        await self._updater.update_status(TaskState.TASK_STATE_WORKING, message)


class GreenAgentExecutor(AgentExecutor):
    """One context's assessments run one after another, those of different contexts side by side."""

    def __init__(self, assessments: Assessments, verbose: bool = True) -> None:
        self._assessments = assessments
        self._verbose = verbose

    @override
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        message = context.message
        if message is None or not context.task_id or not context.context_id:
            raise ValueError("an assessment begins with a message")
        if context.current_task is None:
            await event_queue.enqueue_event(_make_task(message, context.task_id, context.context_id))
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        try:
            agent_key = key_for_agent(_get_request_headers(context))
            results = await self._assess(context.context_id, read_request(message.parts), agent_key, updater)
        except Exception as error:  # noqa: BLE001  the edge of a request: whatever it is, the client is told
            log.warning("assessment_failed", task_id=context.task_id, error=f"{type(error).__name__}: {error}")
            message_part = new_text_part(f"Assessment failed: {error or type(error).__name__}")
            await updater.failed(updater.new_agent_message([message_part]))
            return
        await updater.add_artifact([new_data_part(results.to_json())], name=RESULTS)
        await updater.complete()

    @override
    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Reports the task as cancelled. Its run was cancelled before, revoked its key, and emits nothing any more."""
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    async def _assess(
        self, context_id: str, request: EvaluationRequest, agent_key: str, updater: TaskUpdater
    ) -> AssessmentResults:
        emitter = TaskUpdateEmitter(updater, self._verbose)
        return await self._assessments.run_assessment(
            context_id,
            updater.task_id,
            Agent(request.participant, agent_key),
            request.config.scenario_id,
            request.limits,
            emitter,
        )


def _get_request_headers(context: RequestContext) -> Mapping[str, str]:
    """The headers of the HTTP request, with their names in small letters; empty without one."""
    headers = context.call_context.state.get("headers") if context.call_context else None
    return headers if isinstance(headers, Mapping) else {}


def _make_task(message: Message, task_id: str, context_id: str) -> Task:
    task = new_task_from_user_message(message)
    task.id, task.context_id = task_id, context_id
    return task
