"""The console: a web application of its own, under ``/console`` of every gateway."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ExceptionHandler

from services.gateway.edge.errors import (
    InvalidField,
    IssuerUnavailable,
    NotAnOperator,
    NoVisibleTask,
    PushUnsupported,
    TooManyRequests,
    UnknownApproval,
    UnknownAssessment,
)
from services.gateway.features.console.assessments import AssessmentPages
from services.gateway.features.console.context import ConsoleContext
from services.gateway.features.console.inbox import InboxPages
from services.gateway.features.console.operations import LearningPages, OperationsPages, WebhookPage
from services.gateway.features.console.overview import OverviewPage
from services.gateway.features.console.pages import Pages, console_assets
from services.gateway.features.console.sessions import BadForm
from services.gateway.features.console.sign_in import SignInPages
from services.gateway.features.console.tasks import LiveStreams, TaskPages
from shared.ports.store import StoreUnavailable

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
