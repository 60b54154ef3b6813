"""Errors of a store that are about the data it has, not about itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from services.learner.ports.memory import Spoiled
from shared.ports.store import StoreUnavailable

_OF_THE_DATA = ("WRONGTYPE", "not an integer", "would overflow")


@contextmanager
def telling_spoiled() -> Iterator[None]:
    """``StoreUnavailable`` from inside is ``Spoiled`` where the server says so of its data."""
    try:
        yield
    except StoreUnavailable as error:
        if any(words in str(error) for words in _OF_THE_DATA):
            raise Spoiled(str(error)) from error
        raise
