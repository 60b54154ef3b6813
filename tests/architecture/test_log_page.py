"""docs/logs.md lists each event that the code logs, with its level and fields, under the service that logs it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.deployment.dockerfile import ROOT
from tests.each_row import each_row

_LEVELS = {"debug": "debug", "info": "info", "warning": "warning", "error": "error", "exception": "error"}
_EVENT = re.compile(r"[a-z]+(_[a-z]+)+")
_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (.+?) \| (.*) \|$", re.MULTILINE)


class LoggedEvent(NamedTuple):
    part: str  # "gateway", "executor", ..., or "shared"
    event: str
    level: str


def _find_logged_events(part: str, source: str) -> Iterator[tuple[LoggedEvent, set[str]]]:
    """The events that a module logs, each with the fields of one call. An event that is no literal is ``?``."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in calls:
        match call.func:
            case ast.Attribute(value=ast.Name(id="log" | "_log"), attr=method) if method in _LEVELS:
                event = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else "?"
                fields = {keyword.arg for keyword in call.keywords if keyword.arg}
                yield LoggedEvent(part, str(event), _LEVELS[method]), fields
            case _:
                pass


def _read_code() -> dict[LoggedEvent, set[str]]:
    found: dict[LoggedEvent, set[str]] = defaultdict(set)
    for folder in ("services", "shared", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for logged, fields in _find_logged_events(_part_of(path), path.read_text("utf-8")):
                found[logged] |= fields
    return found


def _part_of(path: Path) -> str:
    first, second, *_ = path.relative_to(ROOT).parts
    return second if first == "services" else first


def _read_page() -> dict[LoggedEvent, set[str]]:
    text = (ROOT / "docs" / "logs.md").read_text("utf-8")
    sections = [section.partition("\n") for section in text.split("\n## ")[1:]]
    return {
        LoggedEvent(title.lower(), event, level): set(re.findall(r"`(\w+)`", fields))
        for title, _, rows in sections
        for event, level, _what, _todo, fields in _ROW.findall(rows)
    }


@pytest.mark.promise("logs.documented")
def test_the_page_lists_each_event_of_the_code_with_its_level_and_fields() -> None:
    code, page = _read_code(), _read_page()

    assert sorted(code) == sorted(page)
    assert {logged: fields - page[logged] for logged, fields in code.items() if fields - page[logged]} == {}


@pytest.mark.promise("logs.documented")
def test_an_event_is_a_literal_of_several_words_and_has_one_level() -> None:
    levels: dict[str, set[str]] = defaultdict(set)
    for logged in _read_code():
        levels[logged.event].add(logged.level)

    assert [event for event in levels if not _EVENT.fullmatch(event)] == []
    assert {event: found for event, found in levels.items() if len(found) > 1} == {}


@pytest.mark.promise("logs.documented")
def test_every_module_names_its_logger_log() -> None:
    """Else its events would not be found here."""
    others = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("services", "shared", "cli")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in re.findall(r"^(.*\S) *=.*\bget_logger\(", path.read_text("utf-8"), re.MULTILINE)
        if name not in ("log", "_log")
    ]

    assert others == []


@pytest.mark.promise("logs.documented")
@each_row(
    ("line", "event", "level"),
    [
        ('log.exception("turn_failed", turn=1)', "turn_failed", "error"),
        ('_log.info("turn_failed", turn=1)', "turn_failed", "info"),
        ("log.warning(name, turn=1)", "?", "warning"),
    ],
)
def test_an_event_is_found_with_its_fields(line: str, event: str, level: str) -> None:
    assert list(_find_logged_events("executor", line)) == [(LoggedEvent("executor", event, level), {"turn"})]
