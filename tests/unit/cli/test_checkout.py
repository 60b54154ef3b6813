"""`purple chaos` and `purple bench` where the product is installed, and the project's checkout is not there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INSTALLED = ("cli", "shared")
# An editable install puts the checkout itself on the path.
PURPLE = "import sys; sys.path[:] = [sys.argv.pop(1), *(at for at in sys.path if at not in ('', sys.argv[1]))]; \
del sys.argv[1]; from cli.main import app; app()"


def _purple(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    for package in INSTALLED:
        (place / package).symlink_to(ROOT / package)
    command = [sys.executable, "-c", PURPLE, str(place), str(ROOT), *arguments]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("arguments", [("chaos", "--minutes", "1"), ("bench", "queue", "--check"), ("bench",)])
def test_without_a_checkout_one_sentence_says_that_one_is_needed(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = _purple(tmp_path, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == (
        f"purple {arguments[0]} needs a checkout of the project: the folder tools is not installed here."
    )


def test_another_package_of_that_name_is_no_checkout(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").touch()

    assert _purple(tmp_path, "chaos").returncode == 2


def test_in_a_checkout_they_are_found(tmp_path: Path) -> None:
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    (tmp_path / "services").symlink_to(ROOT / "services")

    done = _purple(tmp_path, "bench", "--help")

    assert done.returncode == 0
    assert "overhead" in done.stdout
