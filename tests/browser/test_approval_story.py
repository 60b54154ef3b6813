"""The approval story as people live it, in a browser, with a whole stack behind it."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

import cli
from examples.company import ledger
from services.gateway.first_key import create_first_key
from tests.browser.chromium import chromium
from tests.browser.looks import check
from tests.browser.visitor import DESKTOP, visiting
from tests.e2e.whole_stack import WholeStack, whole_stack

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOL = "approve_expense"
CLAIM = "Approve expense claim EXP-1009."
SOON = 20_000  # milliseconds that something may take


class Office:
    """The stack, a browser, and the keys of a clerk, her manager and a stranger."""

    def __init__(self, stack: WholeStack, browser: Browser, keys: dict[str, str]) -> None:
        self.stack, self.browser, self.keys = stack, browser, keys
        self.get_url = stack.stack.get_url("gateway")

    def writes(self) -> int:
        return ledger.count(self.stack.database, TOOL)

    async def ask(self, text: str, *, wait: bool = False) -> str:
        """Send a task as the clerk; its id, with ``wait`` once it has ended or asks a person."""
        message = {"messageId": text, "role": "user", "parts": [{"kind": "text", "text": text}]}
        params = {"message": message, "configuration": {"blocking": wait}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
        headers = {"X-API-Key": self.keys["clerk"]}
        answer = (await self.stack.http.post("/", json=body, headers=headers)).json()
        return str(answer["result"]["id"])

    async def decisions_take(self, hours: float) -> None:
        """How long anybody has for an answer from now on."""
        file = Path(cli.__file__).parent / "defaults" / "company_tenant.json"
        record = {**json.loads(file.read_text()), "version": "1", "approval_hours": hours}
        headers = {"X-API-Key": self.keys["operator"]}
        path = "/tenants/default/record"
        before = await self.stack.http.get(path, headers=headers)
        base = before.headers.get("etag") or '"0"'
        reply = await self.stack.http.put(path, json={"record": record}, headers={**headers, "If-Match": base})
        reply.raise_for_status()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office() -> AsyncIterator[Office]:
    async with chromium() as browser, whole_stack(AUTHENTICATION="keys") as stack:
        operator = await create_first_key(stack.stack.redis_url, "default", "olga", allows_another=False)
        stranger = await create_first_key(stack.stack.redis_url, "globex", "gina", allows_another=False)
        keys = {"operator": operator.token, "stranger": stranger.token}
        for name, roles, levels in (("clerk", ["client"], []), ("dana", ["approver"], ["manager"])):
            wish = {"key": {"principal": name, "roles": roles, "levels": levels}}
            keys[name] = await _made(stack.http, wish, operator.token)
        yield Office(stack, browser, keys)


async def _made(http: httpx.AsyncClient, wish: object, operator: str) -> str:
    reply = await http.post("/keys/create", json=wish, headers={"X-API-Key": operator})
    return str(reply.raise_for_status().json()["token"])


@pytest.mark.promise("console.approval_story")
async def test_an_approver_sees_the_calls_approves_and_the_write_happens_once(office: Office) -> None:
    """The question comes up by itself in an inbox that was open before it was asked."""
    before = office.writes()
    async with visiting(office.browser, office.get_url) as dana:
        await dana.sign_in(office.keys["dana"])
        await dana.page.get_by_role("link", name="Approvals").click()
        card = dana.page.get_by_role("link", name="Approve expense claim EXP-1001.")
        await expect(dana.page.get_by_role("heading", name="Approvals")).to_be_visible()
        await expect(card).to_have_count(0)
        task = await office.ask("Approve expense claim EXP-1001.")
        await expect(card).to_be_visible(timeout=SOON)
        await expect(dana.page).to_have_title(re.compile(r"\(\d+\) Approvals"))
        await card.click()
        argument = dana.page.get_by_role("definition").filter(has_text="from the request")
        await expect(argument).to_contain_text("EXP-1001")
        await expect(dana.page.get_by_text("Expense claims over $500 need a manager's approval.")).to_be_visible()
        assert office.writes() == before
        await dana.page.get_by_label("Comment").fill("as agreed")
        await dana.page.get_by_role("button", name="Approve").click()
        await expect(dana.page.get_by_text("The task is completed.")).to_be_visible(timeout=SOON)
        await expect(dana.page.get_by_text("as agreed")).to_be_visible()
        await dana.page.get_by_role("link", name="See what was done").click()
        await expect(dana.page.get_by_role("heading", name="Approve expense Verified")).to_be_visible()
        await expect(dana.page.get_by_text("read back").first).to_be_visible()
    assert (office.writes() - before, dana.wrongs) == (1, [])
    assert (await office.stack.record(task)).state.value == "completed"


@pytest.mark.promise("console.approval_story")
async def test_an_approval_that_nobody_answers_expires_before_the_readers_eyes(office: Office) -> None:
    before = office.writes()
    await office.decisions_take(hours=3 / 3600)
    try:
        task = await office.ask("Approve expense claim EXP-1000.", wait=True)
    finally:
        await office.decisions_take(hours=24)
    async with visiting(office.browser, office.get_url) as dana:
        await dana.sign_in(office.keys["dana"])
        await dana.go(f"/console/tasks/{task}")
        await expect(dana.page.get_by_text("nothing was written").first).to_be_visible(timeout=SOON)
        await expect(dana.page.locator("#head .chip")).to_have_text("Rejected")
    assert office.writes() == before


@pytest.mark.promise("console.first_screen", "console.learning", "console.memory")
@pytest.mark.promise("console.operations", "console.evidence")
async def test_a_manager_finds_what_happened_on_every_page_with_live_data(office: Office) -> None:
    """What a task left comes up by itself on a page that was open before it began; no policy of the page is broken."""
    async with visiting(office.browser, office.get_url) as olga:
        await olga.sign_in(office.keys["operator"])
        await olga.go("/console/learning/cases?q=EXP-1009")
        task = await office.ask(CLAIM)
        await expect(olga.page.get_by_role("link", name=CLAIM)).to_be_visible(timeout=SOON)
        await olga.page.get_by_role("link", name=CLAIM).click()
        for heading in ("Answer", "Writes", "Policy", "What was worked out", "What happened", "Model calls"):
            await expect(olga.page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        await expect(olga.page.locator("#evidence")).to_contain_text("$")
        await olga.go("/console/learning")
        await expect(olga.page.get_by_role("heading", name="Expense approval")).to_be_visible()
        await olga.go("/console/learning/entities?q=EXP-1009")
        await expect(olga.page.get_by_role("heading", name="EXP-1009")).to_be_visible()
        for path in (f"/console/tasks/{task}", "/console/", "/console/learning", "/console/operations"):
            await check(olga, path, DESKTOP[0])
        assert olga.wrongs == []
