"""`purple policy`: check a policy before it is used, and replay archived plans against it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from cli.child_json import run_module_for_json
from cli.console import CommandError, build_text_table, err, out, print_answer
from cli.gateway.client import AsJson
from cli.gateway.messages import get_list_or_empty
from cli.replay import Folder, build_archive_environ
from shared.domain.exact_json import Json, JsonObject, as_object, dumps, objects_in

_TIMEOUT_SECONDS = 120.0
_EXIT_INVALID = 1
_EXIT_FAILED = 2
_EXIT_UNDECIDED = 3
_NAMED_IN_VAIN = {
    "unlisted_tools": "no tool of this name is listed",
    "tools_never_called": "tools that the facts never call",
    "fields_never_given": "fields never given",
}
_File = Annotated[Path, typer.Argument(help="A policy, a list of policies, or a tenant's record.", exists=True)]

policy = typer.Typer(no_args_is_help=True, help="Try policies before they rule: what they mean, what they would do.")


@policy.command("check")
def check_policy(
    file: _File,
    context: Annotated[
        Path | None, typer.Option(help="The facts: a JSON object of fields, or a whole request.", exists=True)
    ] = None,
    task: Annotated[str | None, typer.Option(help="The task's text, for rules about texts.")] = None,
    endpoint: Annotated[str, typer.Option(help="A tool server: name what no tool there is called.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show how a policy's rules are parsed, their verdict on the given facts, and the reasons.

    A file with a tenant's record is checked as a whole, as it is when it is stored or an executor starts with it.

    A rule that the facts do not decide is named, and so are fields that nothing gives. Exit code 0 if every rule and
    every field of a record is valid, 1 if not, 2 if the file cannot be read, 3 if the facts of --context leave a rule
    undecided or a rule names a tool that --endpoint does not list.

    Examples:

      purple policy check policy.json

      purple policy check policy.json --context facts.json --task "Refund order ORD-1"

      purple policy check policy.json --endpoint http://tools.example/mcp
    """
    facts = ("--context", str(context)) if context else ()
    text = ("--task", task) if task else ()
    tools = ("--tools", ",".join(_list_tool_names(endpoint))) if endpoint else ()
    answer = _run_policy_command("check", str(file), *facts, *text, *tools, doing="Checking")
    print_answer(answer, _print_check, as_json=as_json)
    if not answer.get("valid"):
        raise typer.Exit(_EXIT_INVALID)
    raise typer.Exit(0 if answer.get("decided") else _EXIT_UNDECIDED)


def _list_tool_names(endpoint: str) -> list[str]:
    """The names of the tools at ``endpoint``. Raises ``CommandError``, also if it lists none."""
    command = ("services.executor", "tools", "--endpoint", endpoint, "--json")
    answer = run_module_for_json(*command, doing="Asking for tools", seconds=_TIMEOUT_SECONDS, code=_EXIT_FAILED)
    names = [str(tool.get("name")) for tool in objects_in(answer.get("tools"))]
    if not names:
        raise CommandError(f"{endpoint} lists no tools.", code=_EXIT_FAILED)
    return names


@policy.command("backtest")
def backtest_policy(
    file: _File,
    tenant: Annotated[str, typer.Option(help="Whose tasks; the embedded profile has one tenant.")] = "default",
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Decide every archived plan again, with the file's policies in place of those with the same id.

    Shows the tasks whose verdict would differ, and the rules that make the difference. Nothing is written. Exit code 2
    if a rule of the file is invalid.

    Examples:

      purple policy backtest policy.json

      ARCHIVE_URL=s3://bucket/prefix ARCHIVE_KEY=... purple policy backtest policy.json --tenant acme --json
    """
    environ, doing = build_archive_environ(folder), "Reading the archive"
    answer = _run_policy_command("backtest", str(file), "--tenant", tenant, doing=doing, environ=environ)
    print_answer(answer, _print_backtest, as_json=as_json)


def _run_policy_command(*arguments: str, doing: str, environ: Mapping[str, str] | None = None) -> JsonObject:
    return run_module_for_json(
        "services.policy", *arguments, doing=doing, seconds=_TIMEOUT_SECONDS, environ=environ, code=_EXIT_FAILED
    )


def _print_check(answer: JsonObject) -> None:
    out.print(
        _build_table(
            "rules, as they are understood", ("policy", "rule", "about", "what", "effect"), answer.get("rules")
        )
    )
    details = as_object(answer.get("details"))
    for name, title in (("problems", "invalid"), ("triggeredRules", "triggered"), ("refusals", "calls refused")):
        for entry in objects_in(details.get(name)):
            message = entry.get("message") or entry.get("reason")
            values = f"  {dumps(entry['values'])}" if entry.get("values") else ""
            err.print(f"{title}: {entry.get('ruleId')}: {message}{values}", soft_wrap=True)
    for field in get_list_or_empty(answer.get("unknown_fields")):
        err.print(f"unknown field, which nobody reads: {field}", soft_wrap=True)
    for shared_id in get_list_or_empty(answer.get("shared_ids")):
        err.print(f"several rules have this id, so that a verdict does not say which it means: {shared_id}")
    for fault in objects_in(answer.get("fields")):
        err.print(f"{fault.get('field')}: {fault.get('problem')}", soft_wrap=True)
    prose = objects_in(answer.get("prose_policies"))
    for policy in prose:
        err.print(f"{policy.get('policy')} (in plain words): {_describe_prose_policy(policy)}", soft_wrap=True)
    for name, meaning in _NAMED_IN_VAIN.items():
        if names := get_list_or_empty(answer.get(name)):
            err.print(f"{meaning}: {', '.join(map(str, names))}", style="bold yellow", soft_wrap=True)
    undecided = get_list_or_empty(details.get("indeterminate"))
    if undecided:
        err.print(f"undecided, for want of facts: {', '.join(map(str, undecided))}", style="dim")
    for violation in get_list_or_empty(as_object(details.get("text")).get("violations")):
        err.print(f"violated by the text: {violation}", soft_wrap=True)
    if unasked := get_list_or_empty(answer.get("not_asked")):
        err.print(f"not asked, for want of --task: {', '.join(map(str, unasked))}", style="dim")
    if not answer.get("rules") and not prose:
        err.print("no rule was understood: such a policy asks nothing and forbids nothing", style="bold red")
    verdict = str(answer.get("verdict"))
    style = "bold red" if verdict != "passes" else "bold yellow" if undecided else "bold green"
    out.print(f"verdict: {verdict}{', but for what is undecided' if undecided else ''}", style=style)


def _describe_prose_policy(policy: JsonObject) -> str:
    effect = "enforced" if policy.get("enforced") else "advice, since enforce_prose is off"
    return f"{effect}; not checked here: the model makes rules of it with the tools at hand, and each task lists them"


def _print_backtest(answer: JsonObject) -> None:
    different = objects_in(answer.get("different"))
    rows: list[Json] = [
        {**task, "rules": "\n".join(map(str, get_list_or_empty(task.get("rules"))))} for task in different
    ]
    title = f"{len(different)} of {answer.get('plans')} plans would have been decided otherwise"
    out.print(_build_table(title, ("task", "text", "before", "after", "rules"), rows))
    if answer.get("without_plan"):
        err.print(f"{answer['without_plan']} archived tasks planned no writes.", style="dim")
    for problem in get_list_or_empty(answer.get("unread")):
        err.print(f"An archived task cannot be read: {problem}", style="dim")


def _build_table(title: str, columns: tuple[str, ...], rows: Json) -> Table:
    return build_text_table(columns, ([row.get(column, "") for column in columns] for row in objects_in(rows)), title)
