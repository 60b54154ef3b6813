"""Links between pages lead to pages and headings that are there; pages say nothing that has no place in them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.dockerfile import ROOT

_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
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
