"""How agents are measured."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "assessor.ues_client",
        "A typed client for simulators: refusals by type, older servers read, nothing sent twice",
        "seed 004, 2 and 9",
    ),
)
