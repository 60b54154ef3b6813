"""What a calculation of this task may draw on."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from services.executor.core.dossier.values import Fact, NamedValue
from services.executor.core.figures.calculate.operands import KnownFigures
from services.executor.core.model.opening import local_now
from services.executor.core.session.context import TurnContext
from services.executor.core.session.files import files_as_facts


class KnownSources(NamedTuple):
    """``texts``: the task first, then what was said in earlier turns. ``now``: where the user is.

    ``told``: what the user said of these; only that sends a reader to a text that somebody wrote. ``trusted``: patterns
    of such fields that the tenant trusts.
    """

    texts: Sequence[str]
    facts: Sequence[Fact]
    values: Sequence[NamedValue]
    now: datetime
    told: Sequence[str] = ()
    trusted: Sequence[str] = ()


def known_figures(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue] = ()) -> KnownFigures:
    return KnownFigures(facts, values, said_texts(ctx), local_now(ctx).date())


def said_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The task, and everything that was said in the session before it: what a value may be taken from."""
    return (ctx.task, *(text for _, text in ctx.session.turns))


def user_texts(ctx: TurnContext) -> tuple[str, ...]:
    """The user's own words: the task, and those of earlier turns; only these say what is to be done."""
    return (ctx.task, *(text for role, text in ctx.session.turns if role == "user"))


def known_sources(ctx: TurnContext, facts: Sequence[Fact], values: Sequence[NamedValue]) -> KnownSources:
    """What an argument or a figure of an answer may come from; the task's files are texts that somebody wrote."""
    now, trusted = local_now(ctx), ctx.tenant.trusted_texts
    facts = (*facts, *files_as_facts(ctx.files))
    return KnownSources(said_texts(ctx), facts, values, now, user_texts(ctx), trusted)
