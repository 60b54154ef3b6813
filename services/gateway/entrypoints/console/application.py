"""The console: a web application of its own, under ``/console`` of every gateway."""

from starlette.applications import Starlette
from starlette.routing import Route

from services.gateway.entrypoints.console.assessments import AssessmentPages
from services.gateway.entrypoints.console.assets import Assets
from services.gateway.entrypoints.console.faults import FaultPages
from services.gateway.entrypoints.console.inbox import InboxPages
from services.gateway.entrypoints.console.learning import LearningPages
from services.gateway.entrypoints.console.live import LiveStreams
from services.gateway.entrypoints.console.operations import OperationsPages
from services.gateway.entrypoints.console.overview import OverviewPage
from services.gateway.entrypoints.console.room import Room
from services.gateway.entrypoints.console.sign_in import SignInPages
from services.gateway.entrypoints.console.tasks import TaskPages
from services.gateway.entrypoints.console.webhooks import WebhookPage


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
