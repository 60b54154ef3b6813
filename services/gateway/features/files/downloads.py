"""A file as an HTTP answer that no browser takes for a page of ours."""

from urllib.parse import quote

from starlette.responses import Response

from services.gateway.features.files.service import KeptFile


def download(file: KeptFile) -> Response:
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
        "Cache-Control": "private, no-store",
    }
    return Response(file.content, media_type="application/octet-stream", headers=headers)
