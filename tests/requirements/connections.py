"""A tenant's record, and the tool servers that it names."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "tenant.record_compare_and_set",
        "Of two operators who change one version of a tenant's record, the second is told",
        "seed 002, Deployment",
    ),
    Promise("tenant.record_addresses", "A record cannot name an address that is never called", "bad input"),
    Promise("tenant.record_withdrawn", "A stored record can be taken back, for the installation's file", "I7"),
    Promise("tenant.record_bad_fields", "A record that cannot be used is refused, each bad field by name", "bad input"),
    Promise("tenant.record_history", "Who changed a tenant's record, what and when, is kept and can be undone", "I7"),
    Promise("tenant.record_walls", "Only an operator of the tenant reads or writes its record", "I10"),
    Promise(
        "tenant.record_next_turn", "A changed record holds from the next turn on; begun tasks keep its policies", "I7"
    ),
    Promise(
        "connections.refreshed_once",
        "A refused or expiring token is replaced once for all who hold it, and a refused call sent once more",
        "I12",
    ),
    Promise(
        "connections.aws",
        "A secret may lie in AWS Secrets Manager, whole or as a member of a JSON object",
        "seed 002, Deployment",
    ),
    Promise(
        "connections.tried",
        "An operator tries each connection: reached, credential, protocol, tools",
        "seed 003, mcp_bridge.py",
    ),
    Promise("connections.rotation", "A secret that is replaced where it lies is used from the next call on", "I12"),
    Promise(
        "connections.fails_closed",
        "Without its credential a server is asked nothing, and the reference is named, not the secret",
        "bad input",
    ),
    Promise("connections.own_origin", "A credential goes to its connection's origin and nowhere else", "I12"),
    Promise(
        "connections.request_endpoint",
        "A request names an endpoint of its tenant's connections, or one that the operator lists, and no other",
        "seed 000, A2A Protocol",
    ),
    Promise(
        "connections.several",
        "One task uses several tool servers, each with its own credential",
        "seed 002, Deployment",
    ),
    Promise("connections.tenants_apart", "No tenant shows, or reads, another's credential", "I10"),
    Promise("connections.secret_kept", "A secret is in no store, log, event, journal or archive", "I12"),
    Promise(
        "connections.credential_kinds",
        "A server is shown its bearer token, its header or an OAuth token, over either protocol",
        "seed 002, Deployment",
    ),
)
