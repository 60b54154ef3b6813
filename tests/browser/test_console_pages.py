"""The console's pages, on every screen and for everybody."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from playwright.async_api import Browser, expect
from redis.asyncio import Redis

from services.gateway.first_key import create_first_key
from tests.browser.chromium import chromium
from tests.browser.looks import check
from tests.browser.visitor import DESKTOP, PHONE, Theme, Visitor, visiting
from tests.integration.gateway_stage import Stage, stage

LOCKED = {"authentication": "keys", "profile": "production", "allow_volatile_redis": True}
OPERATORS = (
    "/console/learning",
    "/console/learning/cases",
    "/console/learning/facts?q=none",
    "/console/learning/entities",
    "/console/operations",
    "/console/operations/dead-letters",
    "/console/webhooks",
)


class Scene(NamedTuple):
    """A gateway whose worker waits for approvals, and the tokens of some people."""

    play: Stage
    browser: Browser
    keys: dict[str, str]

    async def send(self, text: str, who: str = "anna") -> str:
        params = {"id": text, "message": {"parts": [{"text": text}]}}
        body = {"jsonrpc": "2.0", "method": "tasks/send", "params": params}
        await self.play.client.post("/", json=body, headers={"X-API-Key": self.keys[who]})
        return text


@asynccontextmanager
async def scene(redis: Redis, redis_url: str) -> AsyncIterator[Scene]:
    operator = await create_first_key(redis_url, "acme", "olga", allows_another=False)
    keys = {"olga": operator.token}
    async with chromium() as browser, stage(redis, redis_url, **LOCKED) as play:
        for name, role in (("anna", "client"), ("ben", "client"), ("dana", "approver")):
            wish = {"key": {"principal": name, "roles": [role], "levels": ["manager"] if role == "approver" else []}}
            made = await play.client.post("/keys/create", json=wish, headers={"X-API-Key": operator.token})
            keys[name] = made.json()["token"]
        yield Scene(play, browser, keys)


@pytest.fixture
async def shown(redis: Redis, redis_url: str) -> AsyncIterator[Scene]:
    async with scene(redis, redis_url) as found:
        yield found


async def _pages(visitor: Visitor) -> list[str]:
    """Every page that a reader of the scene's tasks can reach."""
    await visitor.go("/console/approvals")
    approval = await visitor.page.locator("a.stretch").first.get_attribute("href")
    tasks = ("/console/tasks", "/console/tasks/done", "/console/none")
    return ["/console/", "/console/approvals", str(approval), *tasks, *OPERATORS]


async def _walk(scene: Scene, size: tuple[int, int], theme: Theme) -> None:
    await scene.send("gate the payment of invoice I-1, which is over the limit and has " + "a very long name " * 6)
    await scene.send("done")
    async with visiting(scene.browser, scene.play.url, size, theme) as olga:
        await olga.go("/console/sign-in")
        assert await olga.page.evaluate("document.documentElement.scrollWidth") <= size[0]
        await olga.sign_in(scene.keys["olga"])
        for path in await _pages(olga):
            await check(olga, path, size[0])
        lost = [wrong for wrong in olga.wrongs if "404" not in wrong]  # the page that there is not
    assert lost == []


@pytest.mark.promise("console.everybody", "console.nothing_foreign")
async def test_every_page_fits_a_phone_in_the_dark_and_breaks_no_policy(shown: Scene) -> None:
    await _walk(shown, PHONE, "dark")


@pytest.mark.long
@pytest.mark.parametrize(
    ("size", "theme"), [(PHONE, "light"), (DESKTOP, "light"), (DESKTOP, "dark"), ((320, 640), "light")]
)
async def test_every_page_fits_every_screen(shown: Scene, size: tuple[int, int], theme: Theme) -> None:
    await _walk(shown, size, theme)


@pytest.mark.long
@pytest.mark.promise("console.everybody")
async def test_with_the_keyboard_alone_one_signs_in_and_answers(shown: Scene) -> None:
    """Signing in, skipping to the content, opening the question and answering: no pointer is used."""
    await shown.send("gate one")
    async with visiting(shown.browser, shown.play.url) as dana:
        await dana.go("/console/approvals")
        await dana.page.keyboard.type(shown.keys["dana"])  # the field has the focus
        await dana.page.keyboard.press("Enter")
        await expect(dana.page.get_by_role("heading", name="For you")).to_be_visible()
        await dana.page.keyboard.press("Tab")
        await expect(dana.page.get_by_text("Skip to content")).to_be_focused()
        await dana.page.keyboard.press("Enter")
        await dana.page.keyboard.press("Tab")
        await expect(dana.page.get_by_role("link", name="gate one")).to_be_focused()
        assert await dana.page.evaluate("getComputedStyle(document.querySelector('.ask')).outlineStyle") == "solid"
        await dana.page.keyboard.press("Enter")
        await expect(dana.page.get_by_role("heading", name="gate one")).to_be_visible()
        await dana.page.get_by_label("Comment").focus()
        await dana.page.keyboard.press("Tab")
        await expect(dana.page.get_by_role("button", name="Approve")).to_be_focused()
        await dana.page.keyboard.press("Enter")
        await expect(dana.page.get_by_text("The task is completed.")).to_be_visible()
    assert [work.turn.text for work in shown.play.worker.works] == ["gate one", "approve"]


@pytest.mark.long
@pytest.mark.promise("console.without_scripts")
async def test_without_scripts_the_inbox_is_read_and_answered(shown: Scene) -> None:
    await shown.send("gate one")
    async with visiting(shown.browser, shown.play.url, PHONE, scripts=False) as dana:
        await dana.sign_in(shown.keys["dana"])
        await dana.page.get_by_role("link", name="Approvals").click()
        await dana.page.get_by_role("link", name="gate one").click()
        await dana.page.get_by_role("button", name="Reject").click()
        await expect(dana.page.get_by_text("The task is rejected.")).to_be_visible()
    assert shown.play.worker.works[-1].turn.text == "reject"


@pytest.mark.long
@pytest.mark.promise("console.first_screen")
async def test_the_first_page_looks_again_by_itself_where_nothing_happens(shown: Scene) -> None:
    """That no worker is there any more is no event: nobody would tell of it."""
    async with visiting(shown.browser, shown.play.url) as olga:
        await olga.page.clock.install()
        await olga.sign_in(shown.keys["olga"])
        async with olga.page.expect_request(lambda request: "x-part" in request.headers) as looked:
            await olga.page.clock.fast_forward("00:31")
        assert (await looked.value).url.endswith("/console/")
