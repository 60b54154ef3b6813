"""Whole tasks over HTTP: generated tool worlds, and the example company's own tools."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import ValidationError

from examples.company.books import CompanyBooks, ToolRefused
from examples.company.catalogue import TOOLS
from shared.domain.exact_json import Json, JsonObject, dumps, loads, wire
from shared.infra.anthropic_model import AnthropicModel
from shared.ports.models import ToolDefinition
from tests.company_stage import open_books
from tests.doubles.generated_tools import World
from tests.integration.planner_conversation import Offered, Run, run
from tests.integration.planner_server import model_at, planner_server

_SEEDS = 100
_AT_LEAST = 0.8


@pytest.mark.promise("planner.generalises")
async def test_a_read_a_computation_and_a_write_on_generated_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """Nouns, names, field styles and result shapes come from a seed; the final state is checked, and one write."""
    failed: Counter[str] = Counter()
    async with planner_server() as url, model_at(url) as model:
        for seed in range(_SEEDS):
            failed.update(await _problems(model, World(seed)))
    rate = 1 - failed.total() / _SEEDS
    with capsys.disabled():
        print(f"\nplanner completion over {_SEEDS} generated worlds: {rate:.0%} {dict(failed) or ''}")  # noqa: T201
    assert rate >= _AT_LEAST


async def _problems(model: AnthropicModel, world: World) -> list[str]:
    done = await run(model, world.task.text, Offered(world.readers, world.writers, world.call))
    return [world.task.kind] if world.problems(done.answer) else []


@pytest.fixture
def books(tmp_path: Path) -> Iterator[CompanyBooks]:
    company = open_books(tmp_path, datetime(2026, 3, 30, tzinfo=UTC))
    yield company
    company.close()


def _company(books: CompanyBooks) -> Offered:
    def call(name: str, arguments: JsonObject) -> Json:
        plain = wire(arguments)
        if name not in TOOLS or not isinstance(plain, dict):
            raise ValueError(f"no tool {name}")
        try:
            return loads(dumps(TOOLS[name].call(books, plain)))
        except (ToolRefused, ValidationError) as error:
            raise ValueError(str(error)) from error

    tools = [
        (tool.hints.read_only, ToolDefinition(name, tool.description, tool.input_schema()))
        for name, tool in TOOLS.items()
    ]
    return Offered([tool for reads, tool in tools if reads], [tool for reads, tool in tools if not reads], call)


async def _done(task: str, books: CompanyBooks) -> Run:
    async with planner_server() as url, model_at(url) as model:
        return await run(model, task, _company(books))


@pytest.mark.parametrize(
    ("task", "tool", "arguments"),
    [
        (
            "Process the expense claim for EMP-447, $2,340 for team offsite. "
            "Approve it if it is within the remaining budget of the department.",
            "approve_expense",
            {"expense_id": "EXP-1001"},
        ),
        ("Approve expense EXP-1007.", "approve_expense", {"expense_id": "EXP-1007"}),
        (
            "Reject expense EXP-1009 because the receipt is missing.",
            "reject_expense",
            {"expense_id": "EXP-1009", "reason": "the receipt is missing"},
        ),
        (
            "Refund 25.00 for order ORD-2001, the mug arrived broken.",
            "create_refund",
            {"order_id": "ORD-2001", "amount": 25, "reason": "the mug arrived broken"},
        ),
        (
            "Approve EXP-1004 only if it is under $500, otherwise reject it because it is too expensive.",
            "reject_expense",
            {"expense_id": "EXP-1004", "reason": "it is too expensive"},
        ),
        (
            "Change the phone of Mei Lin to +1 555 9999.",
            "update_employee_phone",
            {"employee_id": "EMP-305", "phone": "+1 555 9999"},
        ),
        (
            "Update the phone number of employee EMP-352 to +1 555 8888.",
            "update_employee_phone",
            {"employee_id": "EMP-352", "phone": "+1 555 8888"},
        ),
        (
            "Refund 10% of the total of order ORD-2001, the delivery was late.",
            "create_refund",
            {"order_id": "ORD-2001", "amount": Decimal("189.90"), "reason": "the delivery was late"},
        ),
        (
            "Reserve $500.00 of the Marketing budget for the summer campaign.",
            "reserve_budget",
            {"department": "Marketing", "amount": 500, "purpose": "summer campaign"},
        ),
    ],
)
async def test_a_business_task_is_one_exact_write(
    books: CompanyBooks, task: str, tool: str, arguments: JsonObject
) -> None:
    """The right tool with the right arguments, once."""
    assert (await _done(task, books)).writes == [(tool, arguments, False)]


@pytest.mark.parametrize(
    "task",
    [
        "Approve expense EXP-1004 if it is within the remaining budget of the department.",
        "Do not approve expense EXP-1002.",
        "Approve expense EXP-9999.",
        "Approve expense EXP-1011.",
        "Frobnicate expense EXP-1002.",
    ],
)
async def test_what_must_not_or_cannot_be_done_writes_nothing(books: CompanyBooks, task: str) -> None:
    """Over budget, forbidden, unknown, decided already, or nothing any tool does."""
    done = await _done(task, books)
    assert done.writes == []
    assert done.answer


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("Which expenses of EMP-447 are still pending? Answer with a JSON list of expense ids.", '["EXP-1001"]'),
        (
            "Which orders are over $400? Answer with a JSON list of order ids.",
            '["ORD-2001","ORD-2002","ORD-2004","ORD-2008","ORD-2010"]',
        ),
        (
            "List the ids of all pending expenses above 5000 as a JSON list, highest amount first.",
            '["EXP-1010","EXP-1007","EXP-1006"]',
        ),
        (
            "List the names of the employees of the Engineering department as a JSON list.",
            '["Hana Sato","Mei Lin","Oliver Grant"]',
        ),
    ],
)
async def test_a_list_question_is_answered_exactly(books: CompanyBooks, task: str, answer: str) -> None:
    """A bare JSON list, and nothing written."""
    done = await _done(task, books)
    assert (done.answer, done.writes) == (answer, [])


async def test_all_means_each_one_that_fits(books: CompanyBooks) -> None:
    """One call for each record that agrees with the criteria of the task, and no other."""
    done = await _done("Reject all pending claims over $5,000 because they exceed the limit.", books)
    assert [write.arguments["expense_id"] for write in done.writes] == ["EXP-1006", "EXP-1007", "EXP-1010"]


async def test_a_question_is_answered_with_its_figure(books: CompanyBooks) -> None:
    """Computed from the facts, not written down anywhere."""
    done = await _done("What is the remaining budget of the Marketing department?", books)
    assert "600.00" in done.answer
    assert done.writes == []
