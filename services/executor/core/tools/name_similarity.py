"""Tells which similar names may mean the same, and which only look alike: ``date`` is no ``rate``.

Names are ranked by their letters, but first each word needs a partner: ``start_date`` never means ``end_date``.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from rapidfuzz import fuzz

from shared.domain.keywords import stem

_ACCEPTED_SCORE = 70.0  # of 100
_LEAST_LEAD_OF_BEST_SCORE = 10.0  # by how much the best score must exceed the next one
_WORD_PATTERN = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_ACCENTS_PATTERN = re.compile(r"[\u0300-\u036f]")
_WORD_ENDINGS = frozenset(" s es y ies e d ed ing ion ions ation ment al".split(" "))
_PERSON_ENDINGS = frozenset("er or ee ers ors ees".split())
_COMMON_LONG_FORMS = {
    "no": "number",
    "num": "number",
    "nr": "number",
    "dt": "date",
    "ts": "timestamp",
    "pct": "percent",
}
# Short forms that databases use, and words for the same party: compared only where every other word is the same.
_LONG_FORMS = {
    **_COMMON_LONG_FORMS, "nm": "name", "cust": "customer", "cst": "customer", "cli": "client", "clnt": "client",
    "amt": "amount", "qty": "quantity", "addr": "address", "adr": "address", "acct": "account", "acc": "account",
    "emp": "employee", "mgr": "manager", "dept": "department", "inv": "invoice", "ord": "order", "prod": "product",
    "cat": "category", "usr": "user", "org": "organization", "cmpny": "company", "comp": "company", "bal": "balance",
    "vend": "vendor", "vndr": "vendor", "supp": "supplier", "tel": "phone", "ph": "phone", "desc": "description",
    "dscr": "description", "stat": "status", "sts": "status", "cre": "created", "upd": "updated", "ref": "reference",
    "curr": "currency", "ccy": "currency", "pmt": "payment", "txn": "transaction", "trx": "transaction",
    "typ": "type", "val": "value", "prc": "price", "cntry": "country", "cty": "city", "fname": "first name",
    "lname": "last name", "rgn": "region",
}  # fmt: skip
_USUAL_WORD_BY_SYNONYM = {
    "client": "customer",
    "supplier": "vendor",
    "telephone": "phone",
    "organisation": "organization",
}
_ID_WORDS = frozenset("id ids key no num number code ref".split())
_LONGEST_NAME = 100  # characters; what is longer is a text, of which nothing is kept
_DOUBLED_LETTER_PATTERN = re.compile(r"(.)\1")
# Words that, added to a name, make it the name of something else: a part, a time, a unit, a state of it.
_WORDS_THAT_CHANGE_MEANING = frozenset(
    """id ids key no num number name code ref type kind class status state flag date day time at on by to from of for
    in out start end min max low high first last next previous prev old original prior total count quantity qty rate
    ratio percent pct tax vat fee net gross paid unpaid due owed open left remaining balance limit budget cap
    threshold variance delta change difference discount cents cent minor pence thousands millions k seconds minutes
    hours days weeks months years ms url link hash note notes reason comment index rank level score owner user email
    phone address city country region currency not non un is has was""".split()
)


def words_of(name: str) -> list[str]:
    """The words of a name or text, in lower case and without accents: two in ``vendorIban`` and in ``Vendor IBAN``."""
    return [*(_split_words if len(name) <= _LONGEST_NAME else _split_words.__wrapped__)(name)]


@lru_cache(maxsize=4_096)  # the same few names of tools and fields, over and over
def _split_words(name: str) -> tuple[str, ...]:
    text = name if name.isascii() else _ACCENTS_PATTERN.sub("", unicodedata.normalize("NFKD", name))
    return tuple(word.lower() for word in _WORD_PATTERN.findall(text))


def stems_of(text: str) -> frozenset[str]:
    """The stems of the words of a text, or of a name in snake or camel case."""
    return frozenset(stem(word.lower()) for word in _WORD_PATTERN.findall(text))


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def with_last_singular(words: Sequence[str]) -> list[str]:
    """The words with the last one in the singular."""
    return [*words[:-1], *map(singular, words[-1:])]


def find_most_similar_names(missing: str, names: Iterable[str]) -> list[str]:
    """The name that is most like the missing one; several if none stands out; empty if none is similar."""
    scored = sorted(
        ((_rate_name_likeness(missing, name), name) for name in names if may_mean_same(missing, name)), reverse=True
    )
    if not scored or scored[0][0] < _ACCEPTED_SCORE:
        return []
    return [name for score, name in scored if score > scored[0][0] - _LEAST_LEAD_OF_BEST_SCORE]


def find_prefix_matches(missing: str, names: Iterable[str]) -> list[str]:
    """The names that begin with the missing one, or the reverse, and mean the same; of one word also short forms."""
    return [name for name in names if _differs_only_by_suffix(words_of(missing), words_of(name))]


def list_normalized_words(name: str) -> tuple[str, ...]:
    """The words of a name, sorted, with short forms and synonyms replaced: customer, name for ``cust_nm``."""
    words = (word for short in words_of(name) for word in _LONG_FORMS.get(short, short).split())
    return tuple(sorted(_USUAL_WORD_BY_SYNONYM.get(word, word) for word in words))


def find_names_of_same_words(missing: str, names: Iterable[str]) -> list[str]:
    """The names with the same words, if short forms are written out: ``client_name`` for ``cust_nm``."""
    words = list_normalized_words(missing)
    return [name for name in names if words and list_normalized_words(name) == words]


def may_mean_same(name: str, other_name: str) -> bool:
    """Whether two names may mean the same: every word of either has a partner in the other."""
    words, other_words = _expand_words(name), _expand_words(other_name)
    for word in list(words):
        if word in other_words:
            words.remove(word)
            other_words.remove(word)
    return len(words) == len(other_words) and all(_is_same_word(a, b) for a, b in zip(words, other_words, strict=True))


def may_hold_id(field_name: str, argument_name: str) -> bool:
    """Whether a number in this field may be an id for the argument, though the field's name does not say so: ``driver``
    for ``driver_id`` or ``drv_id``, and ``assigned_to`` or ``approved_by`` for any.
    """
    words = words_of(field_name)
    kind_words = [word for word in words_of(argument_name) if word not in _ID_WORDS]
    if len(words) > 1 and words[-1] in ("to", "by"):
        return True
    if len(words) != 1 or len(kind_words) != 1:
        return False
    short, long = sorted((words[0], kind_words[0]), key=len)
    is_abbreviation = 2 < len(short) < 5 and len(long) >= len(short) + 3 and short[0] == long[0]
    return short == long or (is_abbreviation and _has_letters_in_order(short, long))


def _rate_name_likeness(name: str, other_name: str) -> float:
    """How alike two names are, from 0 to 100, regardless of the order of their words."""
    return fuzz.token_sort_ratio(" ".join(_expand_words(name)), " ".join(_expand_words(other_name)))


def _expand_words(name: str) -> list[str]:
    return [_COMMON_LONG_FORMS.get(word, word) for word in words_of(name)]


def _differs_only_by_suffix(words: list[str], other_words: list[str]) -> bool:
    short, long = sorted((words, other_words), key=len)
    if len(short) == len(long) == 1:
        return _is_same_word(short[0], long[0])
    added_words = long[len(short) :]
    if not short or not added_words or long[: len(short)] != short:
        return False
    return not any(word in _WORDS_THAT_CHANGE_MEANING or word.isdigit() for word in added_words)


def _is_same_word(word: str, other_word: str) -> bool:
    """Whether two words are forms of one word: with another ending, a short form, or a doubled letter."""
    short, long = sorted((word, other_word), key=len)
    if not (short.isalpha() and long.isalpha()) or len(short) < 3:
        return short == long
    return (
        _is_short_form(short, long)
        or _has_another_ending(short, long)
        or _DOUBLED_LETTER_PATTERN.sub(r"\1", short) == _DOUBLED_LETTER_PATTERN.sub(r"\1", long)
    )


def _is_short_form(short: str, long: str) -> bool:
    """Whether a word abbreviates the other: ``dep`` and ``dept`` for ``department``; but not ``pay`` for ``payer``."""
    if len(short) > 4 or len(long) <= len(short):
        return False
    added = long.removeprefix(short)
    if added != long:
        return added not in _PERSON_ENDINGS and not (added[0] == short[-1] and added[1:] in _PERSON_ENDINGS)
    skips_vowels = not set("aeiou") & set(short[1:]) and short[0] == long[0]
    begins = len(short) == 4 and long.startswith(short[:3])
    return (skips_vowels or begins) and short[-1] == long[-1] and _has_letters_in_order(short, long)


def _has_letters_in_order(short: str, long: str) -> bool:
    letters = iter(long)
    return all(letter in letters for letter in short)


def _has_another_ending(word: str, other_word: str) -> bool:
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other_word, strict=False)))
    return shared >= 4 and _WORD_ENDINGS.issuperset((word[shared:], other_word[shared:]))
