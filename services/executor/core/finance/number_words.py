"""Numbers written out in English: ``five hundred``, ``twenty-five``, ``one hundred and five thousand``."""

import re
from collections.abc import Iterator

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_VALUES = {word: value for value, word in enumerate(_SMALL)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_ANY = "|".join([*_VALUES, *_SCALES])
_NUMBER = re.compile(rf"\b(?:(?:a|an)\s+(?=hundred|thousand|million|billion|dozen))?(?:{_ANY})"
                     rf"(?:(?:\s+and\s+|[\s-]+)(?:{_ANY}))*\b", re.I)  # fmt: skip
_BETWEEN = ("a", "an", "and")
_WORD = re.compile("[a-z]+")
_AMOUNT = re.compile(r"\s*(?:%|per\s?cent|dollars?|euros?|pounds?|francs?|yen|cents?|[A-Z]{3}\b)")
_BEGIN = 100  # more than any single word that may begin a number
_EVERYDAY = 10  # "one of them", "no more than two": below it a word is a figure only where a unit follows


def numbers_in_words(text: str, *, everyday: bool = False) -> list[int]:
    """The numbers that a text spells out; ``everyday``: also ``one`` to ``nine`` standing alone, without a unit."""
    return [number for match in _NUMBER.finditer(text) for number in _counted(match, text, everyday)]


def number_in_words(text: str) -> int | None:
    """The number that a text spells out where it says nothing else: ``twenty-five``; None otherwise."""
    match = _NUMBER.fullmatch(text.strip())
    numbers = _read(_WORD.findall(match[0].lower())) if match else []
    return numbers[0] if len(numbers) == 1 else None


def begins_number(word: str) -> bool:
    """Whether a number that is spelled out can begin with the word."""
    return word in _VALUES or word in _SCALES


def _counted(match: re.Match[str], text: str, everyday: bool) -> Iterator[int]:
    *before, last = _read(_WORD.findall(match[0].lower()))
    has_unit = _AMOUNT.match(text, match.end()) is not None
    yield from (number for number in before if everyday or number >= _EVERYDAY)
    if everyday or last >= _EVERYDAY or has_unit:
        yield last


def _read(words: list[str]) -> list[int]:
    """Words in a row as numbers: ``one two`` are two numbers, ``one hundred two`` is one."""
    numbers: list[int] = []
    whole, group, room = 0, 0, _BEGIN
    for word in (word for word in words if word not in _BETWEEN):
        if word in _SCALES:
            whole, group = _scale(whole, group or 1, _SCALES[word])
            room = _SCALES["hundred"]
            continue
        if _VALUES[word] >= room:
            numbers.append(whole + group)
            whole, group = 0, 0
        group += _VALUES[word]
        room = 10 if word in _TENS else 0
    return [*numbers, whole + group]


def _scale(whole: int, group: int, scale: int) -> tuple[int, int]:
    """``hundred`` multiplies what was said last; a greater scale closes a group of three digits."""
    return (whole, group * scale) if scale <= _SCALES["hundred"] else (whole + group * scale, 0)
