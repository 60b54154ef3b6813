"""The error that every caller of the durable store must expect."""


class StoreUnavailable(Exception):
    """The store is down, slow or refuses. Whether the last request was carried out is unknown. The message names the
    cause.
    """
