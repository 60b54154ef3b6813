"""The error that every caller of the durable store must expect."""


class StoreUnavailable(Exception):
    """The store is down, slow or refused: assume nothing about the last request. The message names the cause."""
