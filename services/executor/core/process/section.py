"""What a model is told in a state about the kind of process that it works in: the section ``process`` of its prompt."""

from collections.abc import Sequence

from services.executor.core.dossier.dossier import Progress
from services.executor.core.dossier.values import Figured, with_figures
from services.executor.core.process.figures import compute_figures
from services.executor.core.prompts.sections import render
from services.executor.core.session.context import TurnContext
from services.executor.core.states.template import Route, Template
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState


def with_process_figures(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with the process's figures as the facts are now, before the values of the model's own."""
    own = compute_figures(progress.template, progress.dossier.facts, ctx.task)
    return progress.update_dossier(values=with_figures(progress.dossier.values, own))


def figures_told(ctx: TurnContext, progress: Progress) -> str:
    """The process's figures for the model, and which of them could not be computed; empty where it has none."""
    own = compute_figures(progress.template, progress.dossier.facts, ctx.task)
    values: list[Json] = [{"name": value.name, "value": value.value} for value in own.values]
    missing: list[Json] = [{"missing": one.text} for one in own.missing] if progress.dossier.facts else []
    told = [*values, *missing]
    return render({"values": told}) if told else ""


def section(template: Template, states: Sequence[FsmState], found: Figured = Figured()) -> Json:  # noqa: B008  # a frozen value
    """Only what there is to say."""
    figures: JsonObject = {value.name: value.value for value in found.values}
    said: dict[str, Json] = {
        "suggested" if template.synthesized else "instruction": _instruction(template, states),
        "figures": figures,
        "missing": [one.text for one in found.missing],
        "outputs": list(template.outputs),
        "notice_to": template.notice_to,
        "routes": [_route(route) for route in template.routes],
    }
    return {"type": template.process_type, **{name: value for name, value in said.items() if value}}


def _instruction(template: Template, states: Sequence[FsmState]) -> str:
    return " ".join(filter(None, (_one_line(template.instructions.get(state, "")) for state in states)))


def _route(route: Route) -> Json:
    most: JsonObject = {} if route.up_to is None else {"up_to": route.up_to}
    return {"name": route.name, "over": route.over, **most, "way": route.way}


def _one_line(text: str) -> str:
    return " ".join(text.split())
