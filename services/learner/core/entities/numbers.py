"""Numbers as people write them in different countries, exact."""

import re
from decimal import Decimal

# 1,234.56 · 1.234,56 · 1 234,56 · 1'234.50 · 12,34,567.89 · 1234.56 · 0,5
NUMBER = r"(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d{1,4})?|\d+(?:[.,]\d+)*)"
_SPACES = re.compile(r"[ \u00a0\u202f'’]")
_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_GROUP = 3


def read_number(written: str) -> Decimal | None:
    """The number; None where it can be read in no way, such as ``1.2.3``.

    Of a point and a comma the last one begins the fraction. One that stands alone before exactly three digits groups
    thousands, as amounts of business are written, except behind a zero (``0.125``).
    """
    plain = _SPACES.sub("", written)
    marks = re.findall(r"[.,]", plain)
    if not marks:
        return Decimal(plain)
    if _INDIAN.fullmatch(plain):
        return Decimal(plain.replace(",", ""))
    last = marks[-1]
    if len(set(marks)) == 1:
        return _with_one_mark(plain, last)
    grouping = "," if last == "." else "."
    if marks.count(last) > 1 or not _is_grouped(plain.rpartition(last)[0], grouping):
        return None
    return Decimal(plain.replace(grouping, "").replace(last, "."))


def _with_one_mark(plain: str, mark: str) -> Decimal | None:
    head, *rest = plain.split(mark)
    if len(rest) > 1 or (len(rest[0]) == _GROUP and head.strip("0") and len(head) <= _GROUP):
        return Decimal(head + "".join(rest)) if _is_grouped(plain, mark) else None
    return Decimal(f"{head}.{rest[0]}")


def _is_grouped(whole: str, mark: str) -> bool:
    head, *rest = whole.split(mark)
    return bool(head) and len(head) <= _GROUP and all(len(group) == _GROUP for group in rest)


def plain(number: Decimal) -> str:
    """The same text for the same number: no exponent, no zeros at the end of a fraction."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
