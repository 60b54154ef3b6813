"""What the product promises (``promises.md``) against the tests that carry the ids.

``python -m tests.requirements --check`` fails on a promise without a test and on a test that names an unknown promise.
``python -m tests.requirements --results FILE`` shows the table, with what the last run (a JUnit file) said.
To add a promise, add a row to the page and mark a test with ``@pytest.mark.promise("the.id")``.
"""

import sys

from tests.architecture.promise_report import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
