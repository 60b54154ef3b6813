"""Starts a service with valid settings, or ends it with a sentence for each that is wrong."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings

EXIT_CANNOT_START = 2
S = TypeVar("S", bound=BaseSettings)


class CannotStart(Exception):
    """The service does not start; the message is for whoever started it."""


def build_service_parser(service: str, description: str, commands: Mapping[str, str] | None = None) -> ArgumentParser:
    """The command line of ``python -m services.SERVICE``, to which the caller adds its options.

    ``--help`` prints the usage and exits with 0; anything unknown is refused with ``EXIT_CANNOT_START``. ``commands``:
    what each command does, by name; the caller runs them itself, before it parses the rest.
    """
    prog = f"python -m services.{service}"
    epilog = "Settings are environment variables."
    usage = None
    if commands:
        listed = "".join(f"  {name:<13}{text}\n" for name, text in commands.items())
        usage = f"{prog} [options]\n       {prog} {{{','.join(commands)}}} ..."
        epilog = f"commands, each with a --help of its own:\n{listed}\n{epilog}"
    return ArgumentParser(
        prog=prog, usage=usage, description=description, epilog=epilog, formatter_class=RawDescriptionHelpFormatter
    )


def read_settings(kind: type[S], **overrides: object) -> S:
    """The settings from the environment, overridden by ``overrides``; ``CannotStart`` names each bad variable."""
    try:
        return kind.model_validate(overrides) if overrides else kind()
    except ValidationError as error:
        raise CannotStart(_describe_invalid_settings(error)) from error


def print_start_problem(problem: Exception) -> int:
    """Writes to stderr why the service does not start; returns the exit code."""
    sys.stderr.write(f"{problem}\n")
    return EXIT_CANNOT_START


def _describe_invalid_settings(error: ValidationError) -> str:
    """A sentence about each setting that is missing or wrong. None repeats a value: one may hold a password."""
    faults = error.errors(include_url=False, include_input=False)
    return "\n".join(dict.fromkeys(_describe_invalid_setting(fault) for fault in faults))


def _describe_invalid_setting(fault: ErrorDetails) -> str:
    problem = fault["msg"].removeprefix("Value error, ").rstrip(".")
    if fault["type"] == "string_pattern_mismatch" and "https?" in fault["ctx"]["pattern"]:
        problem = "it must be an http or https URL"
    if not fault["loc"]:
        return f"{problem}."
    name = str(fault["loc"][0]).upper()
    return f"{name} is not set." if fault["type"] == "missing" else f"{name} cannot be used: {problem}."


def require_parseable_url(url: str) -> None:
    """Raises ``ValueError`` for a URL whose host or port no client can read. Nothing else is checked."""
    try:
        parts = urlsplit(url)
        if not (parts.hostname or "").encode("idna") or parts.port == 0:
            raise ValueError("it names no host, or port 0")
    except ValueError as error:
        raise ValueError(f"it is no usable URL: {error}") from error
