"""The console's colours: everybody can tell text from its ground, in both themes (WCAG 2.2, AA)."""

import re

import pytest

from services.gateway.features.console.pages import FOLDER
from tests.each_row import each_row

CSS = (FOLDER / "console.css").read_text()
TEXT, PARTS = 4.5, 3.0
PAIRS = [
    *(("text", ground, TEXT) for ground in ("ground", "surface", "sunken")),
    *(("muted", ground, TEXT) for ground in ("ground", "surface", "sunken", "mute-soft")),
    *(("accent-text", ground, TEXT) for ground in ("ground", "surface", "accent-soft", "sunken")),
    ("on-accent", "accent", TEXT),
    ("on-accent", "accent-hover", TEXT),
    *((tone, f"{tone}-soft", TEXT) for tone in ("good", "warn", "bad", "info", "mute")),
    *((tone, "surface", TEXT) for tone in ("warn", "bad")),
    ("line-strong", "surface", PARTS),
    ("line-strong", "ground", PARTS),
    *(("focus", ground, PARTS) for ground in ("ground", "surface", "sunken", "accent-soft")),
    *(("accent", ground, PARTS) for ground in ("ground", "surface")),
    *((f"series-{name}", "surface", PARTS) for name in "abcd"),
]


def _tokens(selector: str, start: int = 0) -> dict[str, str]:
    begin = CSS.index(f"{selector} {{", start)
    block = CSS[begin : CSS.index("}", begin)]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", block))


THEMES = {"light": _tokens(":root"), "dark": _tokens(':root[data-theme="dark"]')}


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.promise("console.everybody")
@each_row("theme", THEMES)
def test_text_and_parts_stand_out_from_their_ground(theme: str) -> None:
    tokens = THEMES[theme]
    weak = {
        (front, back): round(contrast(tokens[front], tokens[back]), 2)
        for front, back, least in PAIRS
        if contrast(tokens[front], tokens[back]) < least
    }
    assert weak == {}


def test_a_dark_device_gets_the_colours_of_the_dark_switch() -> None:
    automatic = _tokens(':root[data-theme="auto"]', CSS.index("prefers-color-scheme: dark"))
    assert automatic == THEMES["dark"]
    assert set(THEMES["light"]) == set(THEMES["dark"])


def test_below_the_tokens_no_colour_is_named_anew() -> None:
    rules = CSS[CSS.index("/* --- ground */") :] + (FOLDER / "figures.css").read_text()
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", rules) == []
