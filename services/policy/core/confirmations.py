"""Whether a person has confirmed a call."""

from collections.abc import Iterable

from services.policy.core.session_calls import same
from services.policy.core.values import Context
from shared.contracts.policy import Confirmation
from shared.domain.words import Level


def is_confirmed(tool: str, call_id: str, context: Context, level: Level | None, given: Iterable[Confirmation]) -> bool:
    """Whether one of the confirmations covers this call and comes from somebody of that level or above."""
    return any(
        yes.tool == tool
        and yes.call_id in (None, call_id)
        and reaches(yes, level)
        and all(name in context and same(context[name], value) for name, value in yes.fields.items())
        for yes in given
    )


def reaches(given: Confirmation, level: Level | None) -> bool:
    """An unknown level is nobody's."""
    if level is None:
        return True
    try:
        return given.level is not None and Level.parse(given.level) >= level
    except ValueError:
        return False
