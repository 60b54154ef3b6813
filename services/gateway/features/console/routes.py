"""The console: a web application of its own, under ``/console`` of every gateway."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ExceptionHandler

from services.gateway.edge.errors import (
    DecisionNotCounted,
    InvalidField,
    IssuerUnavailable,
    NotAnApprover,
    NotAnOperator,
    NoVisibleTask,
    PushUnsupported,
    TooManyRequests,
    UnknownApproval,
    UnknownAssessment,
)
from services.gateway.features.approvals.service import read_answer
from services.gateway.features.assessments.service import KeptAssessment
from services.gateway.features.console.context import ConsoleContext
from services.gateway.features.console.operations import LearningPages, OperationsPages, OverviewPage, WebhookPage
from services.gateway.features.console.pages import LEARNING, Pages, console_assets, go_to, tabs_of
from services.gateway.features.console.sessions import BadForm, Visitor
from services.gateway.features.console.sign_in import SignInPages
from services.gateway.features.console.tasks import LiveStreams, TaskPages
from services.gateway.features.console.views.approvals import approval_page, summary_of
from services.gateway.features.console.views.assessments import (
    by_dimension,
    card_row,
    comparison_rows,
    of_run,
    run_rows,
)
from services.gateway.features.console.views.replay import criteria_of, stops_near, stops_of, turn_of
from shared.domain.words import Role
from shared.ports.store import StoreUnavailable


class InboxPages:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    async def list_page(self, request: Request, visitor: Visitor) -> Response:
        """What the reader can answer first, then what waits for others."""
        now, reader = self._context.glance.clock(), visitor.caller.principal
        questions = await self._context.glance.waiting(visitor.caller)
        pages = [approval_page(one, reader, now) for one in questions]
        cards = [(page, summary_of(page.calls)) for page in pages]
        mine = [card for card in cards if not card[0].barred]
        others = [card for card in cards if card[0].barred]
        decides = visitor.has(Role.APPROVER)
        return await self._context.page(request, "inbox.html", visitor, mine=mine, others=others, decides=decides)

    async def show_page(self, request: Request, visitor: Visitor) -> Response:
        return await self._one(request, visitor)

    async def answer(self, request: Request, visitor: Visitor, fields: dict[str, str]) -> Response:
        """The answer is handed on; one that does not count is refused with its reason, and what was typed stays."""
        approval_id, comment = request.path_params["approval_id"], fields.get("comment", "")
        try:
            answer = read_answer({"decision": fields.get("decision", ""), "comment": comment})
            _, heeded = await self._context.services.approvals.answer(approval_id, answer, visitor.caller)
        except DecisionNotCounted as fault:
            return await self._one(request, visitor, f"Your answer does not count: {fault.why}.", comment, 409)
        except (InvalidField, NotAnApprover) as fault:
            return await self._one(request, visitor, str(fault), comment, 400)
        finally:
            self._context.glance.forget(visitor.caller)
        said = "heard" if heeded else "handed"
        return go_to(f"/console/approvals/{approval_id}?said={said}")

    async def _one(
        self, request: Request, visitor: Visitor, problem: str = "", comment: str = "", status: int = 200
    ) -> Response:
        approval_id, now = request.path_params["approval_id"], self._context.glance.clock()
        question = await self._context.services.approvals.show(approval_id, visitor.caller)
        page = approval_page(question, visitor.caller.principal, now)
        values = {"one": page, "record": question.record, "problem": problem, "comment": comment}
        said = request.query_params.get("said", "")
        return await self._context.page(request, "approval.html", visitor, status, **values, said=said)


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


_AGAIN = {"Retry-After": "2"}


class FaultPages:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def handlers(self) -> "dict[type[Exception] | int, ExceptionHandler]":
        return {
            UnknownApproval: self._no_approval,
            NoVisibleTask: self._no_task,
            UnknownAssessment: self._no_assessment,
            InvalidField: self._not_understood,
            NotAnOperator: self._not_allowed,
            BadForm: self._bad_form,
            StoreUnavailable: self._later,
            IssuerUnavailable: self._later,
            TooManyRequests: self._too_many,
            PushUnsupported: self._no_page,
            HTTPException: self._no_page,
            Exception: self._broken_page,
        }

    async def _no_approval(self, request: Request, _: Exception) -> Response:
        text = "It was decided and its deadline has passed, or it is none that you may see."
        return self._fault(
            request, 404, "There is no such approval", text, ("/console/approvals", "Go to the approvals")
        )

    async def _no_task(self, request: Request, _: Exception) -> Response:
        text = "It has left the store after its time, or it is none that you may see."
        return self._fault(request, 404, "There is no such task", text, ("/console/tasks", "Go to the tasks"))

    async def _no_assessment(self, request: Request, _: Exception) -> Response:
        way = ("/console/learning/assessments", "Go to the assessments")
        text = "Its time is over, or it is none that you may see."
        return self._fault(request, 404, "There is no such assessment", text, way)

    async def _not_understood(self, request: Request, fault: Exception) -> Response:
        return self._fault(request, 400, "That could not be read", f"{fault}.", ("/console/", "Go to the overview"))

    async def _not_allowed(self, request: Request, _: Exception) -> Response:
        text = "It is for operators. Ask one of them, or sign in with an operator's key."
        return self._fault(request, 403, "This is not for you", text, ("/console/", "Go to the overview"))

    async def _bad_form(self, request: Request, fault: Exception) -> Response:
        status = fault.status if isinstance(fault, BadForm) else 400
        return self._fault(request, status, "Nothing was done", str(fault), ("/console/", "Go to the overview"))

    async def _later(self, request: Request, _: Exception) -> Response:
        text = "What the console rests on does not answer just now. Nothing is lost. Try again in a few seconds."
        reply = self._fault(request, 503, "One moment", text, (request.url.path, "Try again"))
        reply.headers.update(_AGAIN)
        return reply

    async def _too_many(self, request: Request, fault: Exception) -> Response:
        wait = fault.wait if isinstance(fault, TooManyRequests) else 1
        reply = self._fault(request, 429, "That was too much at once", f"{fault}.", (request.url.path, "Try again"))
        reply.headers["Retry-After"] = str(wait)
        return reply

    async def _no_page(self, request: Request, fault: Exception) -> Response:
        status = fault.status_code if isinstance(fault, HTTPException) else 404
        title = "There is no such page" if status == 404 else "That cannot be done here"
        return self._fault(request, status, title, "The address may be mistyped.", ("/console/", "Go to the overview"))

    async def _broken_page(self, request: Request, _: Exception) -> Response:
        """Whatever nobody foresaw; it goes on to the log."""
        text = "Nothing more is known here; it stands in the gateway's log. What was done before holds."
        return self._fault(request, 500, "Something broke", text, (request.url.path, "Try again"))

    def _fault(self, request: Request, status: int, title: str, text: str, way: tuple[str, str]) -> Response:
        visitor = getattr(request.state, "visitor", None)
        href, label = way
        values = {"heading": title, "text": text, "href": href, "label": label}
        return self._pages.page(request, "fault.html", visitor, status, **values)


def console(context: ConsoleContext) -> Starlette:
    routes = [
        *_sign_in_routes(context),
        *_approvals(context),
        *_tasks(context),
        *_learning(context),
        *_assessments(context),
        *_operations(context),
        Route("/", context.shows(OverviewPage(context).show_page)),
        Route("/webhooks", context.shows(WebhookPage(context).show_page)),
        Route("/static/{version}/{name}", console_assets().serve),
    ]
    return Starlette(routes=routes, exception_handlers=FaultPages(context.pages).handlers())


def _sign_in_routes(context: ConsoleContext) -> list[Route]:
    pages = SignInPages(context)
    return [
        Route("/sign-in", pages.ask),
        Route("/sign-in", pages.take, methods=["POST"]),
        Route("/sign-out", context.acts(pages.leave), methods=["POST"]),
        Route("/theme", pages.theme, methods=["POST"]),
    ]


def _approvals(context: ConsoleContext) -> list[Route]:
    inbox, live = InboxPages(context), LiveStreams(context)
    return [
        Route("/approvals", context.shows(inbox.list_page)),
        Route("/approvals/{approval_id}", context.shows(inbox.show_page)),
        Route("/approvals/{approval_id}", context.acts(inbox.answer), methods=["POST"]),
        Route("/live", context.shows(live.inbox)),
    ]


def _tasks(context: ConsoleContext) -> list[Route]:
    tasks, live = TaskPages(context), LiveStreams(context)
    return [
        Route("/tasks", context.shows(tasks.list_page)),
        Route("/tasks/{task_id:path}/live", context.shows(live.task)),
        Route("/tasks/{task_id:path}/files/{file_id}", context.shows(tasks.file)),
        Route("/tasks/{task_id:path}/cancel", context.acts(tasks.cancel), methods=["POST"]),
        Route("/tasks/{task_id:path}/resolve", context.acts(tasks.resolve), methods=["POST"]),
        Route("/tasks/{task_id:path}", context.shows(tasks.show_page)),  # last: a client's own id may hold a slash
    ]


def _learning(context: ConsoleContext) -> list[Route]:
    pages = LearningPages(context)
    return [
        Route("/learning", context.shows(pages.progress)),
        Route("/learning/cases", context.shows(pages.cases)),
        Route("/learning/facts", context.shows(pages.facts)),
        Route("/learning/entities", context.shows(pages.entities)),
    ]


def _assessments(context: ConsoleContext) -> list[Route]:
    pages, place = AssessmentPages(context), "/learning/assessments"
    return [
        Route(place, context.shows(pages.list_page)),
        Route(f"{place}/compare", context.shows(pages.compare_page)),
        Route(f"{place}/{{assessment_id}}", context.shows(pages.show_page)),
        Route(f"{place}/{{assessment_id}}/runs/{{number}}", context.shows(pages.replay_page)),
        Route(f"{place}/{{assessment_id}}/remove", context.acts(pages.drop), methods=["POST"]),
    ]


def _operations(context: ConsoleContext) -> list[Route]:
    pages, letters = OperationsPages(context), "/operations/dead-letters"
    return [
        Route("/operations", context.shows(pages.load)),
        Route(letters, context.shows(pages.letters)),
        Route(f"{letters}/{{letter_id}}/requeue", context.acts(pages.requeue), methods=["POST"]),
        Route(f"{letters}/{{letter_id}}/drop", context.acts(pages.drop), methods=["POST"]),
    ]
