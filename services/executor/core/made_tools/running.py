"""Having made tools run: each result is a step of the journal, so that a resumed turn and a replay have the same."""

from collections.abc import Callable
from typing import TypeVar

from services.executor.core.figures.made_formulas import Call, Made, NotRun, Outcome, readable
from services.executor.core.made_tools.code import program
from services.executor.core.session.context import TurnContext
from services.executor.ports.sandbox import CodeFailed, Sandbox, SandboxUnavailable
from shared.domain.exact_json import Json, digest, dumps, loads_object

T = TypeVar("T")


async def compute_with_tools(ctx: TurnContext, key: str, made: Made, act: Callable[[], T]) -> T:
    """What ``act`` gives once everything is run that it needs of made tools. ``key`` names the steps in the journal."""
    while True:
        try:
            return act()
        except NotRun as missing:
            made.learn(missing.call, await _run_journaled(ctx, key, missing.call))


async def run(sandbox: Sandbox, call: Call) -> Outcome:
    """Its outcome in a fresh sandbox; raises ``SandboxUnavailable``."""
    text = program(call.tool.code, call.tool.name, call.tool.arguments)
    try:
        return readable(await sandbox.run(text, call.figures))
    except CodeFailed as error:
        return Outcome(error=str(error))


async def _run_journaled(ctx: TurnContext, key: str, call: Call) -> Outcome:
    figures: list[Json] = list(call.figures)
    asked = digest([call.tool.name, call.tool.code_sha256, figures])[:32]

    async def step() -> str:
        try:
            outcome = await run(ctx.ports.sandbox, call)
        except SandboxUnavailable as error:
            outcome = Outcome(error=f"the sandbox cannot be had: {error}")
        return dumps(
            {"tool": call.tool.by.model_dump(mode="json", exclude={"v"}), "figures": figures, **outcome._asdict()}
        )

    known = loads_object(await ctx.journal.run_step(f"{key}:made:{asked}", "note", step, asked))
    return Outcome(str(known["value"]), str(known["error"]))
