"""Requests to a simulator over one HTTP client: typed answers, typed errors, bounded retries."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, TypeVar

import httpx
from pydantic import BaseModel, JsonValue, ValidationError as Unreadable

from shared.contracts.base import describe_first_error
from shared.contracts.ues.modalities import ActionResult
from shared.ports.simulator import SimulatorFailed, SimulatorRefused


class UESError(SimulatorFailed):
    """A failure of the client, with a message for people."""


class UESConnectionError(UESError):
    """The simulator could not be reached, or the connection was lost."""


class UESTimeoutError(UESError):
    """No answer came in time; whether the request was carried out is not known."""


class ProtocolError(UESError):
    """The reply does not follow the protocol of a simulator (UES, the User Environment Simulator)."""


class APIError(UESError, SimulatorRefused):
    """The simulator refused the request. ``body`` is its answer, as JSON if it was JSON."""

    def __init__(self, message: str, status_code: int, body: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.body = body


class ValidationError(APIError):
    """422: the request has the wrong shape."""


class NotFoundError(APIError):
    """404: the simulator has no such world, path or object."""


class ConflictError(APIError):
    """409: the simulation's state does not allow the request."""


class ServerError(APIError):
    """500 and above: the simulator failed."""


Answer = TypeVar("Answer", bound=BaseModel)
FieldValue = JsonValue | datetime | Sequence[str] | Mapping[str, JsonValue] | Sequence[Mapping[str, JsonValue]]
_RETRIED_STATUSES = frozenset({502, 503, 504})
_RETRY_PAUSES = (0.2, 0.5, 1.0, 2.0)
_ERRORS_BEFORE_SENDING = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_ERROR_TYPES_BY_STATUS: Mapping[int, type[APIError]] = {404: NotFoundError, 409: ConflictError, 422: ValidationError}
_LONGEST_ERROR = 500


class WorldConnection:
    """Sends requests to one world: reads, deletions and what was never sent at most ``attempts`` times, others once."""

    def __init__(self, http: httpx.AsyncClient, attempts: int = 1) -> None:
        self._http = http
        self._attempts = max(1, attempts)

    async def get(self, kind: type[Answer], path: str, **query: FieldValue | None) -> Answer:
        return _parse_answer(kind, await self._get(path, query))

    async def post_read(self, kind: type[Answer], path: str, body: Mapping[str, JsonValue]) -> Answer:
        """Sends a POST that only reads, which may therefore be repeated, and parses the answer as ``kind``. Raises
        ``UESError``.
        """
        return _parse_answer(kind, await self._send_request("POST", path, body=body, may_repeat=True))

    async def post(self, kind: type[Answer], path: str, body: Mapping[str, JsonValue] | None = None) -> Answer:
        return _parse_answer(kind, await self._send_request("POST", path, body=body))

    async def post_json(self, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
        """The JSON answer to a POST; None for an empty one."""
        return _parse_json_answer(await self._send_request("POST", path, body=body))

    async def get_json(self, path: str, **query: FieldValue | None) -> JsonValue:
        """The JSON answer to a GET."""
        return _parse_json_answer(await self._get(path, query))

    async def delete(self, path: str) -> JsonValue:
        return _parse_json_answer(await self._send_request("DELETE", path, may_repeat=True))

    async def _get(self, path: str, query: Mapping[str, FieldValue | None]) -> httpx.Response:
        params = {name: _format_query_value(value) for name, value in drop_none_values(**query).items()}
        return await self._send_request("GET", path, params=params, may_repeat=True)

    async def _send_request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, JsonValue] | None = None,
        may_repeat: bool = False,
    ) -> httpx.Response:
        for attempt in range(1, self._attempts):
            try:
                answer = await self._send_once(method, path, params, body)
            except (UESConnectionError, UESTimeoutError) as error:
                if not (may_repeat or isinstance(error.__cause__, _ERRORS_BEFORE_SENDING)):
                    raise
            else:
                if answer.status_code not in _RETRIED_STATUSES or not may_repeat:
                    return _raise_for_error_status(answer)
            await asyncio.sleep(_RETRY_PAUSES[min(attempt, len(_RETRY_PAUSES)) - 1])
        return _raise_for_error_status(await self._send_once(method, path, params, body))

    async def _send_once(
        self, method: str, path: str, params: Mapping[str, str] | None, body: Mapping[str, JsonValue] | None
    ) -> httpx.Response:
        request_name = f"{method} {path}"
        try:
            return await self._http.request(method, path, params=params, json=None if body is None else dict(body))
        except httpx.TimeoutException as error:
            raise UESTimeoutError(f"the simulator did not answer {request_name} in time") from error
        except httpx.TransportError as error:
            raise UESConnectionError(f"the simulator could not be reached for {request_name}: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UESError(f"{request_name} could not be asked: {error}") from error


class WorldEndpoints:
    """Base of the clients for the parts of a world's interface. ``modality``: the part's name in its paths."""

    modality: ClassVar[str]

    def __init__(self, connection: WorldConnection) -> None:
        self._connection = connection

    async def get_compact_state(self) -> JsonValue:
        return await self._connection.get_json(f"/{self.modality}/state", compact=True)

    async def post_action(self, action: str, **body: FieldValue | None) -> ActionResult:
        """Carries out an action, such as ``send``. ``body``: its fields as the server names them."""
        return await self._connection.post(ActionResult, f"/{self.modality}/{action}", drop_none_values(**body))


def drop_none_values(**values: FieldValue | None) -> dict[str, JsonValue]:
    """The values that are not ``None``, as JSON; times become text."""
    return {name: _convert_field_to_json(value) for name, value in values.items() if value is not None}


def _convert_field_to_json(value: FieldValue) -> JsonValue:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): _convert_field_to_json(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_convert_field_to_json(part) for part in value]
    return value


def _format_query_value(value: JsonValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _raise_for_error_status(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    status = answer.status_code
    kind = ServerError if status >= 500 else _ERROR_TYPES_BY_STATUS.get(status, APIError)
    body = _read_json_or_text(answer)
    raise kind(_extract_error_message(body) or f"the simulator answered {status}", status, body)


def _read_json_or_text(answer: httpx.Response) -> JsonValue:
    try:
        return _parse_json_answer(answer)
    except ProtocolError:
        return answer.text[:_LONGEST_ERROR]


def _extract_error_message(body: JsonValue) -> str:
    """The server's message: ``detail`` (a text, a list, an object's message), else ``message``, else ``error``."""
    if not isinstance(body, dict):
        return str(body or "")[:_LONGEST_ERROR]
    detail = body.get("detail")
    if isinstance(detail, dict):
        detail = detail.get("message") or str(detail)
    if isinstance(detail, list):
        detail = "; ".join(_describe_error_part(part) for part in detail)
    return str(detail or body.get("message") or body.get("error") or "")[:_LONGEST_ERROR]


def _describe_error_part(part: JsonValue) -> str:
    if not isinstance(part, dict):
        return str(part)
    location = part.get("loc")
    path = ".".join(str(name) for name in location) if isinstance(location, list) else ""
    return f"{path}: {part.get('msg', '')}".strip(": ")


def _parse_json_answer(answer: httpx.Response) -> JsonValue:
    if not answer.content:
        return None
    try:
        value: JsonValue = answer.json()
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the simulator answered something that is no JSON to {answer.url.path}") from error
    return value


def _parse_answer(kind: type[Answer], answer: httpx.Response) -> Answer:
    try:
        return kind.model_validate_json(answer.content)
    except Unreadable as error:
        raise ProtocolError(f"no {kind.__name__} came from {answer.url.path}: {describe_first_error(error)}") from error
