"""A docstring says what a caller must be ready for: None, and the errors."""

from pathlib import Path

from tests.architecture.docstrings import find_omissions
from tests.each_row import each_row


def _omissions(root: Path, function: str) -> list[str]:
    (root / "shared").mkdir(exist_ok=True)
    (root / "shared" / "one.py").write_text(function)
    return [omission.partition(": ")[2] for omission in find_omissions(root)]


@each_row(
    "function, omission",
    ('def find() -> "int | None":\n    """The number."""', "it does not say when the function returns None"),
    (
        'def find() -> int:\n    """The number."""\n    raise NoNumber("none")',
        "it does not say that the function raises NoNumber",
    ),
    (
        'def find() -> int:\n    """The number."""\n    try:\n        ...\n    except Other:\n        raise NoNumber',
        "it does not say that the function raises NoNumber",
    ),
)
def test_an_omission_is_found(tmp_path: Path, function: str, omission: str) -> None:
    assert _omissions(tmp_path, function) == [omission]


@each_row(
    "function",
    'def find() -> "int | None":\n    """The number; None without one."""',
    'def find() -> int:\n    """The number; raises ``NoNumber``."""\n    raise NoNumber',
    'def find() -> int:\n    """The number; 404 without one."""\n    raise NotFound',
    'def find() -> int:\n    """Makes a finder."""\n    def inner() -> int:\n        raise NoNumber',
    'def find() -> "int | None": ...',
    'def find():\n    """The number."""\n    try:\n        raise NoNumber\n    except (NoNumber, Other):\n        ...',
)
def test_a_docstring_that_says_it_passes(tmp_path: Path, function: str) -> None:
    assert not _omissions(tmp_path, function)
