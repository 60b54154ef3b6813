"""Checks in whose name a caller acts: the user's, or, with the permission to receive for the user, anybody's."""

from services.simulator.core.keys import Forbidden
from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modalities.sms import SmsModality
from services.simulator.entrypoints.request_context import RequestContext


def require_own_address(context: RequestContext, address: str) -> None:
    """Raises ``Forbidden`` unless the address is the user's or the caller has ``email:receive``."""
    email = context.world.modality("email")
    own = isinstance(email, EmailModality) and email.tables.is_user(address)
    _require_own_or_permitted(context, own, "email:receive")


def require_own_number(context: RequestContext, number: str) -> None:
    """Raises ``Forbidden`` unless the number is the user's or the caller has ``sms:receive``."""
    sms = context.world.modality("sms")
    own = isinstance(sms, SmsModality) and sms.tables.user == number
    _require_own_or_permitted(context, own, "sms:receive")


def _require_own_or_permitted(context: RequestContext, own: bool, permission: str) -> None:
    if not own and not context.caller.may(permission):
        raise Forbidden(f"Permission denied. Required permission: {permission}, to act in another's name")
