"""Parses one file that a client sent, in a process of its own with hard limits: stdin to a ``ParsedFile`` on stdout.

A hostile file can only break this process. Nothing of the service is imported here.
"""

import base64
import io
import json
import resource
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape

CPU_SECONDS = 10
MEMORY_BYTES = 768 * 1024 * 1024
MOST_CHARACTERS = 100_000  # characters
_MOST_UNPACKED_BYTES = 100 * 1024 * 1024  # bytes that an office file says it has inside
_MOST_ENTRIES = 5_000
_MOST_PAGES = 500
_MOST_PIXELS = 40_000_000
_LONGEST_PICTURE_EDGE = 1_568  # pixels; a model sees no more of a picture
_PIXELS_A_TOKEN = 750
_DOCUMENT_TYPE, _SHEET_TYPE, _SLIDES_TYPE = (
    f"application/vnd.openxmlformats-officedocument.{kind}"
    for kind in ("wordprocessingml.document", "spreadsheetml.sheet", "presentationml.presentation")
)
_OPEN_SHEET_TYPE = "application/vnd.oasis.opendocument.spreadsheet"
_OLD_SHEET_TYPE = "application/vnd.ms-excel"
_TYPES_BY_FOLDER = {"word/": _DOCUMENT_TYPE, "xl/": _SHEET_TYPE, "ppt/": _SLIDES_TYPE}
_PICTURE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1b")


class ParsedFile(TypedDict, total=False):
    """What a file holds. ``picture``: a JPEG in base64; ``problem``: why there is neither text nor picture."""

    media_type: str
    text: str
    is_cut: bool
    picture: str
    picture_tokens: int
    problem: str


class UnreadableFile(Exception):
    """The file cannot be parsed. The message is appended to "this file could not be read: "."""


def main() -> None:
    _limit_resources()
    content = sys.stdin.buffer.read()
    parsed_file: ParsedFile = {"media_type": ""}
    try:
        parsed_file["media_type"] = _detect_media_type(content)
        parsed_file |= _parse_file(content, parsed_file["media_type"])
    except UnreadableFile as error:
        parsed_file["problem"] = str(error)
    except MemoryError:
        parsed_file["problem"] = "it needs more memory than a file may have"
    except Exception as error:  # noqa: BLE001 - the outer edge of one file: parsers raise all there is
        parsed_file["problem"] = f"it is damaged, or no such file as it seems ({type(error).__name__})"
    sys.stdout.write(json.dumps(parsed_file))


def _detect_media_type(content: bytes) -> str:
    """The media type that the bytes themselves show, whatever the sender called it."""
    import filetype

    media_type = filetype.guess_mime(content[:8192]) or ""
    if media_type == "application/zip" or media_type in (_DOCUMENT_TYPE, _SHEET_TYPE, _SLIDES_TYPE):
        return _detect_type_of_zip(content)
    return str(media_type) or ("text/plain" if _decode_text(content) is not None else "application/octet-stream")


def _limit_resources() -> None:
    for limit, bound in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (bound, bound))


def _parse_file(content: bytes, media_type: str) -> ParsedFile:
    if media_type.startswith("image/"):
        return _read_picture(content)
    reader = _READERS_BY_MEDIA_TYPE.get(media_type)
    if reader is None:
        raise UnreadableFile(f"files of the type {media_type} are not read")
    text, is_cut = _join_until_full(reader(content))
    if not text.strip():
        raise UnreadableFile("there is no text in it")
    return {"text": text, "is_cut": is_cut}


def _join_until_full(lines: Iterator[str]) -> tuple[str, bool]:
    texts: list[str] = []
    free_characters = MOST_CHARACTERS
    for line in lines:
        texts.append(line[:free_characters])
        free_characters -= len(line) + 1
        if free_characters < 0:
            return "\n".join(texts)[:MOST_CHARACTERS], True
    return "\n".join(texts), False


def _detect_type_of_zip(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if len(entries) > _MOST_ENTRIES or sum(entry.file_size for entry in entries) > _MOST_UNPACKED_BYTES:
            raise UnreadableFile("what is packed in it is too large")
        names = [entry.filename for entry in entries]
        if "mimetype" in names and archive.read("mimetype") == _OPEN_SHEET_TYPE.encode():
            return _OPEN_SHEET_TYPE
    kinds = (kind for folder, kind in _TYPES_BY_FOLDER.items() if any(name.startswith(folder) for name in names))
    return next(kinds, "application/zip") if "[Content_Types].xml" in names else "application/zip"


def _decode_text(content: bytes) -> str | None:
    """The bytes as text, in one of the usual encodings; None if they are no text."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace")
    if _CONTROL_BYTES.intersection(content):
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _read_text(content: bytes) -> Iterator[str]:
    text = _decode_text(content)
    if text is None:
        raise UnreadableFile("it is no text")
    yield from text.splitlines()


def _read_pdf(content: bytes) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableFile("it is locked with a password")
    for number, page in enumerate(reader.pages):
        if number >= _MOST_PAGES:
            yield f"(and {len(reader.pages) - _MOST_PAGES} more pages)"
            return
        yield page.extract_text()


def _read_document(content: bytes) -> Iterator[str]:
    from docx import Document
    from docx.table import Table

    for block in Document(io.BytesIO(content)).iter_inner_content():
        if isinstance(block, Table):
            yield from (_join_cells(cell.text for cell in row.cells) for row in block.rows)
        else:
            yield block.text


def _read_slides(content: bytes) -> Iterator[str]:
    from pptx import Presentation

    for number, slide in enumerate(Presentation(io.BytesIO(content)).slides, 1):
        yield f"# Slide {number}"
        for shape in slide.shapes:
            yield from _list_lines_of_shape(shape)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            yield slide.notes_slide.notes_text_frame.text


def _list_lines_of_shape(shape: "BaseShape") -> Iterator[str]:
    from pptx.shapes.autoshape import Shape
    from pptx.shapes.graphfrm import GraphicFrame
    from pptx.shapes.group import GroupShape

    if isinstance(shape, GroupShape):
        for inner in shape.shapes:
            yield from _list_lines_of_shape(inner)
    elif isinstance(shape, Shape):
        yield shape.text_frame.text
    elif isinstance(shape, GraphicFrame) and shape.has_table:
        yield from (_join_cells(cell.text for cell in row.cells) for row in shape.table.rows)


def _read_sheets(content: bytes) -> Iterator[str]:
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    for name in book.sheet_names:
        yield f"# {name}"
        for row in book.get_sheet_by_name(name).iter_rows():
            if line := _join_cells(_format_cell(cell) for cell in row).rstrip("\t"):
                yield line


def _format_cell(cell: object) -> str:
    """A cell's value as text: whole numbers without a decimal point, other numbers with only their own digits."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15 else str(cell)


def _join_cells(texts: Iterator[str]) -> str:
    return "\t".join(" ".join(text.split()) for text in texts)


_READERS_BY_MEDIA_TYPE: dict[str, Callable[[bytes], Iterator[str]]] = {
    "text/plain": _read_text,
    "text/html": _read_text,
    "text/xml": _read_text,
    "application/xml": _read_text,
    "application/rtf": _read_text,
    "application/pdf": _read_pdf,
    _DOCUMENT_TYPE: _read_document,
    _SLIDES_TYPE: _read_slides,
    _SHEET_TYPE: _read_sheets,
    _OPEN_SHEET_TYPE: _read_sheets,
    _OLD_SHEET_TYPE: _read_sheets,
}


def _read_picture(content: bytes) -> ParsedFile:
    """The picture as a JPEG in base64, and its size in tokens of a model.

    It is scaled to the size that models look at, and encoded again so that no metadata of the file is kept. Raises
    ``UnreadableFile`` if it has too many pixels.
    """
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # its own bound warns before it refuses
    with Image.open(io.BytesIO(content), formats=_PICTURE_FORMATS) as image:
        width, height = image.size
        if width * height > _MOST_PIXELS:
            raise UnreadableFile(f"its {width} by {height} pixels are too many")
        image.draft("RGB", (_LONGEST_PICTURE_EDGE, _LONGEST_PICTURE_EDGE))
        picture = ImageOps.exif_transpose(image).convert("RGBA")
    picture.thumbnail((_LONGEST_PICTURE_EDGE, _LONGEST_PICTURE_EDGE))
    page = Image.new("RGB", picture.size, "white")
    page.paste(picture, mask=picture.getchannel("A"))
    jpeg = io.BytesIO()
    page.save(jpeg, "JPEG", quality=85)
    tokens = -(-page.width * page.height // _PIXELS_A_TOKEN)
    return {"picture": base64.b64encode(jpeg.getvalue()).decode(), "picture_tokens": tokens}


if __name__ == "__main__":
    main()
