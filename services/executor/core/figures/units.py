"""Units of measure in English, German and French: each of what it measures, and how much of it."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit of measure: its English name, what it measures, and how many of that measure's first unit it holds."""

    name: str
    measure: str
    size: Fraction


# The first word of each unit is its name.
_UNITS: Mapping[str, Mapping[str, Fraction | int | str]] = {
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
UNITS: Mapping[str, Unit] = {
    word: Unit(words.split()[0], measure, Fraction(size))
    for measure, sizes in _UNITS.items()
    for words, size in sizes.items()
    for word in words.split()
}
PERCENT = UNITS["%"]
