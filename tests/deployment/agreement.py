"""What is wrong between a service's settings and the environment that a deployment gives it."""

from collections.abc import Iterable, Mapping

import pytest
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from shared.infra.main_server import GRACE_SECONDS

_OF_PYTHON = frozenset({"PATH", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"})
_OF_LIBRARIES = "AWS_"  # boto3 reads them by itself
_SECRETS = {
    "secret:redis-url": "redis://:word@redis:6379/0",
    "secret:anthropic-api-key": "a-key",
    "secret:archive-key": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "secret:webhook-secret": "whsec_b2YgdGhlIHdlYmhvb2tzIG9mIHRoZSB0ZXN0cw==",
    "secret:assessment-key": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "secret:queue-redis-url": "redis://:word@queue:6379/0",
    "secret:simulator-admin-key": "0123456789abcdef0123456789abcdef",
}


def disagreements(settings: type[BaseSettings], given: Mapping[str, str]) -> list[str]:
    """Sentences: variables that no setting reads, and why the service would refuse to start."""
    names = {name.upper() for name in settings.model_fields}
    return unread(settings, given) + _refusals(settings, {name: given[name] for name in given.keys() & names})


def unread(settings: type[BaseSettings], given: Iterable[str]) -> list[str]:
    """Sentences: the variables among them that nothing in the service reads."""
    names = {name.upper() for name in settings.model_fields}
    others = {name for name in given if name in _OF_PYTHON or name.startswith(_OF_LIBRARIES)}
    return [f"{name} is no setting" for name in sorted(set(given) - names - others)]


def longest_stop(settings: type[BaseSettings], given: Mapping[str, str]) -> float:
    """The seconds that the service may take to finish what it has begun, once it was asked to stop."""
    if "grace_seconds" not in settings.model_fields:
        return GRACE_SECONDS
    named = [name for name in ("drain_seconds", "grace_seconds") if name in settings.model_fields]
    return sum(float(given.get(name.upper(), settings.model_fields[name].default)) for name in named)


def _refusals(settings: type[BaseSettings], given: Mapping[str, str]) -> list[str]:
    """As at a start: from an environment that holds nothing else."""
    with pytest.MonkeyPatch.context() as environment:
        for name in settings.model_fields:
            environment.delenv(name.upper(), raising=False)
            environment.delenv(name, raising=False)
        for name, value in given.items():
            environment.setenv(name, _SECRETS.get(value, value))
        try:
            settings()
        except ValidationError as error:
            return [f"{'.'.join(map(str, wrong['loc'])).upper()}: {wrong['msg']}" for wrong in error.errors()]
    return []
