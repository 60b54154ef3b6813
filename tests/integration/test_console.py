"""The console behind its pages: sign-in, cookies, forms, replicas, files."""

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from redis.asyncio import Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from services.gateway.features.console.pages import PageRenderer, build_asset_urls
from services.gateway.features.console.routes import build_exception_handlers
from services.gateway.features.console.sessions import MOST_REFUSED_SIGN_INS
from services.gateway.first_key import create_first_key
from shared.domain.exact_json import loads_object
from shared.infra.archive_open import generate_encryption_key
from shared.infra.embedded_redis import EmbeddedRedis
from tests.http_client import open_http, rpc_body
from tests.integration.gateway_stage import LOCKED, Locked, Stage, gateway, stage
from tests.integration.test_gateway_keys import trusting

OPEN = {"authentication": "off"}


class Reader:
    """A browser without a window: keeps cookies, sends forms as pages give them."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.page = ""

    async def go(self, path: str) -> httpx.Response:
        reply = await self.http.get(path, follow_redirects=True)
        self.page = reply.text
        return reply

    async def send(self, path: str, **fields: str) -> httpx.Response:
        """A form of the page that was looked at last."""
        token = re.search(r'name="form" value="([0-9a-f]+)"', self.page)
        reply = await self.http.post(path, data={"form": token[1] if token else "", **fields}, follow_redirects=True)
        self.page = reply.text
        return reply

    async def sign_in(self, **given: str) -> httpx.Response:
        await self.go("/console/sign-in")
        return await self.send("/console/sign-in", **given)


@pytest_asyncio.fixture
async def reader() -> AsyncIterator[Callable[[str], Reader]]:
    """Makes readers of a gateway; they leave when the test is over."""
    async with AsyncExitStack() as stack:
        clients: list[httpx.AsyncClient] = []

        def made(url: str) -> Reader:
            clients.append(open_http(base_url=url, timeout=20, trust_env=False))
            stack.push_async_callback(clients[-1].aclose)
            return Reader(clients[-1])

        yield made


Readers = Callable[[str], Reader]


@pytest.fixture
async def play(redis: Redis, redis_url: str) -> AsyncIterator[Stage]:
    """A gateway that asks for no keys."""
    async with stage(redis, redis_url, **OPEN) as running:
        yield running


@pytest.fixture
async def dana(play: Stage, reader: Readers) -> Reader:
    """Signed in."""
    who = reader(play.url)
    await who.sign_in(name="dana")
    return who


async def _asked(play: Stage) -> str:
    """A task that waits; its approval's path on the console."""
    await play.send("t1", "gate t1")
    (one,) = (await play.client.get("/approvals")).json()["approvals"]
    return f"/console/approvals/{one['approval_id']}"


@pytest.mark.promise("console.sign_in")
async def test_a_key_becomes_a_cookie_that_no_other_site_can_use(redis: Redis, redis_url: str, reader: Readers) -> None:
    """And neither the cookie nor Redis holds the key in a form that can be read."""
    made = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    async with gateway(redis_url, **LOCKED, purple_agent_card_url="https://agent.example/") as url:
        olga = reader(url)
        await olga.go("/console/sign-in")
        token = re.search(r'name="form" value="([0-9a-f]+)"', olga.page)
        assert token is not None
        # the cookies are for https alone, which this test does not speak
        cookie = f"purple_console_form={olga.http.cookies['purple_console_form']}"
        fields = {"form": token[1], "key": f"  {made.token}\n"}
        reply = await olga.http.post("/console/sign-in", data=fields, headers={"Cookie": cookie})
    cookie = next(one for one in reply.headers.get_list("set-cookie") if one.startswith("purple_console="))
    assert {"HttpOnly", "SameSite=strict", "Path=/console", "Secure", "Max-Age=43200"} <= set(cookie.split("; "))
    stored = [str(await redis.get(name)) async for name in redis.scan_iter("pa:console:*")]
    secret = made.token.split("_", 2)[2]
    assert (len(stored), secret in stored[0], secret in cookie) == (1, False, False)


@pytest.mark.promise("console.sign_in")
async def test_a_revoked_key_is_out_with_the_next_click(locked: Locked, reader: Readers) -> None:
    olga = reader(locked.play.url)
    await olga.sign_in(key=locked.operator)
    before = "Overview" in olga.page
    await locked.post(f"/keys/{locked.operator.split('_')[1]}/revoke", {})
    reply = await olga.go("/console/tasks")
    assert (before, reply.url.path, "API key or token" in olga.page) == (True, "/console/sign-in", True)


@pytest.mark.promise("console.sign_in")
async def test_who_signed_out_is_out_wherever_the_cookie_went(locked: Locked, reader: Readers) -> None:
    olga, thief = reader(locked.play.url), reader(locked.play.url)
    await olga.sign_in(key=locked.operator)
    thief.http.cookies.set("purple_console", olga.http.cookies["purple_console"])
    stolen = await thief.go("/console/")
    await olga.send("/console/sign-out")
    after = await thief.go("/console/")
    assert (stolen.url.path, after.url.path) == ("/console/", "/console/sign-in")


@pytest.mark.promise("console.sign_in")
async def test_guesses_are_braked_and_said_so(locked: Locked, reader: Readers) -> None:
    """After so many refusals the address waits, also with a good key; the key's fault is not told."""
    guesser = reader(locked.play.url)
    refused = [await guesser.sign_in(key=f"pa_abc_{number}") for number in range(MOST_REFUSED_SIGN_INS)]
    braked = await guesser.sign_in(key=locked.operator)
    assert {reply.status_code for reply in refused} == {401}
    assert "unknown, expired or revoked" in refused[0].text
    assert (braked.status_code, braked.headers["retry-after"], "Wait 5 minutes" in braked.text) == (429, "300", True)


@pytest.mark.promise("console.sign_in")
async def test_behind_an_unnamed_proxy_a_guesser_shuts_nobody_out(locked: Locked, reader: Readers) -> None:
    """All readers have one address there."""
    guesser, olga = reader(locked.play.url), reader(locked.play.url)
    guesser.http.headers["X-Forwarded-For"] = olga.http.headers["X-Forwarded-For"] = "203.0.113.9"
    for number in range(MOST_REFUSED_SIGN_INS):
        await guesser.sign_in(key=f"pa_abc_{number}")
    await olga.sign_in(key=locked.operator)
    assert "Overview" in olga.page


_BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_a_browser_at_the_root_is_led_to_the_console_and_a_program_told_of_its_verb(locked: Locked) -> None:
    """Also where keys are asked for: the console lets people sign in."""
    led = await locked.play.client.get("/", headers=_BROWSER)
    key = {"Authorization": f"Bearer {locked.operator}"}
    told = await locked.play.client.get("/", headers={"Accept": "application/json", **key})
    assert (led.status_code, led.headers["location"]) == (307, "/console/")
    assert (told.status_code, told.headers["allow"]) == (405, "POST")


async def test_a_browser_at_the_root_of_a_gateway_without_console_is_led_to_the_docs(redis_url: str) -> None:
    async with gateway(redis_url, gateway_parts="mcp") as url, open_http(base_url=url, trust_env=False) as http:
        led = await http.get("/", headers=_BROWSER)
    assert (led.status_code, led.headers["location"]) == (307, "/docs")


async def test_the_list_of_tasks_is_found_with_a_slash_behind_it(dana: Reader) -> None:
    reply = await dana.go("/console/tasks/")
    assert (reply.status_code, reply.url.path) == (200, "/console/tasks")


@pytest.mark.promise("console.any_replica")
async def test_another_replica_knows_who_is_signed_in(locked: Locked, redis_url: str, reader: Readers) -> None:
    olga = reader(locked.play.url)
    await olga.sign_in(key=locked.operator)
    async with gateway(redis_url, **LOCKED) as two:
        olga.http.base_url = httpx.URL(two)
        there = await olga.go("/console/approvals")
        out = await olga.send("/console/sign-out")
    assert (there.status_code, "Nothing waits" in there.text, out.url.path) == (200, True, "/console/sign-in")


@pytest.mark.promise("console.forms")
async def test_a_form_without_this_browsers_token_does_nothing(play: Stage, reader: Readers) -> None:
    path = await _asked(play)
    dana, eve = reader(play.url), reader(play.url)
    await dana.sign_in(name="dana")
    await eve.sign_in(name="eve")
    foreign = await _tokens_of(eve, path)
    tried = [
        await dana.http.post(path, data={"decision": "approve", "form": token}) for token in ("", "0" * 64, foreign)
    ]
    tried.append(await dana.http.post(path, json={"decision": "approve"}))
    await dana.go("/console/approvals")
    assert [reply.status_code for reply in tried] == [403, 403, 403, 415]
    assert all("Nothing was done" in reply.text for reply in tried)
    assert ("gate t1" in dana.page, len(play.worker.works)) == (True, 1)


async def _tokens_of(who: Reader, path: str) -> str:
    await who.go(path)
    found = re.search(r'name="form" value="([0-9a-f]+)"', who.page)
    assert found is not None
    return found[1]


@pytest.mark.promise("console.without_scripts", "console.second_answer")
async def test_a_second_answer_is_refused_in_words(play: Stage, reader: Readers) -> None:
    """Both had the page open; the second is told who was first, and what was typed is not lost."""
    path = await _asked(play)
    dana, eve = reader(play.url), reader(play.url)
    for who, name in ((dana, "dana"), (eve, "eve")):
        await who.sign_in(name=name)
        await who.go(path)
    first = await dana.send(path, decision="approve", comment="fine")
    second = await eve.send(path, decision="reject", comment="too much")
    assert (first.status_code, "The task is completed." in first.text) == (200, True)
    assert (second.status_code, "does not count: it is approved by dana." in second.text) == (409, True)
    assert [work.turn.text for work in play.worker.works] == ["gate t1", "approve"]


@pytest.mark.promise("console.walls")
async def test_who_asked_is_told_that_somebody_else_must_answer(locked: Locked, reader: Readers) -> None:
    """And another client of the tenant is told nothing."""
    params = {"id": "t1", "message": {"parts": [{"text": "gate t1"}]}}
    await locked.post("/", rpc_body("tasks/send", params))
    olga, ben = reader(locked.play.url), reader(locked.play.url)
    await olga.sign_in(key=locked.operator)
    await ben.sign_in(key=await locked.key("ben", roles=["client"]))
    await olga.go("/console/approvals")
    path = re.search(r'href="(/console/approvals/[^"#]+)"', olga.page)
    assert path is not None
    own, foreign = await olga.go(path[1]), await ben.go(path[1])
    assert (own.status_code, "gate t1" in own.text, "asked for this and cannot approve it" in own.text) == (
        200,
        True,
        True,
    )
    assert (foreign.status_code, "gate t1" in foreign.text) == (404, False)


async def test_where_no_keys_are_checked_it_goes_on_by_name(play: Stage, reader: Readers) -> None:
    path = await _asked(play)
    nobody = reader(play.url)
    refused = await nobody.sign_in(name=" ")
    await nobody.sign_in(name="dana")
    shown = await nobody.go(path)
    assert (refused.status_code, "No keys are checked here" in refused.text) == (400, True)
    assert "You act as <b>dana</b>" in shown.text


async def test_what_is_not_there_is_said_in_a_sentence(dana: Reader) -> None:
    replies = [await dana.go(f"/console/{path}") for path in ("approvals/none", "tasks/none", "nowhere")]
    assert [(reply.status_code, "There is no such" in reply.text) for reply in replies] == [(404, True)] * 3


@pytest.mark.promise("console.nothing_foreign")
async def test_every_answer_carries_the_policy_and_is_not_kept(play: Stage, dana: Reader) -> None:
    """What a task says is text, whatever it looks like."""
    evil = "<script src=//evil.example></script><img src=x onerror=alert(1)>"
    await play.send("t1", evil)
    replies = [await dana.go(path) for path in ("/console/sign-in", "/console/", "/console/tasks", "/console/tasks/t1")]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["cache-control"] == "no-store"
        assert "<script src=//evil" not in reply.text
        assert not re.search(r"<style|<[^<>]*\s(?:style=|on\w+=|(?:src|href)=.(?:https?:)?//)", reply.text)


@pytest.mark.promise("console.nothing_foreign")
async def test_files_are_small_compressed_and_kept_for_good(redis_url: str) -> None:
    async with gateway(redis_url, **OPEN) as url, open_http(base_url=url) as http:
        found = {name: await http.get(path) for name, path in build_asset_urls().items()}
        css = found["console.css"]
        again = await http.get(str(css.url), headers={"If-None-Match": css.headers["etag"]})
        other = await http.get("/console/static/older/console.css")
        plain = await http.get(str(css.url), headers={"Accept-Encoding": "identity"})
        missing = await http.get("/console/static/x/../../../app.py")
    assert all("immutable" in reply.headers["cache-control"] for reply in found.values())
    assert (css.headers["content-encoding"], again.status_code, again.content) == ("gzip", 304, b"")
    assert (other.headers["cache-control"], plain.text == css.text, missing.status_code) == ("no-cache", True, 404)
    assert (
        sum(reply.num_bytes_downloaded for reply in found.values()) < 16_000
    )  # bytes that a first visit takes beside the page


@pytest.mark.promise("console.timeline")
async def test_one_tasks_page_tells_states_figures_and_answer(play: Stage, dana: Reader) -> None:
    await play.send("t1", "pay <b>it</b>")
    found = await dana.go("/console/tasks?q=t1")
    missed = await dana.go("/console/tasks?q=t2")
    assert (found.url.path, "done: pay &lt;b&gt;it&lt;/b&gt;" in found.text) == ("/console/tasks/t1", True)
    assert all(word in found.text for word in ("Understand", "Message received", "Completed"))
    assert (missed.status_code, "There is no task <b>t2</b>" in missed.text) == (404, True)


async def test_a_waiting_task_is_canceled_from_its_page(play: Stage, dana: Reader) -> None:
    await _asked(play)
    await dana.go("/console/tasks/t1")
    done = await dana.send("/console/tasks/t1/cancel")
    late = await dana.send("/console/tasks/t1/cancel")
    state = loads_object((await play.client.get("/tasks/t1")).text)["state"]
    assert (done.status_code, "canceled before any write" in done.text, state) == (200, True, "canceled")
    assert (late.status_code, "It had ended before" in late.text) == (409, True)


@pytest.mark.promise("console.doubts")
async def test_an_operator_settles_a_write_in_doubt_on_its_page(play: Stage, reader: Readers) -> None:
    """Once: a second word is told that there is nothing left to say."""
    await play.send("t1", "doubt it")
    olga = reader(play.url)
    await olga.sign_in(name="olga")
    asked = await olga.go("/console/tasks/t1")
    unsaid = await olga.send("/console/tasks/t1/resolve", call="c1", resolution="perhaps")
    said = await olga.send("/console/tasks/t1/resolve", call="c1", resolution="done", comment="seen in the ledger")
    late = await olga.send("/console/tasks/t1/resolve", call="c1", resolution="retry")
    assert ("What became of it?" in asked.text, unsaid.status_code, said.status_code) == (True, 409, 200)
    assert "olga says done" in said.text
    assert (late.status_code, "Nothing was changed." in late.text) == (409, True)
    assert [work.turn.text for work in play.worker.works] == ["doubt it", "done"]


async def test_tasks_are_paged_whatever_their_ids_are(play: Stage, dana: Reader) -> None:
    odd = "a/b c?d#e&<f>%2F"
    await play.send(odd, "the odd one")
    for number in range(26):
        await play.send(f"t{number}", f"number {number}.")
    first = await dana.go("/console/tasks")
    older = re.search(r'href="([^"]+)" rel="next"', first.text)
    assert older is not None
    second = await dana.go(older[1].replace("&amp;", "&"))
    link = re.search(r'href="([^"]+)">the odd one', second.text)
    assert link is not None
    one = await dana.go(link[1])
    assert ("27 tasks" in first.text, "the odd one" in first.text, "number 25." in second.text) == (True, False, False)
    assert (one.status_code, "done: the odd one" in one.text) == (200, True)


@pytest.mark.promise("console.sign_in")
async def test_an_issuers_token_signs_in_as_long_as_it_is_good(redis: Redis, redis_url: str, reader: Readers) -> None:
    async with trusting(redis, redis_url) as (play, issuer):
        now = int(time.time())
        casey, late = reader(play.url), reader(play.url)
        good = await casey.sign_in(key=issuer.token("rsa", sub="casey", tenant="acme"))
        expired = await late.sign_in(key=issuer.token("rsa", sub="casey", tenant="acme", exp=now - 3600))
    assert (good.status_code, "casey" in good.text, expired.status_code) == (200, True, 401)


async def test_while_the_store_is_away_a_page_says_so_and_returns(own_server: EmbeddedRedis, reader: Readers) -> None:
    """Nobody is signed out, and the files are served on."""
    async with gateway(own_server.url, **OPEN) as url:
        dana = reader(url)
        await dana.sign_in(name="dana")
        own_server.stop()
        away = await dana.go("/console/approvals")
        files = await dana.go(build_asset_urls()["console.css"])
    assert (away.status_code, away.headers["retry-after"], "Nothing is lost" in away.text) == (503, "2", True)
    assert (away.url.path, files.status_code) == ("/console/approvals", 200)


async def test_what_nobody_foresaw_is_said_without_its_inside() -> None:
    async def breaks(_: Request) -> Response:
        raise RuntimeError("secret inside")

    pages = PageRenderer("", lambda: datetime.now(UTC))
    app = Starlette(routes=[Route("/console/", breaks)], exception_handlers=build_exception_handlers(pages))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        reply = await http.get("/console/")
    assert (reply.status_code, "Something broke" in reply.text, "secret inside" in reply.text) == (500, True, False)


@pytest.mark.promise("a2a.files")
async def test_files_of_a_task_are_saved_by_who_may_see_it(
    redis: Redis, redis_url: str, reader: Readers, tmp_path: Path
) -> None:
    kept = {"archive_url": f"file://{tmp_path}", "archive_key": generate_encryption_key()}
    part = {"raw": "PHNjcmlwdD4=", "filename": "<i>note</i>.html", "mediaType": "text/html"}
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}, part]}
    async with stage(redis, redis_url, **OPEN, **kept) as play:
        answer = await play.client.post("/message:send", json={"message": said}, headers={"A2A-Version": "1.0"})
        path = f"/console/tasks/{answer.json()['task']['id']}"
        visitor = reader(play.url)
        await visitor.sign_in(name="olga")
        await visitor.go(path)
        link = re.search(rf'href="({path}/files/[0-9a-f]{{64}})"', visitor.page)
        assert link is not None
        assert "&lt;i&gt;note&lt;/i&gt;.html" in visitor.page
        file = await visitor.http.get(link[1])
        assert (file.content, file.headers["content-type"]) == (b"<script>", "application/octet-stream")
        assert (await reader(play.url).http.get(link[1])).status_code == 303
