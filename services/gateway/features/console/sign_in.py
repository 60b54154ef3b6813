"""``/console/sign-in``: exchanges an API key or token for a session cookie."""

from secrets import token_urlsafe

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.edge.errors import InvalidField, NotEntitled, Unauthenticated
from services.gateway.features.console import sessions
from services.gateway.features.console.context import PageGroup
from services.gateway.features.console.pages import THEME_COOKIE, THEMES, redirect_to
from services.gateway.features.console.views.formatting import as_sentence
from shared.infra.keys import CONSOLE_SESSION_SECONDS, REFUSED_SIGN_INS_SECONDS

_FORM_COOKIE = "purple_console_form"
_COOKIE_PATH = "/console"
_YEAR_SECONDS = 365 * 24 * 3600
_LONGEST_NAME = 100
_LONGEST_KEY = 16 * 1024


class SignInPages(PageGroup):
    async def show_form(self, request: Request) -> Response:
        """The sign-in form; visitors who are signed in are redirected to their destination."""
        destination = sessions.safe_destination(request.query_params.get("next", ""))
        if await self._context.sessions.find_visitor(request) is not None:
            return redirect_to(destination)
        return await self._render_form(request, destination, "")

    async def sign_in(self, request: Request) -> Response:
        fields = await sessions.read_form(request, request.cookies.get(_FORM_COOKIE, ""))
        destination, address = sessions.safe_destination(fields.get("next", "")), self._context.client_address(request)
        if await self._context.sessions.is_throttled(address):
            minutes = REFUSED_SIGN_INS_SECONDS // 60
            problem = f"Too many keys were refused from your address. Wait {minutes} minutes, then try again."
            return await self._render_form(request, destination, problem, 429)
        try:
            secret = await self._context.sessions.sign_in(await self._read_credential(fields))
        except (Unauthenticated, NotEntitled) as fault:
            await self._context.sessions.count_refusal(address)
            return await self._render_form(request, destination, as_sentence(str(fault)), 401)
        except InvalidField as fault:
            return await self._render_form(request, destination, as_sentence(str(fault)), 400)
        reply = redirect_to(destination)
        self._set_cookie(reply, sessions.SESSION_COOKIE, secret, CONSOLE_SESSION_SECONDS)
        reply.delete_cookie(_FORM_COOKIE, _COOKIE_PATH)
        return reply

    async def sign_out(self, _request: Request, visitor: sessions.Visitor, _: dict[str, str]) -> Response:
        """End the session, which makes all copies of its cookie useless."""
        await self._context.sessions.sign_out(visitor.secret)
        reply = redirect_to("/console/sign-in")
        reply.delete_cookie(sessions.SESSION_COOKIE, _COOKIE_PATH)
        return reply

    async def set_theme(self, request: Request) -> Response:
        """Set the colour theme in a cookie: light, dark or the device's. It needs no sign-in."""
        cookies = request.cookies
        fields = await sessions.read_form(
            request, cookies.get(sessions.SESSION_COOKIE, ""), cookies.get(_FORM_COOKIE, "")
        )
        theme = fields.get("theme", "")
        reply = redirect_to(sessions.safe_destination(fields.get("next", "")))
        if theme in THEMES:
            secure = self._context.has_secure_cookies
            reply.set_cookie(THEME_COOKIE, theme, _YEAR_SECONDS, path=_COOKIE_PATH, samesite="lax", secure=secure)
        return reply

    async def _read_credential(self, fields: dict[str, str]) -> sessions.SignInCredential:
        if await self._context.sessions.requires_credentials():
            token = "".join(fields.get("key", "").split())
            if not token or len(token) > _LONGEST_KEY or not token.isascii():
                raise InvalidField("Key", "paste the whole of your API key or token")
            return sessions.SignInCredential(token=token)
        name = fields.get("name", "").strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidField("Name", "say who you are; it stands beside what you decide")
        return sessions.SignInCredential(name=name)

    async def _render_form(self, request: Request, place: str, problem: str, status: int = 200) -> Response:
        seed = request.cookies.get(_FORM_COOKIE) or token_urlsafe(24)
        requires_key = await self._context.sessions.requires_credentials()
        values = {"form": sessions.form_token(seed), "next": place, "problem": problem, "checks_keys": requires_key}
        reply = self._context.pages.render(request, "sign_in.html", None, status, **values)
        self._set_cookie(reply, _FORM_COOKIE, seed, 3600)
        if status == 429:
            reply.headers["Retry-After"] = str(REFUSED_SIGN_INS_SECONDS)
        return reply

    def _set_cookie(self, reply: Response, name: str, value: str, seconds: int) -> None:
        secure = self._context.has_secure_cookies
        reply.set_cookie(name, value, seconds, path=_COOKIE_PATH, secure=secure, httponly=True, samesite="strict")
