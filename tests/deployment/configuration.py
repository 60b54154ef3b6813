"""The reference of all configuration, made from the settings classes: ``python -m tests.deployment.configuration``.

Writes docs/configuration.md; with ``--check`` it changes nothing, and the exit code is 1 if the page says otherwise.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from pydantic_settings import BaseSettings

from shared.domain.exact_json import Json, JsonObject
from tests.deployment.dockerfile import ROOT, STACK, images

PAGE = ROOT / "docs" / "configuration.md"
_HEAD = ("variable", "what it does", "values", "default", "needed")
_PLAIN = {
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "array": "list, commas between",
}
_BOUNDS = (("minimum", "from {}"), ("exclusiveMinimum", "above {}"), ("maximum", "to {}"), ("minLength", ""))
_TEMPLATE = Path(__file__).with_suffix(".md")


class Row(NamedTuple):
    variable: str
    meaning: str
    values: str
    default: str
    needed: str


def page() -> str:
    """The whole page, as it should be."""
    services = {name: image.settings for name, image in sorted(images().items()) if name != STACK}
    sections = "\n".join(_section(name, kind) for name, kind in services.items())
    return _TEMPLATE.read_text().replace("{services}", sections)


def rows(settings: type[BaseSettings]) -> Iterator[Row]:
    """One row a variable, in the order of the class."""
    schema = cast(JsonObject, settings.model_json_schema())
    required = cast(list[str], schema.get("required", []))
    kinds = cast(dict[str, JsonObject], schema.get("$defs", {}))
    for name, said in cast(dict[str, JsonObject], schema["properties"]).items():
        needed = "always" if name in required else f"where {said['needed']}" if "needed" in said else ""
        shown = _values(said, kinds) if settings.model_fields[name].repr else "secret"
        default = "" if name in required else _default(said.get("default"))
        yield Row(f"`{name.upper()}`", str(said.get("description", "")), shown, default, needed)


def main(arguments: Sequence[str], place: Path = PAGE) -> int:
    if list(arguments) not in ([], ["--check"]):
        return 2
    wanted = page()
    if arguments:
        if place.is_file() and place.read_text() == wanted:
            return 0
        sys.stderr.write("docs/configuration.md does not say what the settings classes say: make reference\n")
        return 1
    place.write_text(wanted)
    return 0


def _section(name: str, settings: type[BaseSettings]) -> str:
    lines = [_line(_HEAD), "|" + "---|" * len(_HEAD), *(_line(row) for row in sorted(rows(settings), key=_urgency))]
    return f"## {name}\n\n" + "\n".join(lines) + "\n"


def _urgency(row: Row) -> tuple[bool, bool]:
    """What must be given stands first, then what sometimes must, then the rest."""
    return row.needed != "always", not row.needed


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(value: Json) -> str:
    """Empty values are shown as nothing; paths inside the project from its folder."""
    if isinstance(value, list):
        return _default(",".join(map(str, value)))
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    text = "" if value is None else str(value).replace(f"{ROOT}{'/'}", "")
    return f"`{text}`" if text else ""


def _values(said: JsonObject, kinds: dict[str, JsonObject]) -> str:
    shapes = [_resolved(shape, kinds) for shape in cast(list[JsonObject], said.get("anyOf") or [said])]
    shape = next((each for each in shapes if each.get("type") != "null"), shapes[0])
    items = _resolved(cast(JsonObject, shape.get("items", {})), kinds)
    listed = cast(list[Json], shape.get("enum") or items.get("enum") or [])
    if listed:
        return ", ".join(f"`{word}`" for word in listed if word != "")
    bounds = [form.format(shape[name]) for name, form in _BOUNDS if name in shape and form]
    return " ".join((_kind(shape), *bounds))


def _resolved(shape: JsonObject, kinds: dict[str, JsonObject]) -> JsonObject:
    return kinds[str(shape["$ref"]).rsplit("/", 1)[1]] if "$ref" in shape else shape


def _kind(shape: JsonObject) -> str:
    if shape.get("format") == "password":
        return "secret"
    if str(shape.get("format", "")).endswith("path"):
        return "path"
    return _PLAIN.get(str(shape.get("type")), "text")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
