"""What can go wrong between a client and a simulator."""

from shared.ports.simulator import SimulatorFailed, SimulatorRefused


class UESError(SimulatorFailed):
    """Every failure of the client is one of these; the message is a sentence for people."""


class UESConnectionError(UESError):
    """Nobody was there, or the line was cut."""


class UESTimeoutError(UESError):
    """No answer came in time; whether the request was carried out is not known."""


class ProtocolError(UESError):
    """What came back is no answer of a simulator."""


class APIError(UESError, SimulatorRefused):
    """The simulator said no. ``body`` is what it said, as JSON if it was any."""

    def __init__(self, message: str, status_code: int, body: object = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.body = body


class ValidationError(APIError):
    """422: the request has the wrong shape."""


class NotFoundError(APIError):
    """404."""


class ConflictError(APIError):
    """409: not in this state of the simulation."""


class ServerError(APIError):
    """500 and above."""
