"""A run of an assessment, watched turn by turn."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect
from redis.asyncio import Redis

from tests.browser.looks import check
from tests.browser.test_console_pages import Scene, scene
from tests.browser.visitor import DESKTOP, PHONE, Theme, visiting
from tests.kept_assessments import a_run, an_assessment

PLACE = "/console/learning/assessments"


@pytest.fixture
async def shown(redis: Redis, redis_url: str) -> AsyncIterator[Scene]:
    async with scene(redis, redis_url) as found:
        yield found


async def _kept(shown: Scene, **fields: object) -> str:
    """The id of one that olga has had kept."""
    body = {"assessment": an_assessment(**fields).model_dump(mode="json")}  # type: ignore[arg-type]  # a test's own
    made = await shown.play.client.post("/assessments", json=body, headers={"X-API-Key": shown.keys["olga"]})
    return str(made.json()["assessment_id"])


async def _walk(shown: Scene, size: tuple[int, int], theme: Theme) -> None:
    first = await _kept(shown, runs=[a_run(40), a_run(30)])
    pages = ("", f"/{first}", f"/{first}/runs/1?turn=1", f"/{first}/runs/1?turn=2")
    async with visiting(shown.browser, shown.play.url, size, theme) as olga:
        await olga.sign_in(shown.keys["olga"])
        for path in pages:
            await check(olga, f"{PLACE}{path}", size[0])
        assert olga.wrongs == []


@pytest.mark.promise("console.replay", "console.everybody")
async def test_a_run_is_stepped_through_by_keyboard_on_one_page(shown: Scene) -> None:
    """Arrows lead from turn to turn, no further than there are; nothing is loaded anew, and no policy is broken."""
    kept = await _kept(shown)
    async with visiting(shown.browser, shown.play.url) as olga:
        await olga.sign_in(shown.keys["olga"])
        await check(olga, f"{PLACE}/{kept}/runs/1", DESKTOP[0])
        title = olga.page.locator("#turn-title")
        await expect(title).to_have_text("Start")
        await olga.page.evaluate("window.stays = 1")
        for key, turn in (
            ("ArrowRight", "Turn 1"),
            ("ArrowRight", "Turn 2"),
            ("ArrowRight", "Turn 2"),
            ("ArrowLeft", "Turn 1"),
        ):
            await olga.page.keyboard.press(key)
            await expect(title).to_have_text(turn)
        await expect(olga.page.get_by_role("heading", name="Changed by the agent")).to_be_visible()
        await expect(olga.page.locator("#line [aria-current]")).to_contain_text("Turn 1")
        assert await olga.page.evaluate("window.stays") == 1
        assert olga.page.url.endswith("?turn=1")
        assert olga.wrongs == []


@pytest.mark.long
@pytest.mark.promise("console.everybody")
@pytest.mark.parametrize(
    ("size", "theme"), [(PHONE, "dark"), (PHONE, "light"), (DESKTOP, "dark"), ((320, 640), "light")]
)
async def test_every_page_of_assessments_fits_every_screen(shown: Scene, size: tuple[int, int], theme: Theme) -> None:
    await _walk(shown, size, theme)


@pytest.mark.long
@pytest.mark.promise("console.without_scripts")
async def test_without_scripts_a_run_is_stepped_through(shown: Scene) -> None:
    kept = await _kept(shown)
    async with visiting(shown.browser, shown.play.url, PHONE, scripts=False) as olga:
        await olga.sign_in(shown.keys["olga"])
        await olga.go(f"{PLACE}/{kept}")
        await olga.page.get_by_role("link", name="Watch run 1").click()
        await olga.page.get_by_role("link", name="Next").click()
        await expect(olga.page.locator("#turn-title")).to_have_text("Turn 1")
        await olga.page.get_by_text("What was said").click()
        await expect(olga.page.get_by_text("ben@corp.example")).to_be_visible()
