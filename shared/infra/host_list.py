"""A list of hosts as it stands in a setting: ``erp.acme.example, 10.2.0.0/16, tools.acme.example:8443``."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import NoDecode

from shared.domain.outgoing import reach_entries


def _split(given: object) -> object:
    return tuple(filter(None, map(str.strip, given.split(",")))) if isinstance(given, str) else given


def _check_entries(entries: tuple[str, ...]) -> tuple[str, ...]:
    reach_entries(entries)
    return entries


HostList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), AfterValidator(_check_entries)]
