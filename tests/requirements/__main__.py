"""What the product promises: id, sentence, source. Tests carry the id; a check ties the two.

``python -m tests.requirements --check`` fails on a promise without a test and on a test that names an unknown promise.
``python -m tests.requirements --results FILE`` shows the table, with what the last run (a JUnit file) said.
To add a promise, add a line to the module that it belongs to and mark a test with ``@pytest.mark.promise("the.id")``.
"""

import sys

from tests.architecture.promise_report import main
from tests.requirements import (
    approvals,
    assessor,
    compat,
    connections,
    console,
    conversation,
    executor,
    gateway,
    invariants,
    learner,
    memory,
    metrics,
    outside,
    participant,
    policy,
    processes,
    project,
    simulator,
    state,
    tools,
    traces,
)

PROMISES = (
    *invariants.PROMISES,
    *executor.PROMISES,
    *conversation.PROMISES,
    *processes.PROMISES,
    *policy.PROMISES,
    *tools.PROMISES,
    *state.PROMISES,
    *gateway.PROMISES,
    *approvals.PROMISES,
    *connections.PROMISES,
    *console.PROMISES,
    *outside.PROMISES,
    *learner.PROMISES,
    *memory.PROMISES,
    *assessor.PROMISES,
    *compat.PROMISES,
    *simulator.PROMISES,
    *participant.PROMISES,
    *metrics.PROMISES,
    *traces.PROMISES,
    *project.PROMISES,
)

if __name__ == "__main__":
    sys.exit(main(PROMISES, sys.argv[1:]))
