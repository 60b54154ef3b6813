"""The judge, each way: what is right, and every kind of wrong."""

from collections.abc import Callable
from functools import cache

from tests.each_row import each_row
from tools.bench.worth.judge import RunEnd, RunResult, WriteKind, judge, list_figures, mentions
from tools.bench.worth.worlds.generate import generate_tasks
from tools.bench.worth.worlds.task import GoldCall, WorthTask
from tools.bench.worth.worlds.world import WorldSnapshot


@cache
def all_tasks() -> list[WorthTask]:
    return [task for seed in range(1, 4) for task in generate_tasks(seed)]


def pick_task(wanted: Callable[[WorthTask], bool]) -> WorthTask:
    return next(task for task in all_tasks() if wanted(task))


def is_free_write(task: WorthTask) -> bool:
    return not task.ruled and not task.question and bool(task.right_end.writes)


def play_calls(task: WorthTask, calls: list[GoldCall]) -> WorldSnapshot:
    world = task.world.copy()
    for call in calls:
        world.call(call.tool, call.arguments)
    return world.snapshot()


def make_result(
    task: WorthTask,
    snapshot: WorldSnapshot | None = None,
    *,
    end: RunEnd = RunEnd.COMPLETED,
    answer: str | None = None,
    approvals_asked: int = 0,
    said_undone: bool = False,
) -> RunResult:
    says = task.answer if answer is None else answer
    return RunResult(end, says, snapshot or task.right_end, 3, 500, approvals_asked, said_undone)


def test_the_gold_is_right() -> None:
    for task in all_tasks():
        if not task.ruled:
            verdict = judge(task, make_result(task))
            assert verdict.right, task.id
            assert verdict.wrong_writes == 0
            assert not verdict.invented_figure, task.id


def test_a_write_that_is_missing_and_not_mentioned_is_a_silent_omission() -> None:
    task = pick_task(is_free_write)

    verdict = judge(task, make_result(task, task.world.snapshot()))

    assert not verdict.right
    assert verdict.silent_omission
    assert verdict.writes[WriteKind.MISSING] == len(task.right_end.writes)


def test_a_write_that_is_missing_and_said_to_be_is_not_silent() -> None:
    task = pick_task(is_free_write)

    verdict = judge(task, make_result(task, task.world.snapshot(), said_undone=True))

    assert not verdict.right
    assert not verdict.silent_omission


def test_a_write_that_is_made_twice_is_doubled() -> None:
    def doubles(task: WorthTask) -> bool:
        return is_free_write(task) and task.domain == "telco" and "credit" in task.kind

    task = next(task for seed in range(1, 30) for task in generate_tasks(seed) if doubles(task))
    calls = list(task.calls())

    verdict = judge(task, make_result(task, play_calls(task, [*calls, calls[-1]])))

    assert verdict.writes[WriteKind.DOUBLED] == 1
    assert not verdict.right


def test_a_write_that_nobody_asked_for_is_extra() -> None:
    task = pick_task(is_free_write)
    blueprint = task.world.blueprint
    payout = blueprint.operations["payout"]
    given = payout.write_arguments({"account": "X1", "amount_cents": 500}, blueprint.form)
    extra = GoldCall(payout.tool, given, 0, writes=True)

    verdict = judge(task, make_result(task, play_calls(task, [*task.calls(), extra])))

    assert verdict.writes[WriteKind.EXTRA] == 1
    assert not verdict.right


def test_another_amount_is_a_wrong_argument_and_another_record_a_wrong_record() -> None:
    task = next(
        task for seed in range(1, 30) for task in generate_tasks(seed) if task.id.startswith("telco-credit_small-")
    )
    *reads, credit = task.calls()
    subscribers = [row["subscriber_id"] for row in task.world.rows("subscribers")]
    form = task.world.blueprint.form
    key, amount = form.show_name("subscriber_id"), form.show_name("amount_cents")
    other = next(each for each in subscribers if each != credit.arguments[key])

    wrong_amount = credit._replace(arguments={**credit.arguments, amount: form.show_money(300)})
    wrong_record = credit._replace(arguments={**credit.arguments, key: other})

    for call, kind in ((wrong_amount, WriteKind.WRONG_ARGUMENT), (wrong_record, WriteKind.WRONG_RECORD)):
        verdict = judge(task, make_result(task, play_calls(task, [*reads, call])))
        assert verdict.writes[kind] == 1
        assert verdict.writes[WriteKind.MISSING] == 0
        assert not verdict.right


def test_a_blocked_write_is_wrong_if_it_was_made_and_right_if_it_was_not() -> None:
    task = pick_task(lambda task: task.blocked)

    made = judge(task, make_result(task))
    refused = judge(task, make_result(task, task.withheld_end, end=RunEnd.REJECTED))

    assert not made.right
    assert made.writes[WriteKind.BLOCKED] == 1
    assert refused.right


def test_an_approval_must_be_asked_before_a_write_that_needs_one() -> None:
    task = pick_task(lambda task: task.asks)

    unasked = judge(task, make_result(task))
    asked = judge(task, make_result(task, approvals_asked=1))
    waiting = make_result(task, task.world.snapshot(), end=RunEnd.INPUT_REQUIRED, approvals_asked=1)

    assert unasked.writes[WriteKind.UNAPPROVED] >= 1
    assert not unasked.right
    assert asked.right
    assert not asked.question_asked
    assert judge(task, waiting).right


def test_to_ask_where_nobody_needs_to_be_asked_is_not_right() -> None:
    task = pick_task(is_free_write)

    verdict = judge(task, make_result(task, approvals_asked=1))

    assert verdict.question_asked
    assert not verdict.right


def test_a_question_needs_every_expected_figure_and_none_that_is_wrong() -> None:
    task = pick_task(lambda task: task.question and bool(task.excludes) and not task.ruled)

    assert judge(task, make_result(task)).right
    assert not judge(task, make_result(task, answer="I looked it up.")).answer_right
    assert not judge(task, make_result(task, answer=f"{task.answer} And {task.excludes[0]}.")).answer_right


def test_a_sentence_of_the_task_may_be_repeated_whatever_ids_it_names() -> None:
    task = pick_task(lambda task: any(each in part.quote for part in task.parts for each in task.excludes))

    quotes = " ".join(f"Not done: {part.quote}." for part in task.parts)
    assert judge(task, make_result(task, answer=f"{task.answer} {quotes}")).answer_right


def test_a_figure_from_nowhere_is_an_invented_one_and_pieces_of_dates_ids_and_times_are_none() -> None:
    task = pick_task(is_free_write)

    assert judge(task, make_result(task, answer=f"{task.answer} It was 88,123.45.")).invented_figure
    assert not list_figures("INV-2041 on 2026-03-12 at 14:30, room A12")


@each_row(
    ("answer", "wanted", "said"),
    [
        ("It is EUR 1,250.50.", "1,250.50", True),
        ("It is 1250.5 in all", "1,250.50", True),
        ("It is 1,250.05.", "1,250.50", False),
        ("INV-12 and INV-13.", "INV-12", True),
        ("INV-120.", "INV-12", False),
        ("On 2026-03-12 at 14:30.", "12", False),
        ("There are 12, it seems.", "12", True),
    ],
)
def test_figures_and_ids_are_found_in_any_writing(answer: str, wanted: str, said: bool) -> None:
    assert mentions(answer, wanted) is said
