"""The requests that the service is measured with: as many rules, a planned call, and no two requests alike."""

from shared.contracts.policy import CallContext, EvaluateRequest, Policy, Rule
from shared.contracts.policy_hash import hash_policies

_VERSION, _NUMBER = "@VERSION@", "@NUMBER@"
_ACTIONS = ("require_approval", "escalate", "block")


def make_bodies(rules: int, count: int, *, new_policies: bool = False) -> list[bytes]:
    """Binding requests of which a few rules trigger. ``new_policies``: each brings a version of its own."""
    text = _request(rules).to_json()
    versions = range(count) if new_policies else [0] * count
    kind = "new" if new_policies else "known"
    return [
        text.replace(_VERSION, f"{kind}-{version}").replace(_NUMBER, f"{number:08}").encode()
        for number, version in enumerate(versions)
    ]


def make_bodies_by_hash(rules: int, count: int) -> tuple[str, list[bytes]]:
    """The hash of policies of that many rules, and requests that name them by it: no two alike."""
    request = _request(rules)
    named = EvaluateRequest.from_json(make_bodies(rules, 1)[0]).policies
    text = request.model_copy(update={"policies": ()}).to_json()
    return hash_policies(named), [text.replace(_NUMBER, f"{number:08}").encode() for number in range(count)]


def _request(rules: int) -> EvaluateRequest:
    policy = Policy(id="bench", version=_VERSION, rules=tuple(map(_rule, range(rules))))
    fields = {"amount": 7_000, "requires_board": False, "is_manager": True, "reference": _NUMBER}
    call = CallContext(call_id="c1", tool="tool_3", fields=dict(fields))
    return EvaluateRequest(policies=(policy,), calls=(call,), plan_hash=_NUMBER * 8, binding=True)


def _rule(number: int) -> Rule:
    return Rule(
        id=f"RULE_{number}",
        condition=f'tool == "tool_{number % 50}" && amount > {5_000 + number} || requires_board && !is_manager',
        action=_ACTIONS[number % len(_ACTIONS)],
        level="finance",
        reason="More than this tool may move without a second pair of eyes",
    )


def different_rules(rules: int) -> EvaluateRequest:
    """A binding request whose rules are all different, of which two act; nobody tells which fields the call has."""
    made = tuple(
        Rule(
            id=f"RULE_{number}",
            condition=f'country in ["c{number}", "d{number}"] && amount > {5_000 + number} || reference == "r{number}"',
            action="escalate",
            level="finance",
        )
        for number in range(rules)
    )
    call = CallContext(call_id="c1", tool="pay", fields={"amount": 7_000, "country": "d3", "reference": "r5"})
    return EvaluateRequest(policies=(Policy(id="different", rules=made),), calls=(call,), binding=True)
