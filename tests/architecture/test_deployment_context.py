"""`.dockerignore` lets in what images hold, and nothing else."""

import subprocess

import pytest

from tests.deployment.dockerfile import ROOT, goes_into_a_build, images, is_held_by_an_image
from tests.deployment.dockerignore import lets_in


def _tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.splitlines()


@pytest.mark.promise("deploy.build_context")
def test_what_goes_into_a_build_is_held_by_some_image() -> None:
    inside = [name for name in _tracked() if goes_into_a_build(name)]

    assert [name for name in inside if not is_held_by_an_image(name)] == []
    assert {image.lock.relative_to(ROOT).as_posix() for image in images().values()} <= set(inside)
    assert "shared/infra/process.py" in inside


@pytest.mark.promise("deploy.build_context")
@pytest.mark.parametrize(
    "path",
    [
        *(
            ".env",
            ".git/config",
            "services/gateway/.env",
            "tests/conftest.py",
            "tools/chaos/run.py",
            "k8s/base/x",
        ),
        *("cli/__pycache__/main.cpython-311.pyc", "examples/company/books.sqlite3-wal", "locks/dev.txt", ".venv/bin/x"),
    ],
)
def test_what_must_not_leave_the_machine_is_kept_out(path: str) -> None:
    """Also what lies about in a working copy and is not kept by git."""
    assert not goes_into_a_build(path)


@pytest.mark.parametrize(
    ("text", "path", "inside"),
    [
        ("*\n!a", "a/b/c", True),
        ("*\n!a\na/b", "a/b/c", False),
        ("a\n!a/b\n", "a/b", True),
        ("# a\n\n*.md", "x.md", False),
        ("*.md", "a/x.md", True),
        ("**/*.md", "a/b/x.md", False),
        ("**/x", "x/y", False),
        ("a?c", "abc", False),
    ],
)
def test_lines_mean_what_they_mean_to_an_engine(text: str, path: str, inside: bool) -> None:
    """The last that fits decides; a star ends at a slash, two do not; a folder takes along what is in it."""
    assert lets_in(text, path) is inside
