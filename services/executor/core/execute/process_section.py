"""What a model is told in a state about the kind of process that it works in: the section ``process`` of its prompt."""

from collections.abc import Sequence

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Progress
from services.executor.core.execute.process_figures import Figured, figured, with_figures
from services.executor.core.fsm.figures import Route
from services.executor.core.fsm.template import Template
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState

_PLANNED = (FsmState.POLICY_CHECK, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)  # what a plan is made for


def process_section(ctx: TurnContext, progress: Progress, *states: FsmState) -> Json:
    """The kind of process, what it demands in these states, and its figures as far as the facts go."""
    found = figured(progress.template, progress.dossier.facts, ctx.task) if progress.dossier.facts else Figured()
    template = progress.template
    if progress.read_only:  # a question is answered as it is put
        template = template.model_copy(update={"outputs": ()})
    return section(template, states, found)


def plan_section(ctx: TurnContext, progress: Progress) -> Json:
    """The same for the plan of writes, which the later states carry out."""
    return process_section(ctx, progress, *_PLANNED)


def knowing_figures(ctx: TurnContext, progress: Progress) -> Progress:
    """The process's figures as the facts are now, whatever state or strategy gathered them."""
    own = figured(progress.template, progress.dossier.facts, ctx.task)
    if progress.template.figures:
        ctx.journal.tell(
            "note", figures=[value.name for value in own.values], missing=[one.text for one in own.missing]
        )
    return progress.learned(values=with_figures(progress.dossier.values, own))


def section(template: Template, states: Sequence[FsmState], found: Figured) -> Json:
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
    return " ".join(_one_line(template.instructions.get(state, "")) for state in states).strip()


def _route(route: Route) -> Json:
    most: JsonObject = {} if route.up_to is None else {"up_to": route.up_to}
    return {"name": route.name, "over": route.over, **most, "way": route.way}


def _one_line(text: str) -> str:
    return " ".join(text.split())
