"""What comes from outside: addresses that we are asked to call, and requests of any size and shape."""

from tests.requirements.promise import Promise

PROMISES = (
    # addresses
    Promise("ssrf.rules", "Only plain URLs of permitted schemes, hosts, ports and addresses are called", "bad input"),
    Promise("ssrf.allowed", "Inside is called what the operator lists, and nothing else", "bad input"),
    Promise("ssrf.silent", "A refusal names its rule and tells nothing about the network inside", "bad input"),
    Promise("ssrf.pinned", "What was looked up and checked is connected to, under the name of the URL", "bad input"),
    Promise("ssrf.lookups", "Names that nobody answers for hold up nothing else", "bad input"),
    Promise("ssrf.redirects", "Redirects are not followed; where they are, each step is checked", "bad input"),
    # sizes and load
    Promise(
        "gateway.limits", "Whatever is too large, too slow or too much is refused, and its limit named", "bad input"
    ),
    Promise(
        "gateway.exact_limit",
        "However many come at once, all gateways together let in exactly as many as may wait",
        "bad input",
    ),
    Promise("gateway.sheds_load", "While too much work waits nothing new is stored; reads go on", "bad input"),
    Promise(
        "gateway.rough_bodies",
        "Whatever is sent as JSON-RPC is answered as JSON-RPC, soon, and never a 5xx",
        "bad input",
    ),
    Promise(
        "gateway.openapi_holds",
        "Generated requests get only answers that OpenAPI documents, and never a 5xx",
        "bad input",
    ),
)
