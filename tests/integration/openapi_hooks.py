"""Read by schemathesis in its own process: in half of its cases identifiers that exist, and messages that are whole."""

import json
import os
from hashlib import sha256
from typing import Protocol, cast

import schemathesis

_KNOWN = cast("dict[str, str]", json.loads(os.environ.get("KNOWN_IDENTIFIERS", "{}")))
_WHOLE: dict[str, object] = {"role": "ROLE_USER", "parts": [{"text": "hello"}]}


class Case(Protocol):
    """What is read and changed of schemathesis' own."""

    path_parameters: dict[str, object]
    body: object


@schemathesis.hook
def before_call(context: object, case: Case, kwargs: dict[str, object]) -> None:
    if not _every_other(case):
        return
    case.path_parameters.update({name: _KNOWN[name] for name in case.path_parameters.keys() & _KNOWN.keys()})
    if isinstance(case.body, dict) and isinstance(case.body.get("message"), dict):
        case.body["message"].update(_WHOLE)


def _every_other(case: Case) -> bool:
    """The same for the same case, so that a failure can be played again."""
    return sha256(repr((case.path_parameters, case.body)).encode()).digest()[0] % 2 == 0
