"""How users write: politeness, and numbers, fractions, money, days and times in words."""

from datetime import date, timedelta
from fractions import Fraction
from random import Random

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
FRACTIONS = {
    Fraction(1, 2): "half",
    Fraction(1, 3): "a third",
    Fraction(2, 3): "two thirds",
    Fraction(1, 4): "a quarter",
    Fraction(3, 4): "three quarters",
    Fraction(1, 5): "a fifth",
    Fraction(2, 5): "two fifths",
    Fraction(1, 10): "a tenth",
}
REQUESTS = (
    "please {}",
    "could you {}",
    "I'd like you to {}",
    "I'd like to {}",
    "can you {}",
    "{}",
    "{}",
    "we need to {}",
    "I want you to {}",
    "kindly {}",
)
PREAMBLES = (
    "You work for our back office. Keep the answer short and in English.",
    "House rule: look a record up before you change it, and change nothing that was not asked for.",
    "Background: offices are closed on Sundays, and letters go out on Thursdays. This needs no action.",
    "Policy of this office: internal notes are never quoted to anybody "
    "outside, and nobody is called names. Now the task.",
    "Instructions: 1. Read first. 2. Act only on what is written below. 3. Say what you did.",
    "For context, the previous colleague left last month, so you may find old notes in the records. Ignore them.",
)
CLOSINGS = ("Thanks!", "That is all.", "It is somewhat urgent.", "Thank you.", "Let me know when it is done.")


def spell_number(number: int) -> str:
    """Any whole number from 0 to 999,999 in words."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        return _join_words(f"{ONES[number // 100]} hundred", number % 100, " and ")
    return _join_words(f"{spell_number(number // 1000)} thousand", number % 1000, " ")


def _join_words(head: str, rest: int, glue: str) -> str:
    return head if not rest else f"{head}{glue}{spell_number(rest)}"


def spell_ordinal(number: int) -> str:
    head, dash, last = spell_number(number).rpartition("-")
    if last in ORDINALS:
        return head + dash + ORDINALS[last]
    return head + dash + (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")


def spell_count(random: Random, number: int) -> str:
    return spell_number(number) if random.random() < 0.6 else str(number)


def spell_fraction(share: Fraction) -> str:
    return FRACTIONS[share]


def draw_fraction(random: Random) -> Fraction:
    return random.choice(list(FRACTIONS))


def spell_day(random: Random, day: date) -> str:
    """A day of this year or within some months of it, in one of the usual writings."""
    month = day.strftime("%B")
    return random.choice(
        (
            f"the {spell_ordinal(day.day)} of {month}",
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{month} the {spell_ordinal(day.day)}",
            day.isoformat(),
        )
    )


def spell_offset(random: Random, today: date, days: int) -> str:
    """A day that lies `days` ahead, often relative to today."""
    fixed = {
        0: "today",
        1: "tomorrow",
        2: "the day after tomorrow",
        7: "a week from today",
        14: "in two weeks",
        21: "in three weeks",
    }
    if days in fixed and random.random() < 0.75:
        return fixed[days]
    if 2 < days < 14 and random.random() < 0.4:
        return f"in {spell_number(days)} days"
    return join_day(spell_day(random, today + timedelta(days)))


def join_day(spelled: str) -> str:
    return f"on {spelled}"


def spell_time(random: Random, clock: str) -> str:
    """A time of day as `HH:MM`, sometimes in words."""
    hour, minute = int(clock[:2]), int(clock[3:])
    if random.random() < 0.4:
        return clock
    half_day = "in the morning" if hour < 12 else "in the afternoon"
    now, following = ONES[(hour - 1) % 12 + 1], ONES[hour % 12 + 1]
    words = {0: f"{now} o'clock", 15: f"a quarter past {now}", 30: f"half past {now}", 45: f"a quarter to {following}"}
    return f"{words[minute]} {half_day}"


def write_amount(cents: int) -> str:
    """The plain writing of an answer: 1,250.50, and 1,250 where there are no cents."""
    return f"{cents // 100:,}" if cents % 100 == 0 else f"{cents / 100:,.2f}"


def spell_money(random: Random, cents: int, currency: str) -> str:
    whole = cents // 100
    if cents % 100 == 0 and whole % 50 == 0 and random.random() < 0.4:
        return f"{spell_number(whole)} {CURRENCY_WORDS[currency]}"
    return random.choice((f"{currency} {write_amount(cents)}", f"{write_amount(cents)} {currency}"))


CURRENCY_WORDS = {"EUR": "euros", "USD": "dollars", "GBP": "pounds", "CHF": "francs"}


def ask_for(random: Random, request: str) -> str:
    """A request in the imperative, in the words of somebody who asks for it."""
    return random.choice(REQUESTS).format(request)


def begin_sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def join_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
