"""The browser of these tests: the Chromium that the system has, with a fresh profile each time."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright, expect

expect.set_options(timeout=15_000)  # a machine may be busy; what is so at once is seen at once
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_WORDS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Skips the test where there is no browser."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("no Chromium was found on the PATH; on Debian: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=found, args=list(_WORDS))
        try:
            yield browser
        finally:
            await browser.close()
