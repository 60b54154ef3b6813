"""The console's application: its routes, sign-in, its pages of approvals and assessments, and its error pages."""

from secrets import token_urlsafe

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ExceptionHandler

from services.gateway.edge import errors
from services.gateway.edge.replies import build_retry_headers
from services.gateway.features.approvals.approvals import MOST_LISTED_APPROVALS, parse_answer
from services.gateway.features.assessments import KeptAssessment
from services.gateway.features.console import sessions
from services.gateway.features.console.context import ConsoleContext, PageGroup
from services.gateway.features.console.operations import LearningPages, OperationsPages, OverviewPages
from services.gateway.features.console.pages import (
    LEARNING_TABS,
    THEME_COOKIE,
    THEMES,
    PageRenderer,
    redirect_to,
    serve_asset,
)
from services.gateway.features.console.sessions import BadForm, Visitor
from services.gateway.features.console.tasks import LiveStreams, TaskPages
from services.gateway.features.console.views import assessments, replay
from services.gateway.features.console.views.approvals import build_approval_page
from services.gateway.features.console.views.formatting import as_sentence, parse_digits_or_zero
from shared.domain.words import Role
from shared.infra.keys import CONSOLE_SESSION_SECONDS, REFUSED_SIGN_INS_SECONDS
from shared.ports.store import StoreUnavailable

_FORM_COOKIE = "purple_console_form"
_COOKIE_PATH = "/console"
_YEAR_SECONDS = 365 * 24 * 3600
_LONGEST_NAME = 100
_LONGEST_KEY = 16 * 1024


class SignInPages(PageGroup):
    async def show_form(self, request: Request) -> Response:
        """The sign-in form; visitors who are signed in are redirected to their destination."""
        destination = sessions.choose_safe_destination(request.query_params.get("next", ""))
        if await self._context.sessions.find_visitor(request) is not None:
            return redirect_to(destination)
        return await self._render_form(request, destination, "")

    async def sign_in(self, request: Request) -> Response:
        fields = await sessions.read_verified_form(request, request.cookies.get(_FORM_COOKIE, ""))
        destination = sessions.choose_safe_destination(fields.get("next", ""))
        address = self._context.read_client_address(request)
        if await self._context.sessions.is_throttled(address):
            minutes = REFUSED_SIGN_INS_SECONDS // 60
            problem = f"Too many keys were refused from your address. Wait {minutes} minutes, then try again."
            return await self._render_form(request, destination, problem, 429)
        try:
            secret = await self._context.sessions.sign_in(await self._read_credential(fields))
        except (errors.Unauthenticated, errors.NotEntitled) as fault:
            await self._context.sessions.count_refusal(address)
            return await self._render_form(request, destination, as_sentence(str(fault)), 401)
        except errors.InvalidField as fault:
            return await self._render_form(request, destination, as_sentence(str(fault)), 400)
        reply = redirect_to(destination)
        self._set_cookie(reply, sessions.SESSION_COOKIE, secret, CONSOLE_SESSION_SECONDS)
        reply.delete_cookie(_FORM_COOKIE, _COOKIE_PATH)
        return reply

    async def sign_out(self, visitor: Visitor, _: dict[str, str]) -> Response:
        """End the session, which makes all copies of its cookie useless."""
        await self._context.sessions.sign_out(visitor.secret)
        reply = redirect_to("/console/sign-in")
        reply.delete_cookie(sessions.SESSION_COOKIE, _COOKIE_PATH)
        return reply

    async def set_theme(self, request: Request) -> Response:
        """Set the colour theme in a cookie: light, dark or the device's. It needs no sign-in; raises ``BadForm``."""
        cookies = request.cookies
        fields = await sessions.read_verified_form(
            request, cookies.get(sessions.SESSION_COOKIE, ""), cookies.get(_FORM_COOKIE, "")
        )
        theme = fields.get("theme", "")
        reply = redirect_to(sessions.choose_safe_destination(fields.get("next", "")))
        if theme in THEMES:
            secure = self._context.has_secure_cookies
            reply.set_cookie(THEME_COOKIE, theme, _YEAR_SECONDS, path=_COOKIE_PATH, samesite="lax", secure=secure)
        return reply

    async def _read_credential(self, fields: dict[str, str]) -> sessions.SignInCredential:
        if await self._context.sessions.requires_credentials():
            token = "".join(fields.get("key", "").split())
            if not token or len(token) > _LONGEST_KEY or not token.isascii():
                raise errors.InvalidField("Key", "paste the whole of your API key or token")
            return sessions.SignInCredential(token=token)
        name = fields.get("name", "").strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise errors.InvalidField("Name", "say who you are; it stands beside what you decide")
        return sessions.SignInCredential(name=name)

    async def _render_form(self, request: Request, place: str, problem: str, status: int = 200) -> Response:
        seed = request.cookies.get(_FORM_COOKIE) or token_urlsafe(24)
        requires_key = await self._context.sessions.requires_credentials()
        values = {
            "form": sessions.derive_form_token(seed),
            "next": place,
            "problem": problem,
            "checks_keys": requires_key,
        }
        reply = self._context.pages.render(request, "sign_in.html", None, status, **values)
        self._set_cookie(reply, _FORM_COOKIE, seed, 3600)
        if status == 429:
            reply.headers["Retry-After"] = str(REFUSED_SIGN_INS_SECONDS)
        return reply

    def _set_cookie(self, reply: Response, name: str, value: str, seconds: int) -> None:
        secure = self._context.has_secure_cookies
        reply.set_cookie(name, value, seconds, path=_COOKIE_PATH, secure=secure, httponly=True, samesite="strict")


class InboxPages(PageGroup):
    async def show_list(self, visitor: Visitor) -> Response:
        """The waiting approvals: those that the visitor may answer, then the others."""
        now, reader = self._context.inbox_cache.clock(), visitor.caller.principal
        snapshot = await self._context.inbox_cache.read_snapshot(visitor.caller)
        pages = [build_approval_page(approval, reader, now) for approval in snapshot.requests]
        for_visitor = [page for page in pages if not page.why_not_counted]
        for_others = [page for page in pages if page.why_not_counted]
        return await self._context.render_page(
            visitor,
            "inbox.html",
            for_visitor=for_visitor,
            for_others=for_others,
            decides=visitor.has_any_role(Role.APPROVER),
            most=MOST_LISTED_APPROVALS,
        )

    async def submit_answer(self, visitor: Visitor, fields: dict[str, str]) -> Response:
        """Submit an answer. If it does not count, the page is shown again with the reason and the typed comment."""
        approval_id, comment = visitor.request.path_params["approval_id"], fields.get("comment", "")
        try:
            answer = parse_answer({"decision": fields.get("decision", ""), "comment": comment})
            _, has_effect = await self._context.services.approvals.submit_answer(approval_id, answer, visitor.caller)
        except errors.DecisionNotCounted as fault:
            problem = f"Your answer does not count: {fault.reason}."
            return await self.show_approval(visitor, problem, comment, 409)
        except (errors.InvalidField, errors.MissingRole) as fault:
            return await self.show_approval(visitor, str(fault), comment, 400)
        finally:
            self._context.inbox_cache.drop_snapshot(visitor.caller)
        outcome = "heard" if has_effect else "handed"
        return redirect_to(f"/console/approvals/{approval_id}?said={outcome}")

    async def show_approval(
        self, visitor: Visitor, problem: str = "", comment: str = "", status: int = 200
    ) -> Response:
        approval_id = visitor.request.path_params["approval_id"]
        now = self._context.inbox_cache.clock()
        approval_request = await self._context.services.approvals.get_approval(approval_id, visitor.caller)
        page = build_approval_page(approval_request, visitor.caller.principal, now)
        outcome = visitor.request.query_params.get("said", "")
        return await self._context.render_page(
            visitor, "approval.html", status, page=page, problem=problem, comment=comment, outcome=outcome
        )


_ASSESSMENTS_PATH = "/console/learning/assessments"


class AssessmentPages(PageGroup):
    async def show_list(self, visitor: Visitor) -> Response:
        rows = await self._context.services.assessments.list_summaries(visitor.caller)
        return await self._context.render_page(visitor, "assessments.html", tabs=LEARNING_TABS, rows=rows)

    async def show_assessment(self, visitor: Visitor) -> Response:
        kept_assessment = await self._read_assessment(visitor)
        groups = assessments.group_by_dimension(kept_assessment.assessment)
        runs = kept_assessment.assessment.runs
        return await self._context.render_page(
            visitor, "assessment.html", card=kept_assessment.summary, groups=groups, runs=runs
        )

    async def show_replay(self, visitor: Visitor) -> Response:
        """One run of an assessment, at the turn in ``?turn=``; 404 if it has no run of that number."""
        kept_assessment = await self._read_assessment(visitor)
        number = parse_digits_or_zero(visitor.request.path_params["number"])
        if not 1 <= number <= len(kept_assessment.assessment.runs):
            raise errors.NotFound(f"run {number}")
        run = kept_assessment.assessment.runs[number - 1]
        turns = replay.list_timeline_turns(run)
        turn = replay.build_replayed_turn(
            run, turns, parse_digits_or_zero(visitor.request.query_params.get("turn", ""))
        )
        shown_number = turn.timeline_turn.turn
        return await self._context.render_page(
            visitor,
            "replay.html",
            card=kept_assessment.summary,
            place=f"{_ASSESSMENTS_PATH}/{kept_assessment.summary.assessment_id}",
            run=run,
            run_number=number,
            stops=turns[
                max(0, shown_number - replay.TURNS_SHOWN_EACH_WAY) : shown_number + replay.TURNS_SHOWN_EACH_WAY + 1
            ],
            last=turns[-1].turn,
            turn=turn,
        )

    async def drop_assessment(self, visitor: Visitor, _: dict[str, str]) -> Response:
        await self._context.services.assessments.delete_assessment(
            visitor.request.path_params["assessment_id"], visitor.caller
        )
        return redirect_to(_ASSESSMENTS_PATH)

    async def _read_assessment(self, visitor: Visitor) -> KeptAssessment:
        assessment_id = visitor.request.path_params["assessment_id"]
        return await self._context.services.assessments.get_assessment(assessment_id, visitor.caller)


_STORE_AWAY_TEXT = "What the console rests on does not answer just now. Nothing is lost. Try again in a few seconds."
_NO_PAGE_TEXT = "The address may be mistyped."
_BUG_TEXT = "Nothing more is known here; it stands in the gateway's log. What was done before holds."
_HEADINGS = {
    400: "That could not be read",
    403: "This is not for you",
    404: "There is no such page",
    429: "That was too much at once",
    500: "Something broke",
    503: "One moment",
}
_STATUSES_TO_TRY_AGAIN = (429, 500, 503)
_FAULTS = (BadForm, errors.GatewayRefusal, errors.IssuerUnavailable, StoreUnavailable, HTTPException, Exception)


def build_exception_handlers(pages: PageRenderer) -> "dict[type[Exception] | int, ExceptionHandler]":
    async def render_error(request: Request, fault: Exception) -> Response:
        status, text = _describe_fault(fault)
        heading = (
            "Nothing was done" if isinstance(fault, BadForm) else _HEADINGS.get(status, "That cannot be done here")
        )
        may_try_again = status in _STATUSES_TO_TRY_AGAIN
        visitor = getattr(request.state, "visitor", None)
        href, label = (request.url.path, "Try again") if may_try_again else ("/console/", "Go to the overview")
        reply = pages.render(request, "fault.html", visitor, status, heading=heading, text=text, href=href, label=label)
        reply.headers.update(build_retry_headers(fault, status))
        return reply

    return dict.fromkeys(_FAULTS, render_error)


def _describe_fault(fault: Exception) -> tuple[int, str]:
    """The status of the error page of an exception, and its text, which shows nothing of an unforeseen exception."""
    match fault:
        case HTTPException():
            return fault.status_code, _NO_PAGE_TEXT
        case errors.PushUnsupported():
            return 404, _NO_PAGE_TEXT
        case BadForm() | errors.GatewayRefusal():
            return fault.status, as_sentence(str(fault))
        case StoreUnavailable() | errors.IssuerUnavailable():
            return 503, _STORE_AWAY_TEXT
        case _:
            return 500, _BUG_TEXT


def build_console_app(context: ConsoleContext) -> Starlette:
    make_page, make_form = context.make_page_handler, context.make_form_handler
    sign_in = SignInPages(context)
    live = LiveStreams(context)
    inbox = InboxPages(context)
    tasks = TaskPages(context)
    learning = LearningPages(context)
    assessment_pages = AssessmentPages(context)
    operations = OperationsPages(context)
    assessments_path, letters_path = "/learning/assessments", "/operations/dead-letters"
    requeue = make_form(operations.requeue_dead_letter, requires_operator=True)
    drop = make_form(operations.drop_dead_letter, requires_operator=True)
    routes = [
        Route("/", make_page(OverviewPages(context).show_overview)),
        Route("/sign-in", sign_in.show_form),
        Route("/sign-in", sign_in.sign_in, methods=["POST"]),
        Route("/sign-out", make_form(sign_in.sign_out), methods=["POST"]),
        Route("/theme", sign_in.set_theme, methods=["POST"]),
        Route("/live", make_page(live.stream_inbox)),
        Route("/approvals", make_page(inbox.show_list)),
        Route("/approvals/{approval_id}", make_page(inbox.show_approval)),
        Route("/approvals/{approval_id}", make_form(inbox.submit_answer), methods=["POST"]),
        Route("/tasks", make_page(tasks.show_list)),
        Route("/tasks/", RedirectResponse("/console/tasks", 307)),  # else the page of a task whose id is empty
        Route("/tasks/{task_id:path}/live", make_page(live.stream_task)),
        Route("/tasks/{task_id:path}/files/{file_id}", make_page(tasks.download_file)),
        Route("/tasks/{task_id:path}/cancel", make_form(tasks.cancel_task), methods=["POST"]),
        Route("/tasks/{task_id:path}/resolve", make_form(tasks.resolve_write), methods=["POST"]),
        Route("/tasks/{task_id:path}", make_page(tasks.show_task)),  # last: a client's own id may hold a slash
        Route("/learning", make_page(learning.show_progress)),
        Route("/learning/cases", make_page(learning.show_cases, requires_operator=True)),
        Route("/learning/facts", make_page(learning.show_facts, requires_operator=True)),
        Route("/learning/entities", make_page(learning.show_entities, requires_operator=True)),
        Route(assessments_path, make_page(assessment_pages.show_list)),
        Route(f"{assessments_path}/{{assessment_id}}", make_page(assessment_pages.show_assessment)),
        Route(f"{assessments_path}/{{assessment_id}}/runs/{{number}}", make_page(assessment_pages.show_replay)),
        Route(
            f"{assessments_path}/{{assessment_id}}/remove",
            make_form(assessment_pages.drop_assessment),
            methods=["POST"],
        ),
        Route("/operations", make_page(operations.show_load, requires_operator=True)),
        Route(letters_path, make_page(operations.show_dead_letters, requires_operator=True)),
        Route(f"{letters_path}/{{letter_id}}/requeue", requeue, methods=["POST"]),
        Route(f"{letters_path}/{{letter_id}}/drop", drop, methods=["POST"]),
        Route("/webhooks", make_page(operations.show_failing_webhooks)),
        Route("/static/{version}/{name}", serve_asset),
    ]
    compression = [Middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)]
    return Starlette(routes=routes, middleware=compression, exception_handlers=build_exception_handlers(context.pages))
