"""A tenant's record, and the tool servers that it names."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "connections.credential_kinds",
        "A server is shown its bearer token, its header or an OAuth token, over either protocol",
        "seed 002, Deployment",
    ),
)
