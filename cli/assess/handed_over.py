"""Assessments handed to a gateway, whose console shows them."""

from cli.console import Complaint
from cli.gateway.client import connect_gateway
from shared.contracts.assessment.kept import Assessment
from shared.domain.exact_json import loads_object


async def hand_over_assessment(url: str, kept: Assessment) -> str:
    """The address of its page; shows the gateway the key in PURPLE_API_KEY. Raises ``Complaint``."""
    async with connect_gateway(url) as gateway:
        answer = await gateway.keep_assessment(loads_object(kept.model_dump_json()))
    page = answer.get("page")
    if not isinstance(page, str):
        raise Complaint(f"The gateway at {url} did not say where the assessment is to be seen.")
    return f"{url.rstrip('/')}{page}"
