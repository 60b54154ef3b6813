"""The extended card: what this worker can do for the tenant of whoever asks, beside what everybody may know."""

from collections.abc import Iterator

from a2a.types.a2a_pb2 import AgentCard, AgentExtension, AgentSkill

from services.gateway.core.operating.tenant_facts import TenantBook, TenantFacts
from services.gateway.ports.identity import Caller
from shared.contracts.made_tool import MadeTool
from shared.contracts.tenant import Connection
from shared.domain.words import Role

LIMITS = "urn:purple-agent:tenant-limits:1"


class ExtendedCard:
    def __init__(self, card: AgentCard, book: TenantBook) -> None:
        self._card, self._book = card, book

    async def card_for(self, caller: Caller) -> AgentCard:
        """The card for the caller's own tenant; may raise ``StoreUnavailable``."""
        facts = await self._book.facts(caller.tenant)
        card = AgentCard()
        card.CopyFrom(self._card)
        card.description = f"{card.description} For tenant {caller.tenant}."
        card.skills.extend(_skills(facts, caller))
        if facts.limits:
            limits = AgentExtension(uri=LIMITS, description="What holds for this tenant, of each task and each day.")
            limits.params.update(facts.limits)
            card.capabilities.extensions.append(limits)
        return card


def _skills(facts: TenantFacts, caller: Caller) -> Iterator[AgentSkill]:
    """What the tenant has beside the processes that come with the worker, and what the caller may do itself."""
    yield from map(_connected, facts.connections)
    yield from map(_calculator, facts.calculators)
    if facts.processes:
        yield _learned(facts.processes)
    if Role.APPROVER in caller.principal.roles:
        yield _deciding(caller)


def _connected(connection: Connection) -> AgentSkill:
    tools = ", ".join(sorted(connection.catalogue)) or "what it offers is asked of it when a task begins"
    return AgentSkill(
        id=f"connection.{connection.id}",
        name=connection.id,
        description=f"Works with this tenant's own tools at {connection.id}: {tools}.",
        tags=["tools"],
    )


def _calculator(tool: MadeTool) -> AgentSkill:
    return AgentSkill(
        id=f"calculator.{tool.name}",
        name=tool.name,
        description=f"A calculator made for this tenant: {tool.purpose}",
        tags=["calculator"],
    )


def _learned(count: int) -> AgentSkill:
    return AgentSkill(
        id="own-processes",
        name="Processes of this tenant",
        description=f"{count} kinds of process that the worker has worked out for this tenant.",
        tags=["processes"],
    )


def _deciding(caller: Caller) -> AgentSkill:
    levels = ", ".join(caller.principal.levels) or "no level"
    return AgentSkill(
        id="approvals",
        name="Approvals",
        description=f"Decides approvals that wait ({levels}), by message to their task or at /approvals.",
        tags=["approvals"],
        examples=["approve", "reject: over budget"],
    )
