"""``/console/sign-in``: a key or token, pasted once, becomes a cookie that no script can read."""

from secrets import token_urlsafe

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.edge.errors import InvalidField, NotEntitled, Unauthenticated
from services.gateway.features.console.context import ConsolePages
from services.gateway.features.console.pages import THEME, THEMES, go_to
from services.gateway.features.console.sessions import (
    COOKIE,
    SignInCredential,
    Visitor,
    form_token,
    place_after,
    read_form,
)
from shared.infra.keys import CONSOLE_SECONDS, REFUSED_SECONDS

_FORM_COOKIE = "purple_console_form"
_FOLDER = "/console"
_YEAR = 365 * 24 * 3600
_LONGEST_NAME = 100
_LONGEST_KEY = 16 * 1024


class SignInPages(ConsolePages):
    async def ask(self, request: Request) -> Response:
        """The sign-in form; a visitor who is signed in is sent on."""
        place = place_after(request.query_params.get("next", ""))
        if await self._context.sessions.visitor(request) is not None:
            return go_to(place)
        return await self._show_form(request, place, "")

    async def take(self, request: Request) -> Response:
        fields = await read_form(request, request.cookies.get(_FORM_COOKIE, ""))
        place, address = place_after(fields.get("next", "")), self._context.source(request)
        if await self._context.sessions.is_braked(address):
            minutes = REFUSED_SECONDS // 60
            why = f"Too many keys were refused from your address. Wait {minutes} minutes, then try again."
            return await self._show_form(request, place, why, 429)
        try:
            secret = await self._context.sessions.sign_in(await self._read_credential(fields))
        except (Unauthenticated, NotEntitled) as fault:
            await self._context.sessions.count_refusal(address)
            return await self._show_form(request, place, _make_sentence(str(fault)), 401)
        except InvalidField as fault:
            return await self._show_form(request, place, _make_sentence(str(fault)), 400)
        reply = go_to(place)
        self._set_cookie(reply, COOKIE, secret, CONSOLE_SECONDS)
        reply.delete_cookie(_FORM_COOKIE, _FOLDER)
        return reply

    async def leave(self, _request: Request, visitor: Visitor, _: dict[str, str]) -> Response:
        """Sign out: the cookie is void from now on, wherever it was copied to."""
        await self._context.sessions.sign_out(visitor.secret)
        reply = go_to("/console/sign-in")
        reply.delete_cookie(COOKIE, _FOLDER)
        return reply

    async def theme(self, request: Request) -> Response:
        """Set the theme, light, dark or the device's, also for visitors who are not signed in."""
        cookies = request.cookies
        fields = await read_form(request, cookies.get(COOKIE, ""), cookies.get(_FORM_COOKIE, ""))
        chosen = fields.get("theme", "")
        reply = go_to(place_after(fields.get("next", "")))
        if chosen in THEMES:
            reply.set_cookie(THEME, chosen, _YEAR, path=_FOLDER, samesite="lax", secure=self._context.secure)
        return reply

    async def _read_credential(self, fields: dict[str, str]) -> SignInCredential:
        if await self._context.sessions.checks_keys():
            token = "".join(fields.get("key", "").split())
            if not token or len(token) > _LONGEST_KEY or not token.isascii():
                raise InvalidField("Key", "paste the whole of your API key or token")
            return SignInCredential(token=token)
        name = fields.get("name", "").strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InvalidField("Name", "say who you are; it stands beside what you decide")
        return SignInCredential(name=name)

    async def _show_form(self, request: Request, place: str, problem: str, status: int = 200) -> Response:
        seed = request.cookies.get(_FORM_COOKIE) or token_urlsafe(24)
        checks = await self._context.sessions.checks_keys()
        values = {"form": form_token(seed), "next": place, "problem": problem, "checks_keys": checks}
        reply = self._context.pages.page(request, "sign_in.html", None, status, **values)
        self._set_cookie(reply, _FORM_COOKIE, seed, 3600)
        if status == 429:
            reply.headers["Retry-After"] = str(REFUSED_SECONDS)
        return reply

    def _set_cookie(self, reply: Response, name: str, value: str, seconds: int) -> None:
        reply.set_cookie(
            name, value, seconds, path=_FOLDER, secure=self._context.secure, httponly=True, samesite="strict"
        )


def _make_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
