"""The error that every caller of the durable store must expect."""


class StoreUnavailable(Exception):
    """The store is down, slow or refuses; the message says which. The last request may have been carried out."""
