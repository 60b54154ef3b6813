"""The words of English, German and French that dates, numbers and units are written with, and month names of more.

Month, weekday and currency names come from CLDR (babel); they are read when a text first needs them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from babel import Locale

_SPOKEN = ("en", "de", "fr")
_MONTHS_OF = (*_SPOKEN, "es", "it", "nl", "pt", "pl", "sv", "da", "nb", "cs", "fi")
_SHORTEST_NAME = 3  # "di" and "do" are words before they are weekdays
_MARKS = re.compile(r"[\u0300-\u036f]")


def fold(word: str) -> str:
    """A word without case and accents: ``März`` and ``MARZ`` are one."""
    return word.casefold() if word.isascii() else _MARKS.sub("", unicodedata.normalize("NFKD", word.casefold()))


class WordRole(NamedTuple):
    """What a word does in a date: one character of the patterns in ``date_grammar``, and the number it stands for."""

    sign: str
    value: int = 0


# The characters are those of the patterns in ``date_grammar``; a word with several roles stands for several words.
_PLAIN_ROLES: Mapping[str, str] = {
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
_DAYS_AWAY = {
    "today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1,
    "heute": 0, "morgen": 1, "ubermorgen": 2, "uebermorgen": 2, "gestern": -1, "vorgestern": -2,
    "hui": 0, "demain": 1, "apres-demain": 2, "hier": -1, "avant-hier": -2,
}  # fmt: skip
_ARTICLES = "a an one ein eine einer einem einen un une"
_FORTNIGHT = (WordRole("N", 14), WordRole("D"))


@cache
def roles_of_words() -> Mapping[str, tuple[WordRole, ...]]:
    """Every folded word that takes part in a date, with its roles; months and weekdays in all known languages."""
    roles: dict[str, tuple[WordRole, ...]] = {}
    for signs, words in _PLAIN_ROLES.items():
        roles.update(dict.fromkeys(words.split(), tuple(map(WordRole, signs))))
    roles.update(dict.fromkeys(_ARTICLES.split(), (WordRole("N", 1),)))
    roles.update({word: (WordRole("T", days),) for word, days in _DAYS_AWAY.items()})
    roles.update({"fortnight": _FORTNIGHT} | {f"q{number}": (WordRole("q", number),) for number in range(1, 5)})
    short_weekdays = _single_words(Locale("en").days["format"]["abbreviated"].items())
    for names, sign in ((_month_names(), "M"), (_weekday_names(), "W"), (short_weekdays, "X")):
        for word, value in names:
            roles.setdefault(word, (WordRole(sign, value),))
    return roles


def _month_names() -> Iterator[tuple[str, int]]:
    for language in _MONTHS_OF:
        for forms in Locale(language).months.values():
            for width in ("wide", "abbreviated") if language in _SPOKEN else ("wide",):  # "sie" is a month in Polish
                yield from _single_words((name, number) for number, name in forms[width].items())
    yield from (("sept", 9), ("maerz", 3), ("janner", 1))


def _weekday_names() -> Iterator[tuple[str, int]]:
    for language in _SPOKEN:
        yield from _single_words((name, number) for number, name in Locale(language).days["format"]["wide"].items())
    yield "sonnabend", 5


def _single_words(names: Iterable[tuple[str | int, str | int]]) -> Iterator[tuple[str, int]]:
    for one, other in names:
        name, number = (one, other) if isinstance(one, str) else (other, one)
        word = fold(str(name)).strip(".")
        if word.isalpha() and len(word) >= _SHORTEST_NAME:
            yield word, int(number)


_FREQUENT = {
    "en": "the and of to a is for please from with by on at this that be it next one two three four five six seven "
    "eight nine ten twenty thirty hundred thousand week weeks month end half",
    "de": "der die das und ein eine einen einem einer von zu bitte mit fur auf ist am im zum zur bis den dem des nicht "
    "zwei drei vier funf sechs sieben acht neun zehn zwanzig hundert tausend woche wochen monat monats ende "
    "euro halb uhr",
    "fr": "le la les et un une des du de d l est pour avec sur au aux dans par veuillez svp deux trois quatre cinq "
    "sept huit neuf vingt trente mille semaine semaines mois fin heures demi",
}
_LANGUAGES_OF = {
    word: tuple(language for language, words in _FREQUENT.items() if word in words.split())
    for word in " ".join(_FREQUENT.values()).split()
}


def likely_languages(words: Iterable[str]) -> tuple[str, ...]:
    """The languages that folded words give a sign of, likeliest first; all of them where there is none."""
    counts = dict.fromkeys(_SPOKEN, 0)
    for word in words:
        for language in _LANGUAGES_OF.get(word, ()):
            counts[language] += 1
    most = max(counts.values())
    likely = [language for language, count in counts.items() if count * 4 >= most]
    return tuple(sorted(likely, key=lambda language: -counts[language]))
