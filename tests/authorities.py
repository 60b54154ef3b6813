"""Whose certificates HTTP clients of the tests trust: one authority's, since each client reads all that it trusts."""

import os
from pathlib import Path

_FILE, _OF_THE_USER = "SSL_CERT_FILE", "TESTS_SSL_CERT_FILE_OF_THE_USER"


def trust_one_authority() -> None:
    """In this process and those that it starts, whatever the user's environment names.

    No test speaks to a server that a usual authority vouches for; reading those takes longer than most requests.
    """
    os.environ.setdefault(_OF_THE_USER, os.environ.get(_FILE, ""))
    os.environ[_FILE] = str(Path(__file__).with_name("authority.pem"))


def environment_of_the_user() -> dict[str, str]:
    """For a command that asks a package index: it trusts whom the user's own commands trust."""
    environment = {name: value for name, value in os.environ.items() if name != _FILE}
    if named := environment.pop(_OF_THE_USER, ""):
        environment[_FILE] = named
    return environment
