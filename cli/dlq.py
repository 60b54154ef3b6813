"""`purple dlq`: list, show, requeue and drop dead letters: failed turns, and outcomes the learner could not process."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table

from cli.console import CommandError, build_text_table, err, format_local_time, format_plain_text, out, print_answer
from cli.gateway.client import AsJson, Gateway, SpeakerName, ask_as_operator, print_rows
from shared.domain.exact_json import JsonObject, objects_in

_MOST_LISTED = 1000
LetterId = Annotated[str, typer.Argument(help="The letter's id: `purple dlq list` shows them.")]

dlq = typer.Typer(
    no_args_is_help=True, help="Dead letters: turns given up, and outcomes that nothing was learned from."
)


@dlq.command("list")
def list_dead_letters(
    limit: Annotated[int, typer.Option(help="How many, the newest first.", min=1, max=1000)] = 100,
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """List the dead letters, the newest first. All dlq commands require the role operator.

    Example:

      purple dlq list
    """
    answer = ask_as_operator(url, speaker, "dlq", "list", body={"limit": limit})
    print_rows(answer, "letters", _build_letter_table, "No dead letters.", as_json=as_json)


@dlq.command("show")
def show_letter(letter_id: LetterId, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Show one letter with its content: the turn and its request, or the outcome.

    Example:

      purple dlq show turn-12-1790000000000-0
    """
    print_answer(ask_as_operator(url, speaker, "dlq", letter_id, "show"), _print_result, as_json=as_json)


@dlq.command("requeue")
def requeue_letters(
    letter_id: LetterId = "",
    outcomes: Annotated[bool, typer.Option("--outcomes", help="All outcomes, once what broke them is mended.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also if its task made writes: they are made again.")] = False,
    speaker: SpeakerName = "",
    url: Gateway = "",
    as_json: AsJson = False,
) -> None:
    """Requeue a letter: a turn's task starts again under a new id; an outcome goes back to the learner.

    Requeueing an outcome twice does not count it twice. An outcome that cannot be read stays in the queue.

    Example:

      purple dlq requeue turn-12-1790000000000-0
      purple dlq requeue --outcomes
    """
    if bool(letter_id) == outcomes:
        raise CommandError("Name one letter, or say --outcomes for all outcomes.")
    if outcomes:
        answer = _requeue_outcomes(url, speaker)
    else:
        answer = ask_as_operator(url, speaker, "dlq", letter_id, "requeue", body={"again": again})
    print_answer(answer, _print_result, as_json=as_json)


@dlq.command("drop")
def delete_letter(letter_id: LetterId, speaker: SpeakerName = "", url: Gateway = "", as_json: AsJson = False) -> None:
    """Delete a letter permanently.

    Example:

      purple dlq drop outcome-3-1790000000000-0
    """
    print_answer(ask_as_operator(url, speaker, "dlq", letter_id, "drop"), _print_result, as_json=as_json)


def _requeue_outcomes(url: str, speaker: str) -> JsonObject:
    """Requeue the outcomes among the newest letters, at most one list of them: repeat the call for the rest."""
    letters = objects_in(ask_as_operator(url, speaker, "dlq", "list", body={"limit": _MOST_LISTED}).get("letters"))
    outcomes = [letter for letter in letters if letter.get("kind") == "outcome"]
    readable_ids = [str(letter["id"]) for letter in outcomes if letter.get("task_id")]
    for letter_id in reversed(readable_ids):  # the oldest first, as they came
        ask_as_operator(url, speaker, "dlq", letter_id, "requeue")
    return {"requeued_outcomes": len(readable_ids), "unreadable": len(outcomes) - len(readable_ids)}


def _build_letter_table(letters: list[JsonObject]) -> Table:
    def list_cells(letter: JsonObject) -> Sequence[object]:
        reason = " ".join(str(letter.get(key)) for key in ("reason", "error") if letter.get(key))
        return letter.get("id"), format_local_time(letter.get("at")), letter.get("task_id"), letter.get("tries"), reason

    return build_text_table(("letter", "since", "task", "tries", "why"), map(list_cells, letters))


def _print_result(answer: JsonObject) -> None:
    table = Table("what", "value", show_header=False)
    for key, value in answer.items():
        table.add_row(key.replace("_", " "), format_plain_text(value))
    out.print(table)
    if answer.get("requeued") and answer.get("task_id"):
        err.print(f"Follow it: purple task show {answer['task_id']}", style="dim", soft_wrap=True)
