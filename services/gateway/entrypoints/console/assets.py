"""The console's own files: under names that carry their content's hash, so that a browser asks for each once."""

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
_FOR_GOOD = "public, max-age=31536000, immutable"


class Asset(NamedTuple):
    body: bytes
    zipped: bytes
    media_type: str
    etag: str


class Assets:
    """Read and compressed once, when the gateway starts."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._urls: dict[str, str] = {}
        self._assets: dict[str, Asset] = {}
        # Modules name each other, so all carry one hash: that of everything.
        files = sorted(path for path in folder.iterdir() if path.is_file())
        version = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]
        for path in files:
            self._urls[path.name] = f"/console/static/{version}/{path.name}"
            self._assets[path.name] = _asset(path)
        self.version = version

    @property
    def urls(self) -> Mapping[str, str]:
        return self._urls

    def size(self, name: str, *, zipped: bool = True) -> int:
        asset = self._assets[name]
        return len(asset.zipped if zipped else asset.body)

    async def serve(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["name"])
        if asset is None:
            return Response(status_code=404)
        known = request.path_params["version"] == self.version
        headers = {
            "Cache-Control": _FOR_GOOD if known else "no-cache",  # during an update replicas differ
            "ETag": asset.etag,
            "Vary": "Accept-Encoding",
        }
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        if accepts_gzip(request):
            headers["Content-Encoding"] = "gzip"
        return Response(
            asset.zipped if accepts_gzip(request) else asset.body, media_type=asset.media_type, headers=headers
        )


def accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:24]}"'
    return Asset(body, gzip.compress(body, 9, mtime=0), media_type, etag)
