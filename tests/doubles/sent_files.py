"""Files as people send them, each made by the library that is usual for its type."""

import io
import zipfile
import zlib

import xlsxwriter
from docx import Document
from PIL import Image
from pptx import Presentation

_PDF = (
    "<</Type/Catalog/Pages 2 0 R>>",
    "<</Type/Pages/Kids[3 0 R]/Count 1>>",
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 5 0 R/Resources<</Font<</F1 4 0 R>>>>>>",
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
)


def pdf_of(text: str) -> bytes:
    """One page with one line of text."""
    drawn = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET"
    written, places = "%PDF-1.4\n", []
    for number, content in enumerate((*_PDF, f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream"), 1):
        places.append(len(written))
        written += f"{number} 0 obj{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer<</Root 1 0 R/Size 6>>\nstartxref\n{len(written)}\n%%EOF"
    return (written + end).encode()


def document_of(text: str) -> bytes:
    document, written = Document(), io.BytesIO()
    document.add_paragraph("Terms")
    document.add_table(1, 1).cell(0, 0).text = text
    document.save(written)
    return written.getvalue()


def slides_of(text: str) -> bytes:
    slides, written = Presentation(), io.BytesIO()
    title = slides.slides.add_slide(slides.slide_layouts[5]).shapes.title
    if title is not None:
        title.text = text
    slides.save(written)
    return written.getvalue()


def sheet_of(text: str, row: int = 0, column: int = 0) -> bytes:
    written = io.BytesIO()
    with xlsxwriter.Workbook(written) as book:
        sheet = book.add_worksheet("Costs")
        sheet.write(0, 0, "first")
        sheet.write(row, column, text)
        sheet.write(1, 1, 2340)
    return written.getvalue()


def image_of(width: int = 60, height: int = 40) -> bytes:
    written = io.BytesIO()
    Image.new("1", (width, height)).save(written, "PNG")
    return written.getvalue()


def image_said_to_be(width: int, height: int) -> bytes:
    """A small file whose head promises that many pixels."""
    image = image_of(1, 1)
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + image[24:29]
    return image[:12] + head + zlib.crc32(head).to_bytes(4, "big") + image[33:]


def zip_bomb(size: int = 110_000_000) -> bytes:
    """A document of a few hundred kilobytes that unpacks to that many bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("word/document.xml", b"0" * size)
    return written.getvalue()
