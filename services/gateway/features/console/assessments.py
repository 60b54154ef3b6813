"""``/console/learning/assessments``: how agents did in simulated worlds, and each run turn by turn."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.edge.errors import UnknownAssessment
from services.gateway.features.assessments.model import KeptAssessment
from services.gateway.features.console.context import ConsoleContext
from services.gateway.features.console.pages import LEARNING, go_to, tabs_of
from services.gateway.features.console.sessions import Visitor
from services.gateway.features.console.views.assessments import (
    by_dimension,
    card_row,
    comparison_rows,
    of_run,
    run_rows,
)
from services.gateway.features.console.views.replay import criteria_of, stops_near, stops_of, turn_of

_PLACE = "/console/learning/assessments"


class AssessmentPages:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    async def list_page(self, request: Request, visitor: Visitor) -> Response:
        cards = await self._context.services.assessments.cards(visitor.caller)
        rows, tabs = [card_row(card) for card in cards], tabs_of(LEARNING, visitor)
        return await self._context.page(request, "assessments.html", visitor, tabs=tabs, rows=rows)

    async def show_page(self, request: Request, visitor: Visitor) -> Response:
        kept = await self._one(request.path_params["assessment_id"], visitor)
        cards = await self._context.services.assessments.cards(visitor.caller)
        alike = [card_row(card) for card in cards if card.scenario == kept.card.scenario]
        return await self._context.page(
            request,
            "assessment.html",
            visitor,
            one=card_row(kept.card),
            groups=by_dimension(kept.assessment),
            runs=run_rows(kept.assessment),
            others=[row for row in alike if row.assessment_id != kept.card.assessment_id],
        )

    async def replay_page(self, request: Request, visitor: Visitor) -> Response:
        """One run at one of its turns (``?turn=``)."""
        kept = await self._one(request.path_params["assessment_id"], visitor)
        which = _number(request.path_params["number"])
        if not 1 <= which <= len(kept.assessment.runs):
            raise UnknownAssessment(request.path_params["assessment_id"])
        run = kept.assessment.runs[which - 1]
        stops = stops_of(run)
        turn = turn_of(run, stops, _number(request.query_params.get("turn", "")))
        return await self._context.page(
            request,
            "replay.html",
            visitor,
            one=card_row(kept.card),
            place=f"{_PLACE}/{kept.card.assessment_id}",
            run=run_rows(kept.assessment)[which - 1],
            stops=stops_near(stops, turn.stop.turn),
            last=stops[-1].turn,
            turn=turn,
            criteria=criteria_of(run),
        )

    async def compare_page(self, request: Request, visitor: Visitor) -> Response:
        """``?a=`` and ``?b=``: two of the same scenario, or of each the one run that ``run_a`` and ``run_b`` name."""
        query = request.query_params
        kept = [await self._one(query.get(name, ""), visitor) for name in ("a", "b")]
        runs = [_number(query.get(name, "")) for name in ("run_a", "run_b")]
        before, after = [of_run(one, run) for one, run in zip(kept, runs, strict=True)]
        same = before.card.scenario == after.card.scenario
        rows = comparison_rows(before.assessment, after.assessment) if same else ()
        both = tuple((card_row(one.card), run) for one, run in zip((before, after), runs, strict=True))
        return await self._context.page(request, "assessments_compared.html", visitor, both=both, rows=rows)

    async def drop(self, request: Request, visitor: Visitor, _: dict[str, str]) -> Response:
        await self._context.services.assessments.drop(request.path_params["assessment_id"], visitor.caller)
        return go_to(_PLACE)

    async def _one(self, assessment_id: str, visitor: Visitor) -> KeptAssessment:
        return await self._context.services.assessments.show(assessment_id, visitor.caller)


def _number(text: str) -> int:
    """0 for what is no number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
