"""In whose name somebody acts: the user's own, or, for who may let others write, anybody's."""

from services.simulator.core.keys import Forbidden
from services.simulator.core.modalities.email import EmailModality
from services.simulator.core.modalities.sms import SmsModality
from services.simulator.entrypoints.request_context import RequestContext


def require_own_address(place: RequestContext, address: str) -> None:
    """Raises ``Forbidden``."""
    email = place.world.modality("email")
    own = isinstance(email, EmailModality) and email.tables.is_user(address)
    _require_own_or_permitted(place, own, "email:receive")


def require_own_number(place: RequestContext, number: str) -> None:
    """Raises ``Forbidden``."""
    sms = place.world.modality("sms")
    own = isinstance(sms, SmsModality) and sms.tables.user == number
    _require_own_or_permitted(place, own, "sms:receive")


def _require_own_or_permitted(place: RequestContext, own: bool, permission: str) -> None:
    if not own and not place.caller.may(permission):
        raise Forbidden(f"Permission denied. Required permission: {permission}, to act in another's name")
