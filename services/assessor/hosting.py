"""A ``GreenAgent``: one context's world, its models and its assessments, one after another."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Self
from uuid import uuid4

from pydantic import JsonValue, ValidationError

from services.assessor.adapters.proctor_client import ProctorClient
from services.assessor.adapters.provider_models import ProviderModel, provider_name
from services.assessor.adapters.rehearsal import RehearsalFindings, rehearse_world
from services.assessor.adapters.ues_server import UESServerManager
from services.assessor.adapters.wall_clock import WallClock
from services.assessor.adapters.worlds import AssessmentWorld, OwnProcess, RunningSimulator, SharedWorld, WorldHost
from services.assessor.core.assessment import AssessmentConfig, AssessmentTask, Models, RunningAssessment
from services.assessor.core.evaluation import Evaluators
from services.assessor.core.scenario import ScenarioConfig
from services.assessor.ports.participants import Emitter, Participant, ParticipantFailed
from services.assessor.settings import GreenAgentConfig
from shared.contracts.assessment.messages import ErrorOccurred, ErrorType
from shared.contracts.assessment.results import AssessmentResults
from shared.contracts.base import describe_first_error
from shared.infra.model_prices import load_prices
from shared.ports.models import Model, Tier
from shared.ports.simulator import SimulatorFailed

_CHARACTER_TEMPERATURE, _JUDGE_TEMPERATURE = 0.7, 0.0  # for models that take one


class BadRequest(Exception):
    """The request for an assessment cannot be used; the message says why."""


class GreenAgent:
    """Runs assessments one at a time. Call ``startup`` before the first ``run`` and ``shutdown`` after the last.

    ``ues_port``: where its simulator listens, 0 for any free port. ``models``: by default what ``config`` names.
    ``simulator``: one that holds its world among others, in place of a process of its own.
    """

    def __init__(
        self,
        ues_port: int = 0,
        config: GreenAgentConfig | None = None,
        models: Models | None = None,
        context_id: str | None = None,
        simulator: WorldHost | None = None,
    ) -> None:
        self._config = config or GreenAgentConfig()
        self._own_models = models is None
        self._models = models or build_models(self._config)
        simulator = simulator or running_simulator(self._config)
        self._world: AssessmentWorld = OwnProcess(make_server(self._config, ues_port))
        if simulator:
            self._world = SharedWorld(simulator, context_id or str(uuid4()))
        self._client: ProctorClient | None = None
        self._running: RunningAssessment | None = None
        self._turn = asyncio.Lock()

    @property
    def ues_url(self) -> str:
        return self._world.public_url

    async def startup(self) -> None:
        """Starts the agent's world; raises ``SimulatorFailed``."""
        await self._world.start()
        self._client = ProctorClient(
            self._world.base_url, timeout=self._config.ues_timeout, api_key=self._world.admin_key, retry_enabled=True
        )

    async def shutdown(self) -> None:
        """Ends the agent's world, and the models if they are its own; harmless if it never started."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        await self._world.stop()
        if self._own_models:
            await close_models(self._models)

    async def run(
        self,
        task_id: str,
        emitter: Emitter,
        scenario: ScenarioConfig,
        evaluators: Evaluators,
        purple_client: Participant,
        assessment_config: Mapping[str, JsonValue] | None = None,
    ) -> AssessmentResults:
        """Runs one assessment, and returns its results whatever the participant did.

        Raises ``SimulatorFailed``, ``ParticipantFailed`` if the participant could not even be told to begin, and
        ``BadRequest`` for a configuration that cannot be used; the client was told by then.
        """
        if self._client is None:
            raise SimulatorFailed("the agent was not started: startup() comes before run()")
        async with self._turn:
            config = _build_config(self._config, assessment_config or {})
            task = AssessmentTask(task_id, scenario, evaluators, config, self._world.public_url)
            self._running = RunningAssessment(self._client, purple_client, emitter, self._models, WallClock(), task)
            try:
                return await self._run_unless_world_lost(self._running.run())
            except Exception as error:
                await emitter.emit(_as_error_update(error))
                raise
            finally:
                self._running = None

    async def rehearse(self, scenario: ScenarioConfig) -> RehearsalFindings:
        """Tries a scenario's world without an agent, from its import to the end of its day; returns what was found.

        Raises ``SimulatorFailed`` before ``startup()``.
        """
        if self._client is None:
            raise SimulatorFailed("the agent was not started: startup() comes before rehearse()")
        async with self._turn:
            return await rehearse_world(self._client, scenario)

    def cancel(self) -> None:
        """End the assessment that runs after its turn; what was done till then is judged."""
        if self._running is not None:
            self._running.cancel()

    async def __aenter__(self) -> Self:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    async def _run_unless_world_lost(self, work: Awaitable[AssessmentResults]) -> AssessmentResults:
        """The result of the work; raises ``SimulatorFailed`` if its world is lost before the end."""
        run, watch = asyncio.ensure_future(work), asyncio.ensure_future(self._world.wait_for_loss())
        try:
            await asyncio.wait({run, watch}, return_when=asyncio.FIRST_COMPLETED)
            if run.done():
                return run.result()
            raise SimulatorFailed(watch.result())
        finally:
            for future in (run, watch):
                future.cancel()
            await asyncio.gather(run, watch, return_exceptions=True)


def build_models(config: GreenAgentConfig) -> Models:
    """Models as the configuration names them; ours are none without a key and an endpoint. Raises ``CannotStart``."""
    response = _build_model(config, config.response_generator_model, _CHARACTER_TEMPERATURE)
    summarization = _build_model(config, config.summarization_model, _JUDGE_TEMPERATURE)
    evaluation = _build_model(config, config.evaluation_model, _JUDGE_TEMPERATURE)
    return Models(response, summarization, evaluation, load_prices(config.model_prices))


async def close_models(models: Models) -> None:
    own = [
        chat_model
        for chat_model in (models.response, models.summarization, models.evaluation)
        if chat_model is not None
    ]
    if not own:
        return
    from shared.infra.anthropic_model import AnthropicModel  # the SDK takes long to load

    for model in own:
        if isinstance(model, AnthropicModel):
            await model.close()


def _build_model(config: GreenAgentConfig, name: str, temperature: float) -> Model | None:
    if provider_name(name) is not None:
        return ProviderModel(name, config.assessment_seed, temperature)
    if not config.has_model:
        return None
    from shared.infra.anthropic_model import AnthropicModel

    return AnthropicModel(dict.fromkeys(Tier, name), config.anthropic_api_key, config.anthropic_base_url or None)


def running_simulator(config: GreenAgentConfig) -> WorldHost | None:
    """The simulator that the configuration names, which runs already; None if it names none."""
    if not config.simulator_url:
        return None
    key = config.simulator_admin_key.get_secret_value()
    return RunningSimulator(config.simulator_url, config.simulator_public_url, key)


def make_server(config: GreenAgentConfig, port: int) -> UESServerManager:
    """A simulator process that is not started yet."""
    return UESServerManager(port, config.ues_host, config.ues_health_timeout, config.ues_public_host)


def _build_config(config: GreenAgentConfig, overrides: Mapping[str, JsonValue]) -> AssessmentConfig:
    default = {
        "max_turns": config.default_max_turns,
        "turn_timeout": config.default_turn_timeout,
        "max_failed_turns": config.max_failed_turns,
        "judge_votes": config.judge_votes,
        "criterion_timeout": config.criterion_timeout,
        "judging_timeout": config.judging_timeout,
        "seed": config.assessment_seed,
    }
    options = {name: value for name, value in overrides.items() if value is not None}
    try:
        return AssessmentConfig.model_validate({**default, **options})
    except ValidationError as error:
        raise BadRequest(f"config.{describe_first_error(error)}") from error


def _as_error_update(error: Exception) -> ErrorOccurred:
    kind: ErrorType = "internal_error"
    if isinstance(error, SimulatorFailed):
        kind = "ues_error"
    elif isinstance(error, ParticipantFailed):
        kind = error.kind
    return ErrorOccurred(error_type=kind, error_message=str(error) or type(error).__name__, recoverable=False)
