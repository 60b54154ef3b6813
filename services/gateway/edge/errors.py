"""The gateway's refusals. Each message is a sentence that a client's developer can act on."""

from collections.abc import Sequence
from math import ceil
from typing import ClassVar, NamedTuple


class QuotaUsage(NamedTuple):
    """A rate limit and how much is left: ``left`` of ``quota``, which is full again in ``whole_in`` seconds."""

    name: str
    quota: int
    window: int
    left: int
    whole_in: float


class RateLimitStatus(NamedTuple):
    """A caller's rate limits.

    ``used_up``: the one that refuses the request, which may be repeated in ``wait`` seconds.
    """

    measures: tuple[QuotaUsage, ...] = ()
    used_up: str = ""
    wait: float = 0


class GatewayRefusal(Exception):
    """The request is refused; the message names the cause. ``status``: on the gateway's own paths."""

    status: ClassVar[int] = 400


class InvalidField(GatewayRefusal):
    """A field is missing, of the wrong type or not allowed. ``field`` is its path in ``params``."""

    def __init__(self, field: str, cause: str) -> None:
        super().__init__(f"{field}: {cause}")
        self.field = field


class UnsupportedContent(GatewayRefusal):
    def __init__(self, field: str, cause: str) -> None:
        super().__init__(f"{field}: {cause}")


class UnsupportedMediaType(GatewayRefusal):
    """The request declares its body as something other than JSON."""

    def __init__(self, said: str) -> None:
        super().__init__(f"Content-Type: send application/json, not {said!r}")


class NoExtendedCard(GatewayRefusal):
    """There is an extended card, but not for this caller."""


class NotFound(GatewayRefusal):
    """There is nothing of that kind and name, or nothing that this caller may see."""

    status = 404

    def __init__(self, what: str) -> None:
        super().__init__(f"there is no {what}")


class NoVisibleTask(NotFound):
    def __init__(self, task_id: str) -> None:
        super().__init__(f"task {task_id!r} that you may see")


class UnknownApproval(NotFound):
    """There is no such approval, or the caller may not see it, or its deadline has passed."""


class UnknownAssessment(NotFound):
    """There is no such assessment, or the caller may not see it, or it has expired."""


class MissingRole(GatewayRefusal):
    """The caller lacks the role that this takes; the message names it."""

    status = 403


class NotAnOperator(MissingRole):
    def __init__(self) -> None:
        super().__init__("you do not have the role operator")


class Unavailable(GatewayRefusal):
    """What this takes does not answer now; the message says what."""

    status = 503


class Unsupported(GatewayRefusal):
    """A method or operation that this gateway does not offer, or not in this state."""


class TaskHasEnded(Unsupported):
    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(
            f"task {task_id!r} has ended ({state}) and takes no further message; send one without a task id"
        )


class NotCancelable(GatewayRefusal):
    def __init__(self, task_id: str, state: str) -> None:
        super().__init__(f"task {task_id!r} cannot be canceled: it is {state}")


class NotAClient(GatewayRefusal):
    """A verified principal without the role client tried to begin or continue a task."""

    def __init__(self) -> None:
        super().__init__("you do not have the role client, and may not send tasks")


class DecisionNotCounted(GatewayRefusal):
    """An approver's answer has no effect; the message says why."""

    status = 409

    def __init__(self, approval_id: str, why: str) -> None:
        super().__init__(f"approval {approval_id!r} takes no such answer: {why}")
        self.why = why


class Unauthenticated(GatewayRefusal):
    """The credentials identify nobody. The message does not say what was wrong with a key."""


class NotEntitled(GatewayRefusal):
    """The caller is known, but has no right here; the message says what is missing."""


class TooManyRequests(GatewayRefusal):
    """A rate limit of the caller is used up; the request may be repeated in ``wait`` whole seconds."""

    status = 429

    def __init__(self, cause: str, wait: float, standing: RateLimitStatus | None = None) -> None:
        self.wait = max(1, ceil(wait))
        super().__init__(f"{cause}; try again in {self.wait} s")
        self.standing = standing or RateLimitStatus()


class IssuerUnavailable(Exception):
    """A token cannot be checked now, since its issuer's keys cannot be fetched. It may pass."""


class NothingToResolve(GatewayRefusal):
    """There is no such doubt, or no longer: the message says who decided first, or how the task ended."""

    status = 409

    def __init__(self, task_id: str, call: str, why: str) -> None:
        super().__init__(f"nothing is to be resolved about call {call!r} of task {task_id!r}: {why}")


class StoppedTenant(GatewayRefusal):
    """An operator has stopped the tenant; the message may be sent again later."""

    status = 503

    def __init__(self, tenant: str, reason: str) -> None:
        super().__init__(f"tenant {tenant!r} is stopped and takes no messages for now: {reason}")


class WouldRepeatWrites(GatewayRefusal):
    """Starting the task again would repeat these writes; an operator may insist."""

    status = 409

    def __init__(self, letter_id: str, writes: Sequence[str]) -> None:
        super().__init__(
            f"dead letter {letter_id!r} is not begun anew: its task made these writes, or may have, and would make "
            f"them again: {'; '.join(writes)}. To have them made again all the same, say so: again"
        )


class UnknownWebhook(GatewayRefusal):
    def __init__(self, task_id: str, config_id: str | None) -> None:
        which = f"webhook {config_id!r}" if config_id else "webhook"
        super().__init__(f"task {task_id!r} has no {which}")


class PushUnsupported(GatewayRefusal):
    status = 404

    def __init__(self) -> None:
        super().__init__("push notifications are not offered; poll tasks/get or read GET /tasks/{id}/events")
