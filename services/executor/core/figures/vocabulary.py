"""The words of English, German and French for dates, numbers, currencies and units."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from babel import Locale
from babel.core import get_global
from text_to_num import find_numbers as find_spoken_numbers

from shared.domain.exact_json import Json
from shared.domain.keywords import stem

_LANGUAGES = ("en", "de", "fr")
_LANGUAGES_OF_MONTHS = (*_LANGUAGES, "es", "it", "nl", "pt", "pl", "sv", "da", "nb", "cs", "fi")
_SHORTEST_DAY_OR_MONTH_NAME = 3  # "di" and "do" are words before they are weekdays
TRUTH_VALUES_BY_WORD = {"true": True, "yes": True, "false": False, "no": False}
_ACCENTS_PATTERN = re.compile(r"[\u0300-\u036f]")


def fold_word(word: str) -> str:
    """A word without case and accents: ``März`` and ``MARZ`` become the same."""
    folded = word.casefold()
    return folded if word.isascii() else _ACCENTS_PATTERN.sub("", unicodedata.normalize("NFKD", folded))


class WordRole(NamedTuple):
    """A word's role in a date: its character in the patterns of ``dates``, and the number that it means."""

    sign: str
    value: int = 0


# The characters are those of the patterns in ``dates``; a word with several roles stands for several words.
_WORDS_BY_ROLE_SIGN: Mapping[str, str] = {
    "o": "the of on der die das den dem des am vom zum le la les l du de d",
    "i": "in within im innerhalb binnen dans sous ici",
    "c": "for by since fur seit pour depuis",
    "n": "next coming following upcoming nachste nachsten nachster nachstes nachstem naechste naechsten kommende "
    "kommenden kommender folgenden prochain prochaine prochains prochaines suivant suivante",
    "l": "last past previous letzte letzten letzter letztes letztem vorige vorigen vergangene vergangenen dernier "
    "derniere derniers dernieres passe passee precedent precedente",
    "t": "this current diese dieser dieses diesen diesem laufenden aktuellen ce cet cette courant",
    "a": "ago",
    "v": "vor",
    "y": "y",
    "f": "from after following nach ab apres",
    "p": "before prior avant",
    "e": "end ende fin",
    "b": "beginning start anfang beginn debut",
    "d": "middle mid mitte milieu mi",
    "r": "to until till through thru bis jusqu au aux a",
    "&": "and und et",
    "s": "every each per jeden jede jedes jeder pro chaque",
    "w": "working business ouvre ouvres ouvrable ouvrables",
    "D": "day days tag tage tagen tages jour jours",
    "K": "week weeks woche wochen semaine semaines",
    "H": "month months monat monate monaten monats mois",
    "J": "year years jahr jahre jahren jahres an ans annee annees",
    "Q": "quarter quarters quartal quartals trimestre trimestres",
    "eH": "monatsende",
    "eJ": "jahresende",
    "eQ": "quartalsende",
    "wD": "workday workdays weekday weekdays werktag werktage werktagen arbeitstag arbeitstage arbeitstagen",
    "sD": "daily taglich quotidiennement",
    "sK": "weekly wochentlich",
    "sH": "monthly monatlich",
}
_DAYS_FROM_TODAY_BY_WORD = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "heute": 0, "morgen": 1, "ubermorgen": 2, "uebermorgen": 2, "gestern": -1, "vorgestern": -2,
    "hui": 0, "demain": 1, "apres-demain": 2, "hier": -1, "avant-hier": -2,
}  # fmt: skip
_ARTICLES = "a an one ein eine einer einem einen un une"
_FORTNIGHT_ROLES = (WordRole("N", 14), WordRole("D"))


@cache
def date_roles_by_word() -> Mapping[str, tuple[WordRole, ...]]:
    """Every folded word that can be part of a date, with its roles; months and weekdays in all known languages."""
    roles: dict[str, tuple[WordRole, ...]] = {}
    for signs, words in _WORDS_BY_ROLE_SIGN.items():
        roles.update(dict.fromkeys(words.split(), tuple(map(WordRole, signs))))
    roles.update(dict.fromkeys(_ARTICLES.split(), (WordRole("N", 1),)))
    roles.update({word: (WordRole("T", days),) for word, days in _DAYS_FROM_TODAY_BY_WORD.items()})
    roles.update({"fortnight": _FORTNIGHT_ROLES} | {f"q{number}": (WordRole("q", number),) for number in range(1, 5)})
    short_weekdays = _single_words_with_numbers(Locale("en").days["format"]["abbreviated"].items())
    for names, sign in ((_month_names(), "M"), (_weekday_names(), "W"), (short_weekdays, "X")):
        for word, value in names:
            roles.setdefault(word, (WordRole(sign, value),))
    return roles


def _month_names() -> Iterator[tuple[str, int]]:
    for language in _LANGUAGES_OF_MONTHS:
        for forms in Locale(language).months.values():
            for width in ("wide", "abbreviated") if language in _LANGUAGES else ("wide",):  # "sie" is a month in Polish
                yield from _single_words_with_numbers(forms[width].items())
    yield from (("sept", 9), ("maerz", 3), ("janner", 1))


def _weekday_names() -> Iterator[tuple[str, int]]:
    for language in _LANGUAGES:
        yield from _single_words_with_numbers(Locale(language).days["format"]["wide"].items())
    yield "sonnabend", 5


def _single_words_with_numbers(names: Iterable[tuple[int, str]]) -> Iterator[tuple[str, int]]:
    """Yields ``(word, number)`` for each month's or weekday's name that is one word and not too short."""
    for number, name in names:
        word = fold_word(name).strip(".")
        if word.isalpha() and len(word) >= _SHORTEST_DAY_OR_MONTH_NAME:
            yield word, number


_FREQUENT_WORDS = {
    "en": "the and of to a is for please from with by on at this that be it next one two three four five six seven "
    "eight nine ten twenty thirty hundred thousand week weeks month end half",
    "de": "der die das und ein eine einen einem einer von zu bitte mit fur auf ist am im zum zur bis den dem des nicht "
    "zwei drei vier funf sechs sieben acht neun zehn zwanzig hundert tausend woche wochen monat monats ende "
    "euro halb uhr",
    "fr": "le la les et un une des du de d l est pour avec sur au aux dans par veuillez svp deux trois quatre cinq "
    "sept huit neuf vingt trente mille semaine semaines mois fin heures demi",
}
_LANGUAGES_BY_FREQUENT_WORD = {
    word: tuple(language for language, words in _FREQUENT_WORDS.items() if word in words.split())
    for word in " ".join(_FREQUENT_WORDS.values()).split()
}


def likely_languages(words: Iterable[str]) -> tuple[str, ...]:
    """The languages that folded words suggest, likeliest first; all of them if no word suggests one."""
    counts = dict.fromkeys(_LANGUAGES, 0)
    for word in words:
        for language in _LANGUAGES_BY_FREQUENT_WORD.get(word, ()):
            counts[language] += 1
    most = max(counts.values())
    likely = [language for language, count in counts.items() if count * 4 >= most]
    return tuple(sorted(likely, key=lambda language: -counts[language]))


_TOKEN_PATTERN = re.compile(
    r"(?P<digits>\d+)(?:(?:st|nd|rd|th|er|re|ème)(?!\w))?|[Qq][1-4](?!\w)|[^\W\d_]+(?:-[^\W\d_]+)*"
)
_DIGITS_PATTERN = re.compile(r"\d+")
_LEAST_LONE_SPOKEN_NUMBER = 0.0  # the least number that text2num reports alone


class WrittenToken(NamedTuple):
    """A run of letters or of digits. ``folded`` has no case and accents; ``text`` lacks an ordinal's ending."""

    text: str
    folded: str
    start: int
    end: int


class SpelledNumber(NamedTuple):
    """A number in words, from token index ``start_index`` up to but without ``end_index``."""

    start_index: int
    end_index: int
    value: Decimal
    is_ordinal: bool


class _Text2NumToken:
    """A token with the methods that text2num asks for: words with more than a space between them are unrelated."""

    __slots__ = ("_is_apart", "_text")

    def __init__(self, text: str, is_apart: bool) -> None:
        self._text = text
        self._is_apart = is_apart

    def text(self) -> str:
        return self._text

    def nt_separated(self, _previous: "_Text2NumToken") -> bool:
        return self._is_apart

    def not_a_number_part(self) -> bool:
        return self._text.isdecimal()


def split_words(text: str) -> list[WrittenToken]:
    """The tokens of a text in order."""
    matches = ((match["digits"] or match[0], match.span()) for match in _TOKEN_PATTERN.finditer(text))
    return [WrittenToken(word, fold_word(word), *span) for word, span in matches]


def read_spelled_numbers(text: str, tokens: Sequence[WrittenToken], languages: Sequence[str]) -> list[SpelledNumber]:
    """The numbers in words; each is read in the first of the languages that can read it."""
    gaps = [text[token.end : next_token.start] for token, next_token in pairwise(tokens)]
    are_apart = [False, *(not gap.isspace() for gap in gaps)]
    spoken = [_Text2NumToken(token.text.lower(), is_apart) for token, is_apart in zip(tokens, are_apart, strict=False)]
    read_indices: set[int] = set()
    numbers: list[SpelledNumber] = []
    for language in languages:
        for number in find_spoken_numbers(spoken, language, _LEAST_LONE_SPOKEN_NUMBER):
            is_letter = number.end == number.start + 1 and len(tokens[number.start].text) == 1  # the "o" of "o'clock"
            if not is_letter and read_indices.isdisjoint(range(number.start, number.end)):
                read_indices.update(range(number.start, number.end))
                numbers.append(
                    SpelledNumber(
                        number.start, number.end, _parse_digits(number.text, number.is_ordinal), number.is_ordinal
                    )
                )
    return sorted(numbers)


def _parse_digits(text: str, is_ordinal: bool) -> Decimal:
    digits = _DIGITS_PATTERN.search(text) if is_ordinal else None
    return Decimal(digits[0] if digits else text.replace(",", "."))


class Unit(NamedTuple):
    """A unit of measure: its English name, what it measures, and its size in that measure's base unit."""

    name: str
    measure: str
    size: Fraction


# The first word of each unit is its name.
_UNIT_WORDS_BY_MEASURE: Mapping[str, Mapping[str, Fraction | int | str]] = {
    "time": {
        "milliseconds ms msec millisecond millisekunde millisekunden milliseconde millisecondes": "1/1000",
        "seconds s sec secs second sekunde sekunden seconde secondes": 1,
        "minutes min mins minute minuten": 60,
        "hours h hr hrs hour stunde stunden std heure heures": 3600,
        "days day tag tage tagen jour jours": 86_400,
        "weeks week woche wochen semaine semaines": 604_800,
    },
    "month": {
        "months month monat monate monaten mois": 1,
        "years year jahr jahre jahren jahres yr yrs an ans annee annees": 12,
    },
    "mass": {
        "mg": "1/1000", "g gram grams gramm gramme grammes": 1, "kg kilo kilos kilogram kilograms": 1000,
        "tonnes tonne tonnen": 1_000_000, "lb lbs": "453.59237", "oz ounce ounces": "28.349523125",
    },
    "length": {
        "mm": "1/1000", "cm": "1/100", "m metre metres meter meters": 1,
        "km kilometre kilometres kilometer kilometers": 1000, "miles mile": "1609.344", "ft foot feet": "0.3048",
        "inches inch": "0.0254",
    },
    "volume": {"ml": "1/1000", "cl": "1/100", "l litre litres liter liters": 1},
    "data": {"kb": "1/1000", "mb": 1, "gb": 1000, "tb": 1_000_000},
    "percent": {"% percent percentage prozent pct": 1, "bps bp": "1/100"},
}  # fmt: skip
UNITS_BY_WORD: Mapping[str, Unit] = {
    word: Unit(words.split()[0], measure, Fraction(size))
    for measure, sizes in _UNIT_WORDS_BY_MEASURE.items()
    for words, size in sizes.items()
    for word in words.split()
}
PERCENT_UNIT = UNITS_BY_WORD["%"]
# CLDR's legal tender of today, and two units of ISO 4217 that are none; places that differ from two are ISO's list one.
CURRENCY_CODES = frozenset({"CLF", "SVC"}).union(
    code
    for tenders in get_global("territory_currencies").values()
    for code, _, end, is_tender in tenders
    if is_tender and end is None
)
_PLACES_BY_CURRENCY = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
    "CLF": 4,
}


class PossibleCurrencies(NamedTuple):
    """The currencies that a sign or word can mean; ``is_minor`` for cents and the like."""

    codes: frozenset[str]
    is_minor: bool = False


_DOLLAR_CODES = "AUD BBD BMD BND BSD BZD CAD CLP COP FJD GYD HKD JMD KYD LRD MXN NAD NZD SBD SGD SRD TTD TWD USD XCD"
_POUND_CODES = "GBP EGP FKP GIP LBP SHP SSP SYP"
_CODES_BY_SIGN = {
    "$": _DOLLAR_CODES, "€": "EUR", "£": _POUND_CODES, "¥": "JPY CNY", "₹": "INR", "₩": "KRW", "₺": "TRY",
    "₽": "RUB", "₴": "UAH", "₫": "VND", "₪": "ILS", "₱": "PHP", "US$": "USD", "A$": "AUD", "C$": "CAD", "CA$": "CAD",
    "NZ$": "NZD", "S$": "SGD", "HK$": "HKD", "R$": "BRL", "Fr.": "CHF", "SFr.": "CHF",
}  # fmt: skip
_CODES_BY_WORD = {
    "euro euros eur": "EUR", "dollar dollars buck bucks": _DOLLAR_CODES,
    "pound pounds quid pfund livre livres": _POUND_CODES,
    "franc francs franken": "CHF XOF XAF", "yen": "JPY", "yuan renminbi": "CNY", "rupee rupees": "INR PKR LKR NPR",
    "zloty zlotys zł": "PLN", "krona kronor krone kroner kr": "SEK NOK DKK", "peso pesos": "MXN PHP ARS CLP COP",
    "real reais": "BRL", "won": "KRW",
}  # fmt: skip
_CODES_BY_MINOR_WORD = {
    "cent cents ct cts": f"EUR {_DOLLAR_CODES}", "pence penny pennies p": "GBP", "rappen centime centimes": "CHF EUR",
}  # fmt: skip


def _index_currency_words(table: Mapping[str, str], *, is_minor: bool = False) -> dict[str, PossibleCurrencies]:
    return {
        word: PossibleCurrencies(frozenset(codes.split()), is_minor)
        for words, codes in table.items()
        for word in words.split()
    }


# Signs as they stand, folded words, and codes in capitals.
CURRENCIES_BY_WORD: Mapping[str, PossibleCurrencies] = {
    **_index_currency_words(_CODES_BY_SIGN),
    **_index_currency_words(_CODES_BY_WORD),
    **_index_currency_words(_CODES_BY_MINOR_WORD, is_minor=True),
    **{code: PossibleCurrencies(frozenset({code})) for code in CURRENCY_CODES},
}
CURRENCY_SIGNS = tuple(sorted(_CODES_BY_SIGN, key=len, reverse=True))
_CURRENCY_CODE_PATTERN = re.compile(r"(?<![A-Z])[A-Z]{3}(?![A-Z])")
_CURRENCY_WORD_PATTERN = re.compile(r"[^\W\d_]{3,}")


def currency_places(code: str) -> int:
    """The decimal places of a currency: 0 for JPY, 3 for KWD; 2 for an unknown code."""
    return _PLACES_BY_CURRENCY.get(code, 2)


def minor_unit_places(money: PossibleCurrencies | None) -> int:
    """The decimal places of the currency if only one is possible; else 2."""
    return currency_places(next(iter(money.codes))) if money and len(money.codes) == 1 else 2


def is_currency_code(value: Json) -> bool:
    """Whether a value is a currency code and nothing else."""
    return isinstance(value, str) and value.strip() in CURRENCY_CODES


def common_currency(values: Iterable[Json]) -> str | None:
    """The one currency code that fits all amounts as written; empty if several fit, None if none does."""
    fitting = CURRENCY_CODES
    for value in values:
        fitting &= _possible_currencies(value) if isinstance(value, str) else CURRENCY_CODES
    if not fitting:
        return None
    return next(iter(fitting)) if len(fitting) == 1 else ""


def _possible_currencies(text: str) -> frozenset[str]:
    if codes := frozenset(_CURRENCY_CODE_PATTERN.findall(text)) & CURRENCY_CODES:
        return codes
    if sign := next((sign for sign in CURRENCY_SIGNS if sign in text), None):
        return CURRENCIES_BY_WORD[sign].codes
    words = (CURRENCIES_BY_WORD.get(fold_word(word)) for word in _CURRENCY_WORD_PATTERN.findall(text))
    return next((money.codes for money in words if money and not money.is_minor), CURRENCY_CODES)


def may_share_currency(money: PossibleCurrencies | None, other_money: PossibleCurrencies | None) -> bool:
    """Whether two amounts can be of the same currency; an amount without a currency fits any."""
    return money is None or other_money is None or not money.codes.isdisjoint(other_money.codes)


WORD_OR_DIGITS_PATTERN = re.compile(r"[^\W\d_]+|\d+")  # a run of letters, or of digits


def spaced_words(text: str) -> str:
    """The text's runs of letters and of digits, folded, each between spaces: ``in_progress`` becomes two words."""
    return f" {' '.join(WORD_OR_DIGITS_PATTERN.findall(fold_word(text)))} "


_LEGAL_FORMS = frozenset(  # without marks and spaces; what also ends the names of people and plans is left out
    """ltd limited plc llc llp lp inc incorporated corp corporation co ptyltd pteltd pvtltd gmbh mbh ag kg kgaa ohg gbr
    ug se eg ev sarl sas sasu eurl sa sci snc spa srl sl slu bv nv ab as aps asa oy oyj spzoo spj spk sro doo kft zrt
    nyrt lda ltda sdnbhd bhd kk ooo uab ou""".split()
)
MOST_WORDS_OF_LEGAL_FORM = 3  # words: "Sp. z o.o."


@lru_cache(maxsize=8192)
def without_legal_form(name: str) -> str:
    """A company's name without its legal form: "Oduya Trading" for "Oduya Trading Plc"."""
    words = name.split()
    for count in range(min(MOST_WORDS_OF_LEGAL_FORM, len(words) - 1), 0, -1):
        form = " ".join(words[-count:])
        is_written_as_one = form[0].isupper() or "." in form
        if is_written_as_one and "".join(WORD_OR_DIGITS_PATTERN.findall(fold_word(form))) in _LEGAL_FORMS:
            return without_legal_form(" ".join(words[:-count]).rstrip(" ,&+"))
    return name


_QUOTED_TEXT_PATTERN = re.compile(r"""[\"“„«'‘](\w[^\"“”„«»‘’']*)[\"“”»'’]""")
_NAME_INSIDE_SENTENCE_PATTERN = re.compile(r"(?<=[^\W_] )[A-Z][^\W\d_]+(?:[ -][A-Z][^\W\d_]+)*")


def find_quoted_texts(text: str) -> Sequence[str]:
    """What the text has in quotation marks."""
    return _QUOTED_TEXT_PATTERN.findall(text)


def find_names_inside_sentences(text: str) -> Sequence[str]:
    """The capitalized words of the text, at no sentence's beginning; neighbours are one name."""
    return _NAME_INSIDE_SENTENCE_PATTERN.findall(text)


# A part that chooses among what it lists, or holds one thing against another, is not meant for each of them.
CHOICE_WORD_PATTERN = re.compile(
    r"(?i)\b(?:or|either|neither|not|except|which|whichever|one of|compare|between|(?<!as )(?<!as a )duplicates?|"
    r"first|last|better|best|worse|cheap\w*|(?:larg|small|high|new|old)(?:er|est)|lowest|latest|earliest|"
    r"(?<!^)(?<!please )lower(?! (?:the|its|their|his|her|my|our)\b)|"  # no verb
    r"(?<!day )(?<!days )(?<!week )(?<!weeks )(?<!month )(?<!months )(?<!hour )(?<!hours )(?:later|earlier)|"
    r"merge|same|difference)\b"
)
_OPEN_CHOICE_WORD_PATTERN = re.compile(
    r"(?i)\b(?:all|any\w*|each|every\w*|others?|rest|remaining|who\w*|those|(?<!would )(?<!['’]d )like|instead|"
    r"alle\w*|jede\w*|sämtliche\w*|übrige\w*|tous|toutes|chaque|todos|todas|cada)\b"
)


def leaves_choice_open(text: str) -> bool:
    """Whether a text asks to choose, or means all of a kind ("every claim"), and so need not name the things."""
    return next(_find_choice_words(text), None) is not None


def _find_choice_words(text: str) -> Iterator[re.Match[str]]:
    yield from CHOICE_WORD_PATTERN.finditer(text)
    yield from _OPEN_CHOICE_WORD_PATTERN.finditer(text)


SWAP_WORD_PATTERN = re.compile(  # words for two things that change places
    r"(?i)\b(?:(?:swap|exchang|switch|interchang|échang|intercambi)\w*|\w*tausch\w*)\b"
)
ALTERNATIVE_WORD_PATTERN = re.compile(r"(?i)\b(?:or|otherwise|else|instead|oder|sonst|andernfalls|ou|sinon|sino)\b")
CLAUSE_END_PATTERN = re.compile(r"[.,;:!?](?=\s|$)")
_CHARACTERS_AFTER_CHOICE = 100  # of a word of choice, in which the noun that it belongs to stands
_MOST_WORDS_FROM_CHOICE_TO_NOUN = 2  # from a word of choice to the noun that it belongs to: "all the open orders"


def may_mean_unnamed_things(text: str, names: Iterable[str], kind_words: Iterable[str]) -> bool:
    """Whether a text that has the ``names`` leaves open which other things are meant: "close every job like A-1" does,
    "all is checked: close A-1" does not.

    In a clause with a name, a word of choice counts shortly before a name or one of the ``kind_words`` ("job"), and
    before "but" with a name. In a clause without a name, it counts if the clause has one of the ``kind_words``.
    """
    name_stems, kind_stems = (tuple(map(_spaced_stems, words)) for words in (names, kind_words))
    for clause in CLAUSE_END_PATTERN.split(text):
        choice_ends = [choice.end() for choice in _find_choice_words(clause)]
        clause_stems = _spaced_stems(clause)
        if choice_ends and not any(stems in clause_stems for stems in name_stems):
            if any(stems in clause_stems for stems in kind_stems):
                return True
            continue
        following = _spaced_stems(clause[min(choice_ends, default=len(clause)) :])
        if any(f" but{stems}" in following for stems in name_stems):
            return True  # "everyone in 7a but Bo"
        for end in choice_ends:
            following = _spaced_stems(clause[end : end + _CHARACTERS_AFTER_CHOICE])
            for stems in filter(following.__contains__, (*name_stems, *kind_stems)):
                words_between = len(following.partition(stems)[0].split())
                if words_between <= (1 if stems in name_stems else _MOST_WORDS_FROM_CHOICE_TO_NOUN):
                    return True
    return False


def _spaced_stems(text: str) -> str:
    return f" {' '.join(map(stem, spaced_words(text).split()))} "


_CONDITION_WORD_PATTERN = re.compile(
    r"(?i)\b(?:if|unless|when|whenever|once|only|until|provided|otherwise|except|whether|where|wherever|should|"
    r"as long as|in (?:that |this |which )?case|as soon as|depending|"
    r"wenn|falls|sofern|sobald|nur|solange|ob|si|sauf|seulement|lorsque|quand|cuando|siempre|solo|sólo|salvo|se)\b"
)


def has_condition(text: str) -> bool:
    """Whether a text makes something depend on a condition."""
    return _CONDITION_WORD_PATTERN.search(text) is not None
