"""What changes ``make mutants`` makes to the code, and by which block it finds the tests that should notice."""

import ast

from tests.each_row import each_row
from tests.mutants.plugin import block_of, target_files
from tests.mutants.sites import changed, sites

CODE = '''
def f(amount: int, *, strict: bool = False) -> list[int]:
    """A docstring."""
    if amount > 5 and not strict:
        return [one for one in (1, 2) if one]
    for one in range(amount):
        continue
    raise ValueError(7)
'''


def test_each_change_gives_another_text_and_annotations_errors_and_docstrings_stay() -> None:
    tree = ast.parse(CODE)
    found = list(sites(tree))
    texts = [ast.unparse(changed(tree, site)) for site in found]

    assert {site.what for site in found} >= {"Gt -> GtE", "And -> Or", "5 -> 6", "False -> True", "if x -> if not x"}
    assert len({*texts, ast.unparse(tree)}) == len(found) + 1
    assert all('"""A docstring."""' in text and "ValueError(7)" in text and "list[int]" in text for text in texts)


@each_row(("line", "block"), [(4, "f.py:3"), (5, "f.py:5"), (6, "f.py:6"), (7, "f.py:7"), (8, "f.py:8"), (2, "")])
def test_a_line_belongs_to_its_innermost_block(line: int, block: str) -> None:
    assert block_of("f.py", ast.parse(CODE), line) == block


def test_all_that_decides_is_changed() -> None:
    files = target_files()
    folders = {path.parent.name for path in files}

    assert all(path.exists() for path in files)
    assert folders >= {"core", "states", "plan", "authorize", "write", "session"}
