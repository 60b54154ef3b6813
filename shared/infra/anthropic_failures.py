"""How a call of the Messages API fails: what may pass, what another model may do, what the request itself is to blame
for. A failure is told to clients: the endpoint's own words, which may hold its operator's, go into the log alone.
"""

import json
import math
import re
import time
from collections.abc import Set
from email.utils import mktime_tz, parsedate_tz

import httpx2
import structlog

from shared.infra.anthropic_request import Feature
from shared.ports.models import ModelAway, ModelUnavailable

log = structlog.get_logger()
_OVERLOADED = frozenset({408, 409, 429, 529})
_GATEWAYS = frozenset({502, 503})
_INVALID = frozenset({400, 422})
_NAMES = {
    Feature.EFFORT: re.compile(r"\beffort\b"),
    Feature.STRICT: re.compile(r"\bstrict\b"),
    Feature.CACHE_CONTROL: re.compile(r"\bcache_control\b"),
    Feature.THINKING: re.compile(r"thinking\b"),
    Feature.OUTPUT_CONFIG: re.compile(r"\b(output_config|output_format|json_schema)\b"),
    Feature.IMAGES: re.compile(r"\bimages?\b"),
}


class Unreached(ModelAway):
    """No reply came because nobody was there, or the line was cut: the endpoint may be back in a moment."""


class ModelBusy(ModelAway):
    """The model cannot answer just now: another one may, and later it may itself."""


class Absent(ModelUnavailable):
    """The endpoint has no such model: another one may be there."""


class Invalid(ModelUnavailable):
    """The endpoint does not take the request as it is. ``said``: its own words, which may name the field."""

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


def status_failure(model: str, answer: httpx2.Response) -> ModelUnavailable:
    """What an answer other than 2xx means, in words of ours; the endpoint's own are in the log."""
    said, status = _reason_in(answer.content), answer.status_code
    log.warning("model_endpoint_refused", model=model, status=status, said=said)
    if status == 404:
        return Absent(f"the endpoint has no model {model}")
    if status in _OVERLOADED:
        why = f"the model {model} is overloaded or its rate limit is reached ({status})"
        return ModelBusy(why, _retry_after(answer))
    if status in _GATEWAYS:
        return Unreached(f"the model endpoint is away ({status})", _retry_after(answer))
    if status >= 500:
        return ModelBusy(f"the model {model} failed on the endpoint's side ({status})", _retry_after(answer))
    if status in (401, 403):
        return ModelUnavailable(f"the model endpoint refused the API key ({status}); its words are in the log")
    why = f"the model endpoint refused the request ({status}); its words are in the log"
    return Invalid(why, said) if status in _INVALID else ModelUnavailable(why)


def connection_failure(error: BaseException) -> Unreached:
    cause = error.__cause__ or error
    return Unreached(f"the model endpoint could not be reached: {str(cause)[:200] or type(cause).__name__}")


def both_failed(first: Absent | ModelBusy, second: Absent | ModelBusy) -> ModelUnavailable:
    """A model and its fallback; away if waiting may bring back either."""
    message = f"{first}; its fallback: {second}"
    busy = [failure for failure in (first, second) if isinstance(failure, ModelBusy)]
    if not busy:
        return ModelUnavailable(message)
    told = [failure.retry_after for failure in busy if failure.retry_after is not None]
    return ModelAway(message, min(told, default=None))


def feature_named(said: str, without: Set[Feature]) -> Feature | None:
    """The part of the request that an endpoint's refusal names, of those that it was still sent with."""
    return next((feature for feature, name in _NAMES.items() if feature not in without and name.search(said)), None)


def _reason_in(body: bytes) -> str:
    """The endpoint's own words, bounded; never headers, which may hold a key."""
    try:
        said = _words(json.loads(body))
    except (ValueError, RecursionError):
        said = ""
    return (said or "no reason given")[:300]


def _words(body: object) -> str:
    """Of ``{"error": {"message": ...}}``, and of what other servers answer in its place."""
    match body:
        case {"error": {"message": str(message)}} | {"error": str(message)} | {"message": str(message)}:
            return message
        case {"detail": str(message)}:
            return message
        case {"detail": [{"loc": list(where), "msg": str(message)}, *_]}:
            return f"{'.'.join(map(str, where))}: {message}"
        case _:
            return ""


def _retry_after(answer: httpx2.Response) -> float | None:
    """Seconds after which the endpoint wants to be asked again, if it says so in a way that can be read."""
    headers = answer.headers
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    date = parsedate_tz(headers.get("retry-after", ""))
    return None if date is None else max(0.0, mktime_tz(date) - time.time())
