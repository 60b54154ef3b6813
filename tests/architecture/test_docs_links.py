"""Links between pages lead to pages and headings that are there; pages say nothing that has no place in them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.domain.words import FsmState
from tests.deployment.dockerfile import ROOT

_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_NAMED_TEST = re.compile(r"`(?:tests/)?([\w/]+\.py)::(\w+)`")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.promise("docs.links")
def test_every_link_leads_to_a_page_and_a_heading() -> None:
    broken = [f"{page.relative_to(ROOT)}: {link}" for page in PAGES for link in _broken(page)]

    assert broken == []


@pytest.mark.promise("docs.links")
def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A *fine* heading\n[a](#a-fine-heading) [b](#none) [c](nowhere.md) [d](https://example.org/x#y)\n"
    )

    assert list(_broken(page)) == ["#none", "nowhere.md"]


@pytest.mark.promise("assessor.beyond_published", "gateway.complaints", "gateway.conformance_table")
def test_every_test_that_a_page_names_is_there() -> None:
    named = {name for page in PAGES for name in _NAMED_TEST.findall(page.read_text("utf-8"))}
    files = {file: ROOT / "tests" / file for file, _ in named}
    texts = {file: path.read_text("utf-8") if path.exists() else "" for file, path in files.items()}
    assert len(named) > 200
    assert [f"{file}::{test}" for file, test in sorted(named) if f"def {test}(" not in texts[file]] == []


@pytest.mark.promise("docs.links")
def test_every_test_file_that_a_page_names_is_there() -> None:
    named = {path for page in PAGES for path in re.findall(r"`(tests/[\w/]+\.py)\b", page.read_text("utf-8"))}
    assert len(named) > 100
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@pytest.mark.promise("docs.links")
def test_every_file_and_function_of_the_way_of_one_task_is_there() -> None:
    """Each row names one file, and of a Python file one function; the way itself names some of these rows."""
    page = (ROOT / "docs" / "one-task-in-the-code.md").read_text("utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 60
    for _, _, file, function, _ in rows:
        path = ROOT / file.strip(" `")
        named = [] if path.suffix == ".lua" else [function.strip(" `")]
        assert path.exists(), file
        assert {*_functions(path)}.issuperset(named), f"{file}: {function}"
    way = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    begun = {*re.findall(r"\*\*`(\w+\.py)`:\s`([\w.]+)`\*\*", way)}
    assert len(begun) > 10
    assert begun <= {(Path(file.strip(" `")).name, function.strip(" `")) for _, _, file, function, _ in rows}


@pytest.mark.promise("docs.links")
def test_every_script_and_state_that_pages_and_pictures_name_is_there() -> None:
    drawn = "".join(path.read_text("utf-8") for path in (ROOT / "docs" / "images").glob("*.svg"))
    scripts = {
        *re.findall(r"\b[a-z_]+\.lua\b", drawn + "".join(page.read_text("utf-8") for page in ROOT.glob("docs/**/*.md")))
    }
    states = {*re.findall(r'class="state"[^>]*>([A-Z_]+)<', drawn)}
    assert {"accept.lua", "finish.lua"} <= scripts
    assert [name for name in scripts if not (ROOT / "shared/infra/scripts" / name).exists()] == []
    assert states == {*FsmState} - {FsmState.ESCALATE, FsmState.FAILED}


@pytest.mark.promise("docs.links")
def test_every_file_and_class_of_the_glossary_is_there() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.(?:py|lua))`(?: \(`(\w+)`\))?", page)
    assert len(named) > 20
    assert [name for name, _ in named if not (ROOT / name).exists()] == []
    assert [
        one for name, one in named if one and not re.search(rf"^(class )?{one}\b", (ROOT / name).read_text(), re.M)
    ] == []


@pytest.mark.promise("docs.links")
def test_every_decision_stands_once_on_the_page_of_decisions_under_its_own_title() -> None:
    folder = ROOT / "docs" / "decisions"
    records = {path.name: path.read_text("utf-8").partition("\n")[0] for path in folder.glob("[0-9]*.md")}
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    assert len(records) > 90
    assert sorted((f"# {title}", name) for title, name in listed) == sorted(
        (one, name) for name, one in records.items()
    )


def _functions(path: Path) -> Iterator[str]:
    """The module's functions, and the methods of its classes as ``Class.method``."""
    for node in ast.parse(path.read_text("utf-8") if path.suffix == ".py" else "").body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        yield from (f"{prefix}{one.name}" for one in inner if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def _broken(page: Path) -> Iterator[str]:
    for name, heading in _LINK.findall(page.read_text()):
        target = page.parent / name if name else page
        if "://" in name:
            continue
        if not target.exists():
            yield name
        elif heading and target.suffix == ".md" and heading not in _headings(target):
            yield f"{name}#{heading}"


def _headings(page: Path) -> set[str]:
    """As the usual renderers name them."""
    found = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}
