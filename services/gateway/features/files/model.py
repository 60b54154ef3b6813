"""Files as the three dialects send them, and as they are kept."""

import base64
import hashlib
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import object_at, text_at
from shared.contracts.task import FILE_ID, SentFile
from shared.domain.exact_json import JsonObject

_KEYS = ("file", "raw", "url")
_SHORTEST_TWICE = 16  # characters; shorter texts happen to be base64
_BYTES, _ADDRESS = ("raw", "bytes", "fileWithBytes"), ("url", "uri", "fileWithUri")


class ClientFile(NamedTuple):
    """``content`` is None where the client gives an address. ``path`` is its place in the message."""

    file: SentFile
    content: bytes | None
    path: str

    @property
    def kept_part(self) -> dict[str, JsonValue]:
        """The part as a record keeps it, in the words of protocol 1.0 and without the bytes."""
        held = {FILE_ID: self.file.file_id} if self.content is not None else {"url": self.file.url}
        named = {"filename": self.file.name, "mediaType": self.file.media_type}
        return {**held, **{name: value for name, value in named.items() if value}}


class KeptFile(NamedTuple):
    name: str
    content: bytes


def is_file(part: JsonObject) -> bool:
    return any(part.get(key) is not None for key in _KEYS)


def read_file(part: JsonObject, path: str) -> ClientFile:
    """A part that has a file, in any dialect; raises ``InvalidField``."""
    nested = part.get("file") is not None
    held = object_at(part, "file", f"{path}.file") if nested else part
    place = f"{path}.file" if nested else path
    given = [key for key in (*_BYTES, *_ADDRESS) if held.get(key) is not None]
    if len(given) != 1:
        raise InvalidField(place, "must have either the bytes of the file or its address")
    said = text_at(held, given[0], f"{place}.{given[0]}") or ""
    name = text_at(held, "filename", place) or text_at(held, "name", place)
    media_type = text_at(held, "mediaType", place) or text_at(held, "mimeType", place)
    file = SentFile(name=name or None, media_type=media_type or None)
    if given[0] in _ADDRESS:
        return ClientFile(file.model_copy(update={"url": said}), None, f"{place}.{given[0]}")
    content = _decode(said, f"{place}.{given[0]}")
    if given[0] == "fileWithBytes":
        content = _unwrap(content)
    known = {"file_id": hashlib.sha256(content).hexdigest(), "size": len(content)}
    return ClientFile(file.model_copy(update=known), content, f"{place}.{given[0]}")


def _unwrap(content: bytes) -> bytes:
    """The official library of 0.3 encodes files over REST twice; what decodes once more was meant so."""
    if len(content) < _SHORTEST_TWICE or len(content) % 4:
        return content
    try:
        return base64.b64decode(content, validate=True)
    except ValueError:
        return content


def _decode(text: str, path: str) -> bytes:
    usual = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(usual + "=" * (-len(usual) % 4), validate=True)
    except ValueError:
        raise InvalidField(path, "must be base64") from None
