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
    PushUnsupported,
    TooManyRequests,
    UnknownApproval,
    UnknownAssessment,
    UnknownTask,
)
from services.gateway.features.console.assessments import AssessmentPages
from services.gateway.features.console.context import Room
from services.gateway.features.console.inbox import InboxPages
from services.gateway.features.console.operations import LearningPages, OperationsPages, WebhookPage
from services.gateway.features.console.overview import OverviewPage
from services.gateway.features.console.pages import Assets, Pages
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
            UnknownTask: self._no_task,
            UnknownAssessment: self._no_assessment,
            InvalidField: self._not_understood,
            NotAnOperator: self._not_allowed,
            BadForm: self._bad_form,
            StoreUnavailable: self._later,
            IssuerUnavailable: self._later,
            TooManyRequests: self._too_many,
            PushUnsupported: self._no_page,
            HTTPException: self._no_page,
            Exception: self._broken,
        }

    async def _no_approval(self, request: Request, _: Exception) -> Response:
        text = "It was decided and its deadline has passed, or it is none that you may see."
        return self._said(
            request, 404, "There is no such approval", text, ("/console/approvals", "Go to the approvals")
        )

    async def _no_task(self, request: Request, _: Exception) -> Response:
        text = "It has left the store after its time, or it is none that you may see."
        return self._said(request, 404, "There is no such task", text, ("/console/tasks", "Go to the tasks"))

    async def _no_assessment(self, request: Request, _: Exception) -> Response:
        way = ("/console/learning/assessments", "Go to the assessments")
        text = "Its time is over, or it is none that you may see."
        return self._said(request, 404, "There is no such assessment", text, way)

    async def _not_understood(self, request: Request, fault: Exception) -> Response:
        return self._said(request, 400, "That could not be read", f"{fault}.", ("/console/", "Go to the overview"))

    async def _not_allowed(self, request: Request, _: Exception) -> Response:
        text = "It is for operators. Ask one of them, or sign in with an operator's key."
        return self._said(request, 403, "This is not for you", text, ("/console/", "Go to the overview"))

    async def _bad_form(self, request: Request, fault: Exception) -> Response:
        status = fault.status if isinstance(fault, BadForm) else 400
        return self._said(request, status, "Nothing was done", str(fault), ("/console/", "Go to the overview"))

    async def _later(self, request: Request, _: Exception) -> Response:
        text = "What the console rests on does not answer just now. Nothing is lost. Try again in a few seconds."
        reply = self._said(request, 503, "One moment", text, (request.url.path, "Try again"))
        reply.headers.update(_AGAIN)
        return reply

    async def _too_many(self, request: Request, fault: Exception) -> Response:
        wait = fault.wait if isinstance(fault, TooManyRequests) else 1
        reply = self._said(request, 429, "That was too much at once", f"{fault}.", (request.url.path, "Try again"))
        reply.headers["Retry-After"] = str(wait)
        return reply

    async def _no_page(self, request: Request, fault: Exception) -> Response:
        status = fault.status_code if isinstance(fault, HTTPException) else 404
        title = "There is no such page" if status == 404 else "That cannot be done here"
        return self._said(request, status, title, "The address may be mistyped.", ("/console/", "Go to the overview"))

    async def _broken(self, request: Request, _: Exception) -> Response:
        """Whatever nobody foresaw; it goes on to the log."""
        text = "Nothing more is known here; it stands in the gateway's log. What was done before holds."
        return self._said(request, 500, "Something broke", text, (request.url.path, "Try again"))

    def _said(self, request: Request, status: int, title: str, text: str, way: tuple[str, str]) -> Response:
        visitor = getattr(request.state, "visitor", None)
        href, label = way
        values = {"heading": title, "text": text, "href": href, "label": label}
        return self._pages.page(request, "fault.html", visitor, status, **values)


def console(room: Room, assets: Assets) -> Starlette:
    routes = [
        *_door(room),
        *_approvals(room),
        *_tasks(room),
        *_learning(room),
        *_assessments(room),
        *_operations(room),
        Route("/", room.shows(OverviewPage(room).shown)),
        Route("/webhooks", room.shows(WebhookPage(room).shown)),
        Route("/static/{version}/{name}", assets.serve),
    ]
    return Starlette(routes=routes, exception_handlers=FaultPages(room.pages).handlers())


def _door(room: Room) -> list[Route]:
    door = SignInPages(room)
    return [
        Route("/sign-in", door.asked),
        Route("/sign-in", door.given, methods=["POST"]),
        Route("/sign-out", room.acts(door.left), methods=["POST"]),
        Route("/theme", door.theme, methods=["POST"]),
    ]


def _approvals(room: Room) -> list[Route]:
    inbox, live = InboxPages(room), LiveStreams(room)
    return [
        Route("/approvals", room.shows(inbox.listed)),
        Route("/approvals/{approval_id}", room.shows(inbox.shown)),
        Route("/approvals/{approval_id}", room.acts(inbox.answered), methods=["POST"]),
        Route("/live", room.shows(live.inbox)),
    ]


def _tasks(room: Room) -> list[Route]:
    tasks, live = TaskPages(room), LiveStreams(room)
    return [
        Route("/tasks", room.shows(tasks.listed)),
        Route("/tasks/{task_id:path}/live", room.shows(live.task)),
        Route("/tasks/{task_id:path}/files/{file_id}", room.shows(tasks.file)),
        Route("/tasks/{task_id:path}/cancel", room.acts(tasks.canceled), methods=["POST"]),
        Route("/tasks/{task_id:path}/resolve", room.acts(tasks.resolved), methods=["POST"]),
        Route("/tasks/{task_id:path}", room.shows(tasks.shown)),  # last: a client's own id may hold a slash
    ]


def _learning(room: Room) -> list[Route]:
    pages = LearningPages(room)
    return [
        Route("/learning", room.shows(pages.progress)),
        Route("/learning/cases", room.shows(pages.cases)),
        Route("/learning/facts", room.shows(pages.facts)),
        Route("/learning/entities", room.shows(pages.entities)),
    ]


def _assessments(room: Room) -> list[Route]:
    pages, place = AssessmentPages(room), "/learning/assessments"
    return [
        Route(place, room.shows(pages.listed)),
        Route(f"{place}/compare", room.shows(pages.compared)),
        Route(f"{place}/{{assessment_id}}", room.shows(pages.shown)),
        Route(f"{place}/{{assessment_id}}/runs/{{number}}", room.shows(pages.replayed)),
        Route(f"{place}/{{assessment_id}}/remove", room.acts(pages.dropped), methods=["POST"]),
    ]


def _operations(room: Room) -> list[Route]:
    pages, letters = OperationsPages(room), "/operations/dead-letters"
    return [
        Route("/operations", room.shows(pages.load)),
        Route(letters, room.shows(pages.letters)),
        Route(f"{letters}/{{letter_id}}/requeue", room.acts(pages.requeued), methods=["POST"]),
        Route(f"{letters}/{{letter_id}}/drop", room.acts(pages.dropped), methods=["POST"]),
    ]
