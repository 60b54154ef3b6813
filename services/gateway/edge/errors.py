"""The exceptions by which the gateway refuses a request. The messages are meant for the client's developers."""

from math import ceil
from typing import ClassVar, NamedTuple


class QuotaUsage(NamedTuple):
    """The use of one rate limit: ``remaining`` of ``quota`` may be used now, and all of it in ``reset_seconds``.

    ``window``: the limit's period in seconds.
    """

    name: str
    quota: int
    window: int
    remaining: int
    reset_seconds: float


class RateLimitStatus(NamedTuple):
    """A caller's rate limits after a request was counted.

    ``used_up``: the name of the limit that refuses the request, empty if none does; ``wait``: the seconds until the
    request may be repeated.
    """

    usages: tuple[QuotaUsage, ...] = ()
    used_up: str = ""
    wait: float = 0


class GatewayRefusal(Exception):
    """The request is refused; the message names the cause. ``status``: the HTTP status on the gateway's own paths."""

    status: ClassVar[int] = 400


class InvalidField(GatewayRefusal):
    """A field is missing, of the wrong type or not allowed. ``field``: its path in the request."""

    def __init__(self, field: str, cause: str) -> None:
        super().__init__(f"{field}: {cause}")
        self.field = field


class UnsupportedContent(GatewayRefusal):
    """The request has, or asks for, content that this gateway does not handle; the message names the field."""


class UnsupportedMediaType(GatewayRefusal):
    """The request declares its body as something other than JSON."""


class NoExtendedCard(GatewayRefusal):
    """The caller is not authenticated and so gets no extended card."""


class NotFound(GatewayRefusal):
    """The object that the request names does not exist, or the caller may not see it. ``subject``: its kind and
    name.
    """

    status = 404

    def __init__(self, subject: str) -> None:
        super().__init__(f"there is no {subject}")


class NoVisibleTask(NotFound):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"task {task_id!r} that you may see")


class MissingRole(GatewayRefusal):
    """The caller lacks a role that the request requires; the message names it."""

    status = 403


class NotAnOperator(MissingRole):
    """The caller lacks the role operator."""


class Unavailable(GatewayRefusal):
    """A service that the request needs does not answer at present; the message names it."""

    status = 503


class Unsupported(GatewayRefusal):
    """This gateway does not offer the method or operation, or not in the task's present state."""


class TaskHasEnded(Unsupported):
    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(
            f"task {task_id!r} has ended ({state}) and takes no further message; send one without a task id"
        )


class NotCancelable(GatewayRefusal):
    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id!r} cannot be canceled: it is {state}")


class NotAClient(MissingRole):
    """A verified principal without the role client tried to begin or continue a task."""


class DecisionNotCounted(GatewayRefusal):
    """An approver's answer has no effect; the message says why."""

    status = 409

    def __init__(self, approval_id: str, reason: str) -> None:
        super().__init__(f"approval {approval_id!r} takes no such answer: {reason}")
        self.reason = reason


class Unauthenticated(GatewayRefusal):
    """The credentials are missing or invalid. The message does not say what is wrong with a key."""


class NotEntitled(GatewayRefusal):
    """The token is valid but lacks a claim that this gateway requires; the message names it."""


class TooManyRequests(GatewayRefusal):
    """A rate limit is used up; the request may be repeated in ``wait`` seconds."""

    status = 429

    def __init__(self, cause: str, wait: float, rate_limits: RateLimitStatus | None = None) -> None:
        self.wait = max(1, ceil(wait))
        super().__init__(f"{cause}; try again in {self.wait} s")
        self.rate_limits = rate_limits or RateLimitStatus()


class IssuerUnavailable(Exception):
    """A token cannot be verified at present, since its issuer's keys cannot be fetched; it may be valid."""


class NothingToResolve(GatewayRefusal):
    """The task has no such write in doubt, or no longer: the message says who resolved it, or how the task ended."""

    status = 409

    def __init__(self, task_id: str, call_id: str, reason: str) -> None:
        super().__init__(f"nothing is to be resolved about call {call_id!r} of task {task_id!r}: {reason}")


class StoppedTenant(GatewayRefusal):
    """An operator has stopped the tenant; the message may be sent again later."""

    status = 503


class WouldRepeatWrites(GatewayRefusal):
    """Starting a dead letter's task again would repeat its writes, which takes an explicit ``again``."""

    status = 409


class UnknownWebhook(GatewayRefusal):
    """The task has no such webhook."""


class PushUnsupported(GatewayRefusal):
    status = 404

    def __init__(self) -> None:
        super().__init__("push notifications are not offered; poll tasks/get or read GET /tasks/{id}/events")
