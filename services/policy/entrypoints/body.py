"""Reads a request's body exactly (numbers stay decimal) and within bounds, and finds its policies.

What is wrong is refused with its field.
"""

from collections.abc import Sequence
from typing import TypeVar

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ValidationError

from services.policy.core.prepared import PreparedPolicies, ReadyPolicies, TooMuch
from shared.contracts.policy import Policy, PolicyContract
from shared.contracts.policy_document import refused_field
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object


class RequestRejected(Exception):
    """``status`` is the HTTP status, the message a sentence for people, ``field`` the part of the body it is about."""

    def __init__(self, status: int, sentence: str, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.field = field


class RefusalBody(BaseModel):
    """The body of every answer that is no verdict."""

    error: str
    field: str | None = None


async def answer_refused(_: Request, refused: Exception) -> JSONResponse:
    """Turn a ``RequestRejected`` into its answer."""
    if not isinstance(refused, RequestRejected):
        raise refused
    refusal = RefusalBody(error=str(refused), field=refused.field)
    return JSONResponse(refusal.model_dump(), status_code=refused.status)


async def answer_too_much(request: Request, error: Exception) -> JSONResponse:
    """Turn a request over the service's bounds into its answer."""
    if not isinstance(error, TooMuch):
        raise error
    return await answer_refused(request, RequestRejected(422, str(error), error.field))


_NO_VALUE = "a text, number, boolean or null is needed, a list of these, or an object that holds nothing deeper"
_Model = TypeVar("_Model", bound=BaseModel)


class _Policies(PolicyContract):
    policies: tuple[Policy, ...] = ()


async def document_of(request: Request, limit: int) -> JsonObject:
    """The body as a JSON object; raises ``RequestRejected``."""
    return _parse_body(await _read_limited(request, limit))


async def _read_limited(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise RequestRejected(413, f"the body is larger than {limit} bytes")
    return bytes(body)


def _parse_body(body: bytes) -> JsonObject:
    try:
        document = loads_object(body.decode())
        if b"\\u" in body:
            dumps(document).encode()  # refuses what JSON can spell and text cannot hold: half of a surrogate pair
    except UnicodeError:
        raise RequestRejected(400, "the body is not UTF-8 text") from None
    except RecursionError:
        raise RequestRejected(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise RequestRejected(400, f"the body is not a JSON object: {error}") from None
    return document


def read_as(model: type[_Model], document: JsonObject, **ready: object) -> _Model:
    """The document as that model, with parts that are ``ready``; raises ``RequestRejected`` with the wrong field."""
    try:
        return model.model_validate({**document, **ready})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    path = _path(document, first["loc"])
    sentence = _NO_VALUE if _is_about_a_value(path) else first["msg"]
    if first["type"] == "missing":
        path, sentence = [*path, str(first["loc"][-1])], "a value is required"
    raise RequestRejected(422, f"{'.'.join(path)}: {sentence}", ".".join(path))


def prepared_policies(document: JsonObject, policy_hash: str | None, held: PreparedPolicies) -> ReadyPolicies:
    """Those of the hash, or the document's own where there is none.

    Raises ``RequestRejected`` where they are not known, or cannot be read; ``TooMuch`` where they are too many.
    """
    if policy_hash is None:
        return held.prepare(_read(document))
    if document.get("policies"):
        raise RequestRejected(422, "policies: the path names them already", "policies")
    found = held.find(policy_hash)
    if found is None:
        raise RequestRejected(404, "no policies of this hash are known here: send them with the request", "policyHash")
    return found


def _read(document: JsonObject) -> tuple[Policy, ...]:
    """A field that nobody reads is refused: a misspelt one would silently not hold."""
    own = document.get("policies", [])
    policies = read_as(_Policies, {"policies": own}).policies
    for place, policy in enumerate(own if isinstance(own, list) else ()):
        if strange := refused_field(policy):
            raise RequestRejected(422, f"policies.{place}: nobody reads the field {strange}", f"policies.{place}")
    return policies


def _is_about_a_value(path: Sequence[str]) -> bool:
    return "context" in path or ("fields" in path and path[0] in ("calls", "history", "confirmations"))


def _path(document: Json, places: Sequence[str | int]) -> list[str]:
    """The part of an error's place that the caller wrote: behind it stand only the names of alternatives."""
    path: list[str] = []
    for place in places:
        if isinstance(document, dict) and place in document:
            document = document[str(place)]
        elif isinstance(document, list) and isinstance(place, int):
            document = document[place]
        else:
            break
        path.append(str(place))
    return path
