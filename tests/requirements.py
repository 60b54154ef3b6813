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
    # --- the project itself
    Promise("promises.tied", "Every promise has a test, and every mark names a known promise", "quality"),
    Promise("imports.directions", "Services stand on shared, never import each other; a core does no I/O", "quality"),
    # --- command line and launcher
    Promise("launcher.defaults", "Only the launcher supplies Redis, planner and company", "seed 000, Running"),
    Promise("launcher.notice", "The rule-based planner is never taken for a model", "seed 000, Running"),
    Promise("launcher.explains", "A service that does not start is explained by its last words", "seed 000, Running"),
    Promise("launcher.no_orphans", "Children die with the launcher, even when it is killed", "seed 000, Running"),
    Promise("secrets.model_key", "The model's key is handed to the process that needs it, and to no other", "I12"),
    Promise("demo.checks", "The demo names each thing in the database that is not as it should be", "seed 000"),
    Promise("demo.end_to_end", "One command does real business tasks end to end and checks the database", "seed 000"),
    Promise("demo.fails_loudly", "The demo's exit code is non-zero if any check of any task fails", "seed 000"),
    Promise("a2a.seed_request", "The tasks/send request of seed 000 is answered with text", "seed 000, A2A Protocol"),
    Promise("cli.send", "A task's phases are shown as they happen", "seed 000, Execution Pipeline"),
)


if __name__ == "__main__":
    from tests.architecture.promise_report import main

    sys.exit(main(PROMISES, sys.argv[1:]))
