"""Somebody at the console, in a browser window of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal, NamedTuple

from playwright.async_api import Browser, Page, expect

PHONE, DESKTOP = (390, 844), (1280, 900)
Theme = Literal["light", "dark"]


class Visitor(NamedTuple):
    """``wrongs`` lists what the browser complained of: refused by the content policy, broken scripts, lost files."""

    page: Page
    url: str
    wrongs: list[str]

    async def go(self, path: str) -> None:
        await self.page.goto(f"{self.url}{path}")

    async def sign_in(self, key: str) -> None:
        await self.go("/console/")
        await self.page.get_by_label("API key or token").fill(key)
        await self.page.get_by_role("button", name="Sign in").click()
        await expect(self.page.get_by_role("heading", name="Overview")).to_be_visible()


@asynccontextmanager
async def visiting(
    browser: Browser, url: str, size: tuple[int, int] = DESKTOP, theme: Theme = "light", *, scripts: bool = True
) -> AsyncIterator[Visitor]:
    width, height = size
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, java_script_enabled=scripts
    )
    try:
        page = await context.new_page()
        wrongs: list[str] = []
        page.on("console", lambda said: wrongs.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrongs.append(str(error)))
        yield Visitor(page, url.rstrip("/"), wrongs)
    finally:
        await context.close()
