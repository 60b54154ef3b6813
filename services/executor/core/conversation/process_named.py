"""The process that a task is carried out as: the one that the first reply names, as a file or a design describes it."""

from dataclasses import replace
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.budget.budget import BudgetSpent
from services.executor.core.dossier.endings import Failed, RunEnds
from services.executor.core.model.bounded_model import BoundedModel
from services.executor.core.model.model_calls import UnusableAnswer, ask, parse_reply, user
from services.executor.core.prompts import schemas
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.core.states.process_names import process_name
from services.executor.core.states.synthesis import (
    Proposed,
    build_template,
    general_with_a_person,
    may_ask_a_person,
    read_kept,
)
from services.executor.core.states.template import Template
from services.executor.core.states.templates import GENERAL
from services.executor.core.states.validity import BadTemplate
from services.executor.ports.models import ModelRequest, Tier
from shared.contracts.base import Contract
from shared.domain.exact_json import Json
from shared.ports.store import StoreUnavailable

_STEP = "talk:process"
_EXAMPLE_SHOWN = 800  # characters of the task that a process is designed for


class NamedProcess(NamedTuple):
    """``by``: who knew it. ``problem``: why what was named is not what is followed."""

    template: Template
    by: str
    problem: str = ""
    model_calls: int = 0

    def as_note(self) -> dict[str, JsonValue]:
        """As clients and the outcome see it."""
        return {"by": self.by, **({"problem": self.problem} if self.problem else {})}


class _FoundProcess(Contract):
    """The same as the journal keeps it. A built-in template goes by its name: a replay uses today's."""

    process_type: str
    by: str
    problem: str = ""
    model_calls: int = 0
    template: Template | None = None


class _NotDesigned(Exception):
    """The model was asked for a design, and what came of it cannot be used."""


async def settle_process(ctx: TurnContext, named: str, *, acts: bool) -> NamedProcess:
    """The process for the name. A question takes the short way, and nothing is designed for it."""

    async def find() -> str:
        return (await _find(ctx, process_name(named), acts=acts)).model_dump_json()

    found = _FoundProcess.model_validate_json(await ctx.journal.run_step(_STEP, "note", find))
    template = found.template or ctx.processes.get(found.process_type, GENERAL)
    return NamedProcess(template, found.by, found.problem, found.model_calls)


async def _find(ctx: TurnContext, name: str, *, acts: bool) -> _FoundProcess:
    if name in ctx.processes or name in ("", GENERAL.process_type):
        return _FoundProcess(process_type=name or GENERAL.process_type, by="model")
    if not acts:
        return _FoundProcess(process_type=GENERAL.process_type, by="model", problem=f"a question, said to be of {name}")
    return await _of_a_new_kind(ctx, name)


async def _of_a_new_kind(ctx: TurnContext, kind: str) -> _FoundProcess:
    """The design kept for the kind, or one made now; without either, ``general``, and it is said why.

    Where the kept one may ask for a person and cannot be followed, ``general`` asks one.
    """
    tenant, calls, by = ctx.record.tenant, 0, "synthesized before"
    try:
        text = await ctx.ports.learned.process(tenant, kind)
        if text is None:
            calls, by = 1, "synthesizer"
            fresh = await _design(ctx, kind)
            text = await ctx.ports.learned.keep_process(tenant, kind, fresh.model_dump_json())
    except StoreUnavailable as error:
        return _as_general(kind, error, calls, asks=True)
    except (BadTemplate, _NotDesigned) as error:
        return _as_general(kind, error, calls)
    try:
        return _FoundProcess(process_type=kind, by=by, model_calls=calls, template=read_kept(kind, text))
    except BadTemplate as error:
        return _as_general(kind, error, calls, asks=may_ask_a_person(text))


def _as_general(kind: str, error: Exception, calls: int, *, asks: bool = False) -> _FoundProcess:
    return _FoundProcess(
        process_type=GENERAL.process_type,
        by="model",
        problem=f"there is no process for {kind}: {error}" + ("; a person is asked before anything is written" * asks),
        model_calls=calls,
        template=general_with_a_person(kind) if asks else None,
    )


async def _design(ctx: TurnContext, kind: str) -> Template:
    """One call, with a time of its own; raises ``_NotDesigned`` or ``BadTemplate``, and then nothing is kept."""
    shown: dict[str, Json] = {"task": ctx.task[:_EXAMPLE_SHOWN], "process_type": kind}
    request = ModelRequest(
        tier=Tier.HAIKU,
        system=(ctx.prompts.role, ctx.prompts.new_process),
        messages=(user(render(shown)),),
        schema=schemas.PROCESS,
        max_tokens=1_500,
    )
    model = BoundedModel(ctx.ports.model, ctx.limits.synthesize_seconds)
    patient = replace(ctx, ports=ctx.ports._replace(model=model))
    try:
        reply = await ask(patient, f"{_STEP}:new", request)
        return build_template(kind, parse_reply(reply, Proposed), ctx.task)
    except UnusableAnswer as error:
        raise _NotDesigned(str(error)) from error
    except (Failed, BudgetSpent) as error:
        if not _can_go_on(error):
            raise
        ctx.journal.goes_on()
        raise _NotDesigned(error.reason) from error


def _can_go_on(error: RunEnds) -> bool:
    return isinstance(error, BudgetSpent) or error.part == "model"
