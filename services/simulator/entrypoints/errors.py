"""What a caller reads when something is refused."""

from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, JsonValue

from services.simulator.core.refusals import BadInput, InputFault, SimulatorRefusal
from services.simulator.entrypoints.environment import NoModality

Detail = str | dict[str, JsonValue]
_SECRETS = frozenset({"secret"})  # fields whose value no answer repeats


class ErrorDetail(BaseModel):
    """Why a request is refused."""

    detail: Detail


# What every route may answer besides what it is for, for the description of the interface.
REFUSED: Mapping[int | str, dict[str, object]] = {
    400: {"model": ErrorDetail, "description": "Means nothing here"},
    401: {"model": ErrorDetail, "description": "No key, or none that works"},
    403: {"model": ErrorDetail, "description": "The key does not allow that"},
    404: {"model": ErrorDetail, "description": "Not there"},
    409: {"model": ErrorDetail, "description": "Not now"},
    413: {"model": ErrorDetail, "description": "Too large"},
}


_HEADERS = {401: {"WWW-Authenticate": "ApiKey"}, 429: {"Retry-After": "60"}}


def answer_refusals(app: FastAPI) -> None:
    """Turn refusals of the core and of the framework into answers of one shape."""
    app.add_exception_handler(SimulatorRefusal, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_invalid)


async def _answer_refusal(_: Request, problem: Exception) -> JSONResponse:
    if not isinstance(problem, SimulatorRefusal):
        raise problem
    if isinstance(problem, BadInput):
        return _answer_faults(problem.faults)
    if isinstance(problem, NoModality):
        return JSONResponse(
            {
                "error": "Modality Not Found",
                "detail": str(problem),
                "requested_modality": problem.name,
                "available_modalities": problem.available,
            },
            problem.status,
        )
    headers = _HEADERS.get(problem.status)
    detail = problem.detail if isinstance(problem.detail, str) else dict(problem.detail)
    return JSONResponse({"detail": detail}, problem.status, headers)


async def _answer_invalid(_: Request, problem: Exception) -> JSONResponse:
    if not isinstance(problem, RequestValidationError):
        raise problem
    detail = [
        {"type": item["type"], "loc": list(item["loc"]), "msg": item["msg"], "input": _input_of(item)}
        for item in problem.errors()
    ]
    return JSONResponse({"error": "Validation Error", "detail": detail}, 422)


def _input_of(item: Mapping[str, object]) -> object:
    location, input_value = item["loc"], item.get("input")
    hidden = isinstance(location, tuple) and not _SECRETS.isdisjoint(location)
    return None if hidden or isinstance(input_value, bytes) else input_value


def _answer_faults(faults: Sequence[InputFault]) -> JSONResponse:
    detail = [{"type": fault.type, "loc": list(fault.loc), "msg": fault.msg} for fault in faults]
    return JSONResponse({"error": "Validation Error", "detail": detail}, 422)
