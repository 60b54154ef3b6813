"""The shapes in which actions on text messages have been written over the years."""

from services.simulator.core.records import JsonObject


def flat(data: JsonObject) -> JsonObject:
    """The newest: ``operation`` and flat fields.

    The first had ``action``, the middle one ``operation``, both with the fields in an object ``*_data``. What is null
    is left out, so that no ``operation: null`` of a client hides an ``action``.
    """
    nested: JsonObject = {}
    newest: JsonObject = {}
    for name, value in data.items():
        if isinstance(value, dict) and name.endswith("_data"):
            nested |= value
        elif value is not None and not name.endswith("_data"):
            newest["operation" if name == "action" else name] = value
    return nested | newest
