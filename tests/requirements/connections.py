"""A tenant's record, and the tool servers that it names."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "tenant.record_compare_and_set",
        "Of two operators who change one version of a tenant's record, the second is told",
        "seed 002, Deployment",
    ),
    Promise("tenant.record_bad_fields", "A record that cannot be used is refused, each bad field by name", "bad input"),
    Promise("tenant.record_history", "Who changed a tenant's record, what and when, is kept and can be undone", "I7"),
    Promise("tenant.record_walls", "Only an operator of the tenant reads or writes its record", "I10"),
    Promise(
        "tenant.record_next_turn", "A changed record holds from the next turn on; begun tasks keep its policies", "I7"
    ),
    Promise(
        "connections.credential_kinds",
        "A server is shown its bearer token, its header or an OAuth token, over either protocol",
        "seed 002, Deployment",
    ),
)
