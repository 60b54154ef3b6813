"""One assessment from beginning to end, in six phases."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from services.assessor.core.action_log import ActionLogBuilder
from services.assessor.core.asking import CostAccount, CostCountingModel
from services.assessor.core.characters import ResponseGenerator
from services.assessor.core.evaluation import EvalContext, Evaluators
from services.assessor.core.inbox import NewMessageCollector
from services.assessor.core.judge import CriteriaJudge, JudgingLimits, compute_scores, earns_full_marks, sum_judged
from services.assessor.core.permissions import USER_PERMISSIONS
from services.assessor.core.scenario import ScenarioConfig, unwrap
from services.assessor.core.summary import read_all_states, summarize_world
from services.assessor.core.turns import TurnPlayer, TurnResult
from services.assessor.core.world_watch import WorldWatch
from services.assessor.ports.participants import Clock, Emitter, Participant, ParticipantFailed
from services.assessor.ports.simulated_world import SimulatedWorld
from services.assessor.ports.simulation import WorldKey
from shared.contracts.assessment.messages import (
    MOST_TURNS,
    TASK_CONVERSATION,
    AssessmentComplete,
    AssessmentCompleted,
    AssessmentStart,
    AssessmentStarted,
    CompletionReason,
    ErrorOccurred,
    EvaluationStarted,
    ScenarioLoaded,
)
from shared.contracts.assessment.results import AssessmentResults, CriterionResult, ModelCosts
from shared.domain.model_price import Price
from shared.ports.models import Model

_STATUS = {"timeout": "timeout", "error": "failed"}


class AssessmentConfig(BaseModel):
    """The limits of one assessment, and the seed that makes it repeatable. ``turn_timeout`` in seconds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    max_turns: int = Field(default=100, ge=1, le=MOST_TURNS)
    turn_timeout: float = Field(default=300.0, gt=0, le=86_400)
    max_failed_turns: int = Field(default=3, ge=1)
    seed: int = 0
    judge_votes: int = Field(default=1, ge=1, le=9)
    criterion_timeout: float = Field(default=JudgingLimits().criterion, gt=0, le=86_400)
    judging_timeout: float = Field(default=JudgingLimits().whole, gt=0, le=86_400)


@dataclass(frozen=True)
class Models:
    """The models that play the characters, summarise threads and judge; None where there is none for the role."""

    response: Model | None = None
    summarization: Model | None = None
    evaluation: Model | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)

    def with_accounts(self, accounts: CostAccount) -> "Models":
        """The same models, which enter their calls into the accounts."""
        response, summarization, evaluation = (
            CostCountingModel(model, accounts) if model else None
            for model in (self.response, self.summarization, self.evaluation)
        )
        return Models(response, summarization, evaluation, self.prices)


@dataclass(frozen=True)
class AssessmentTask:
    """What is to be assessed. ``ues_url``: where the participant finds the world."""

    assessment_id: str
    scenario: ScenarioConfig
    evaluators: Evaluators
    config: AssessmentConfig
    ues_url: str


@dataclass(frozen=True)
class _TurnLog:
    """The turns that were played, and why there was no further one."""

    reason: CompletionReason
    turns: tuple[TurnResult, ...]


class RunningAssessment:
    """One assessment; call ``run`` once. ``cancel`` ends it after the present turn, and judges the turns played so
    far.
    """

    def __init__(
        self,
        world: SimulatedWorld,
        participant: Participant,
        emitter: Emitter,
        models: Models,
        clock: Clock,
        task: AssessmentTask,
    ) -> None:
        self._world = world
        self._participant = participant
        self._emitter = emitter
        self._accounts = CostAccount(models.prices)
        self._models = models.with_accounts(self._accounts)
        self._clock = clock
        self._task = task
        self._watch = WorldWatch(world)
        self._began = clock.monotonic()
        self._cancelled = False
        self._conditions_hang = False

    @property
    def costs(self) -> ModelCosts:
        return self._accounts.costs

    def cancel(self) -> None:
        self._cancelled = True

    async def run(self) -> AssessmentResults:
        """Plays all turns, and judges them.

        Raises ``SimulatorFailed``, and ``ParticipantFailed`` if the participant could not be reached at the start.
        """
        task = self._task
        await self._emitter.emit(
            AssessmentStarted(
                assessment_id=task.assessment_id,
                scenario_id=task.scenario.scenario_id,
                participant_url=self._participant.url,
                start_time=self._clock.now(),
            )
        )
        key = await self._set_up()
        try:
            return await self._assess_with_key(key)
        finally:
            await self._world.keys.revoke(key.key_id)

    async def _assess_with_key(self, key: WorldKey) -> AssessmentResults:
        turns = await self._build_turn_player(key)
        before = await self._watch.begin()
        await self._emit_loaded()
        await self._send_start(key)
        turn_log = await self._play_turns(turns, before)
        await turns.look_again(max(1, len(turn_log.turns)))
        context = await self._build_eval_context(turns, before)
        results = await self._judge_criteria(context)
        await self._tell_complete(turn_log.reason)
        return await self._emit_results(turn_log, context, results)

    async def _set_up(self) -> WorldKey:
        """Makes the world what the scenario says, with the user's wish in its chat; returns the participant's key."""
        scenario, world = self._task.scenario, self._world
        await world.simulation.clear()
        await world.scenario.import_full(scenario=unwrap(scenario.initial_state), strict_modalities=False)
        await world.simulation.start(auto_advance=False)
        await self._inject_user_prompt_chat()
        return await world.keys.create(f"Purple Agent ({self._task.assessment_id})", USER_PERMISSIONS)

    async def _inject_user_prompt_chat(self) -> None:
        await self._world.chat.send("user", self._task.scenario.user_prompt, TASK_CONVERSATION)

    async def _build_turn_player(self, key: WorldKey) -> TurnPlayer:
        inbox = NewMessageCollector(client=self._world)
        await inbox.initialize((await self._world.time.get_state()).current_time)
        config, scenario = self._task.config, self._task.scenario
        characters = ResponseGenerator(
            client=self._world,
            scenario_config=scenario,
            response_llm=self._models.response,
            summarization_llm=self._models.summarization,
            seed=config.seed,
        )
        return TurnPlayer(
            self._world,
            self._participant,
            self._emitter,
            scenario,
            key.key_id,
            ActionLogBuilder(purple_agent_id=key.key_id),
            inbox,
            characters,
            config.turn_timeout,
            self._watch,
        )

    async def _emit_loaded(self) -> None:
        scenario = self._task.scenario
        await self._emitter.emit(
            ScenarioLoaded(
                scenario_id=scenario.scenario_id,
                scenario_name=scenario.name,
                criteria_count=len(scenario.criteria),
                character_count=len(scenario.characters),
                user_prompt=scenario.user_prompt,
            )
        )

    async def _send_start(self, key: WorldKey) -> None:
        now = (await self._world.time.get_state()).current_time
        summary = await summarize_world(self._world)
        start = AssessmentStart(
            ues_url=self._task.ues_url, api_key=key.secret, current_time=now, initial_state_summary=summary
        )
        await self._participant.tell(start)

    async def _play_turns(self, turns: TurnPlayer, before: Mapping[str, JsonValue]) -> _TurnLog:
        results: list[TurnResult] = []
        failed = 0
        for number in range(1, self._task.config.max_turns + 1):
            if self._cancelled:
                return _TurnLog("error", tuple(results))
            result = await turns.run(number)
            results.append(result)
            failed = failed + 1 if result.error else 0
            reason = await self._reason_to_end(result, failed, turns, before)
            if reason is not None:
                return _TurnLog(reason, tuple(results))
        return _TurnLog("scenario_complete", tuple(results))

    async def _reason_to_end(
        self, last: TurnResult, failed: int, turns: TurnPlayer, before: Mapping[str, JsonValue]
    ) -> CompletionReason | None:
        """Why no turn follows; ``None`` if one does."""
        if last.early_completion:
            return "early_completion"
        if failed >= self._task.config.max_failed_turns:
            return "timeout" if last.error_type == "timeout" else "error"
        now = (await self._world.time.get_state()).current_time
        if now >= self._task.scenario.end_time or await self._is_completed_early(turns, before):
            return "scenario_complete"
        return None

    async def _is_completed_early(self, turns: TurnPlayer, before: Mapping[str, JsonValue]) -> bool:
        """Whether the scenario's own conditions for an early end hold. One that did not end is asked only once."""
        if self._conditions_hang:
            return False
        names = self._task.scenario.early_completion_conditions
        evaluators = [self._task.evaluators[name] for name in names if name in self._task.evaluators]
        if not evaluators or len(evaluators) < len(names):
            return False
        context = await self._build_eval_context(turns, before)
        try:
            async with asyncio.timeout(self._task.config.judging_timeout):
                return all(
                    [
                        await earns_full_marks(evaluator, context, self._task.config.criterion_timeout)
                        for evaluator in evaluators
                    ]
                )
        except TimeoutError:
            self._conditions_hang = True
            return False

    async def _build_eval_context(self, turns: TurnPlayer, before: Mapping[str, JsonValue]) -> EvalContext:
        return EvalContext(
            client=self._world,
            scenario_config=self._task.scenario.model_dump(mode="json"),
            action_log=tuple(turns.log.get_log()),
            initial_state=before,
            final_state=await read_all_states(self._world),
            user_prompt=self._task.scenario.user_prompt,
            llm=self._models.evaluation,
        )

    async def _judge_criteria(self, context: EvalContext) -> list[CriterionResult]:
        scenario = self._task.scenario
        started = EvaluationStarted(criteria_count=len(scenario.criteria), dimensions=scenario.dimensions)
        await self._emitter.emit(started)
        judge = CriteriaJudge(
            llm=self._models.evaluation,
            criteria=scenario.criteria,
            evaluators=self._task.evaluators,
            emitter=self._emitter,
            votes=self._task.config.judge_votes,
            patience=JudgingLimits(self._task.config.criterion_timeout, self._task.config.judging_timeout),
        )
        return await judge.evaluate_all(context)

    async def _tell_complete(self, reason: CompletionReason) -> None:
        """Tells the participant that the assessment is over; emits an error if it cannot be reached."""
        try:
            await self._participant.tell(AssessmentComplete(reason=reason))
        except ParticipantFailed as problem:
            await self._emitter.emit(
                ErrorOccurred(error_type=problem.kind, error_message=str(problem), recoverable=True)
            )

    async def _emit_results(
        self, turn_log: _TurnLog, context: EvalContext, results: Sequence[CriterionResult]
    ) -> AssessmentResults:
        run_results = self._build_results(turn_log, context, results)
        await self._emitter.emit(
            AssessmentCompleted(
                reason=turn_log.reason,
                total_turns=run_results.turns_taken,
                total_actions=run_results.actions_taken,
                duration_seconds=run_results.duration_seconds,
                overall_score=run_results.scores.overall.score,
                max_score=run_results.scores.overall.max_score,
            )
        )
        return run_results

    def _build_results(
        self, turn_log: _TurnLog, context: EvalContext, results: Sequence[CriterionResult]
    ) -> AssessmentResults:
        task, counted = self._task, sum_judged(results)
        return AssessmentResults.model_validate(
            {
                "assessment_id": task.assessment_id,
                "scenario_id": task.scenario.scenario_id,
                "participant": self._participant.url,
                "status": _STATUS.get(turn_log.reason, "completed"),
                "duration_seconds": round(self._clock.monotonic() - self._began, 3),
                "turns_taken": len(turn_log.turns),
                "actions_taken": len(context.action_log),
                "scores": compute_scores(results),
                "criteria_results": tuple(results),
                "action_log": context.action_log,
                "judged": counted.judged,
                "unjudged": counted.unjudged,
                "seed": task.config.seed,
                "failed_turns": [turn.as_json() for turn in turn_log.turns if turn.error],
                "costs": self.costs,
                "world": self._watch.looks,
            }
        )
