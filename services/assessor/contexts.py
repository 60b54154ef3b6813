"""Keeps one ``GreenAgent`` for each context: made when it is first needed, closed after it was idle for long."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
from pydantic import JsonValue
from typing_extensions import override

from services.assessor.adapters.a2a_participant import A2aParticipant
from services.assessor.adapters.scenario_folder import ScenarioFolder
from services.assessor.adapters.worlds import SharedProcess
from services.assessor.core.assessment import Models
from services.assessor.core.queue import AssessmentQueue
from services.assessor.hosting import GreenAgent, build_models, close_models, make_server
from services.assessor.ports.participants import Agent, Assessments, Emitter
from services.assessor.settings import GreenAgentConfig
from shared.contracts.assessment.results import AssessmentResults
from shared.domain import span_names as names
from shared.infra.tls import load_client_tls_context
from shared.ports.tracing import NO_TRACER, Tracer

_LOOK_SECONDS = 30.0


class TooManyContexts(Exception):
    """Every slot is taken by an assessment that runs."""


@dataclass
class _AgentSlot:
    """A context's agent and how many wait for it or use it."""

    agent: GreenAgent
    users: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    started: bool = False
    idle_since: float = 0.0


class GreenAgents(Assessments):
    """Several contexts side by side; ``close`` leaves no simulator behind."""

    def __init__(self, config: GreenAgentConfig, models: Models | None = None, tracer: Tracer = NO_TRACER) -> None:
        self._config = config
        self._tracer = tracer
        self._models = models or build_models(config)
        self._scenarios = ScenarioFolder(config.scenarios_dir)
        self._http = httpx.AsyncClient(trust_env=False, follow_redirects=False, verify=load_client_tls_context())
        self._slots: OrderedDict[str, _AgentSlot] = OrderedDict()
        self._queue = AssessmentQueue(config.places)
        self._shared_process = _shared_process(config)
        self._made = 0

    @property
    def has_model(self) -> bool:
        return self._models.evaluation is not None

    def scenario_ids(self) -> list[str]:
        return self._scenarios.list_ids()

    @override
    async def run_assessment(
        self,
        context_id: str,
        task_id: str,
        agent: Agent,
        scenario_id: str,
        limits: Mapping[str, JsonValue],
        emitter: Emitter,
    ) -> AssessmentResults:
        """One assessment; the next one of that context waits until it is over, and all wait for their turn."""
        scenario = await asyncio.to_thread(self._scenarios.load, scenario_id)
        participant = A2aParticipant(agent, self._http, tracer=self._tracer)
        slot = await self._get_or_make_slot(context_id)
        slot.users += 1
        try:
            async with slot.lock, self._queue.hold_place(emitter), _started_agent(slot):
                with self._tracer.open_span(names.ASSESSMENT):
                    return await slot.agent.run(
                        task_id, emitter, scenario.config, scenario.evaluators, participant, limits
                    )
        finally:
            slot.users -= 1
            slot.idle_since = self._now()

    async def keep_closing_idle(self) -> None:
        """Puts away what is idle, until it is cancelled."""
        while True:
            await asyncio.sleep(min(self._config.context_idle_seconds, _LOOK_SECONDS))
            await self.close_idle()

    async def close_idle(self) -> None:
        limit = self._now() - self._config.context_idle_seconds
        for key in [key for key, slot in self._slots.items() if not slot.users and slot.idle_since <= limit]:
            await self._close_context(key)

    async def close(self) -> None:
        slots, self._slots = list(self._slots.values()), OrderedDict()
        for slot in slots:
            await slot.agent.shutdown()
        if self._shared_process is not None:
            await self._shared_process.stop()
        await self._http.aclose()
        await close_models(self._models)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _get_or_make_slot(self, context_id: str) -> _AgentSlot:
        if context_id in self._slots:
            self._slots.move_to_end(context_id)
            return self._slots[context_id]
        await self._close_idle_until_slot_free()
        if context_id in self._slots:  # somebody else asked for it meanwhile
            return self._slots[context_id]
        port = self._config.ues_base_port + self._made % 1000 if self._config.ues_base_port else 0
        self._made += 1
        slot = _AgentSlot(GreenAgent(port, self._config, self._models, context_id, self._shared_process))
        self._slots[context_id] = slot
        return slot

    async def _close_idle_until_slot_free(self) -> None:
        """Closes contexts, the one that was idle longest first, until a slot is free; raises ``TooManyContexts``."""
        while len(self._slots) >= self._config.max_contexts:
            idle = next((key for key, slot in self._slots.items() if not slot.users), None)
            if idle is None:
                raise TooManyContexts(f"{len(self._slots)} assessments are running: MAX_CONTEXTS")
            await self._close_context(idle)

    async def _close_context(self, context_id: str) -> None:
        """Closes an idle context. Whoever asks for it meanwhile waits, and then gets a new world of the same name."""
        slot = self._slots.get(context_id)
        if slot is None or slot.users:
            return
        slot.users += 1
        try:
            async with slot.lock:
                slot.started = False
                await slot.agent.shutdown()
        finally:
            slot.users -= 1
            if not slot.users:
                self._slots.pop(context_id, None)


def _shared_process(config: GreenAgentConfig) -> SharedProcess | None:
    """One simulator for all contexts; None if the configuration names one, or each context is to have its own."""
    if config.simulator_url or config.ues_own_process:
        return None
    return SharedProcess(make_server(config, config.ues_base_port))


@asynccontextmanager
async def _started_agent(slot: _AgentSlot) -> AsyncIterator[None]:
    """A context in which the slot's agent has a world that answers; after a failure the next run gets a new one."""
    if not slot.started:
        await slot.agent.startup()
        slot.started = True
    try:
        yield
    except BaseException:
        slot.started = False
        await slot.agent.shutdown()
        raise
