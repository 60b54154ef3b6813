"""What the product promises: id, sentence, source. Tests carry the id; a check ties the two.

``python -m tests.requirements --check`` fails on a promise without a test and on a test that names an unknown promise.
``python -m tests.requirements --results FILE`` shows the table, with what the last run (a JUnit file) said.
To add a promise, add a line here and mark a test with ``@pytest.mark.promise("the.id")``.
"""

import sys
from typing import NamedTuple


class Promise(NamedTuple):
    id: str
    sentence: str
    source: str  # the seed and its section, or the invariant of docs/architecture.md


PROMISES: tuple[Promise, ...] = (
    Promise("promises.tied", "Every promise has a test, and every test that names one names a known one", "quality"),
    Promise(
        "imports.directions", "Services stand on shared and never import each other; a core does no I/O", "quality"
    ),
)


if __name__ == "__main__":
    from tests.architecture.promise_report import main

    sys.exit(main(PROMISES, sys.argv[1:]))
