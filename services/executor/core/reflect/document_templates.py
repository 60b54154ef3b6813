"""The templates of documents: which sections each has, and what fills them; one file each, in the folder beside."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from shared.contracts.base import Contract


class Section(Contract):
    """One section. ``filled_from``: sources of the task's own data; ``write``: what a model is asked for where they
    give nothing; ``text``: what always stands there. With none of them it has to come from outside.
    """

    name: str
    filled_from: tuple[str, ...] = ()
    write: str = ""
    text: str = ""

    @property
    def heading(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def marker(self) -> str:
        """What stands in the place of a section that is missing."""
        return f"[{self.name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]"


class DocumentTemplate(Contract):
    """``asked``: the words with which a task asks for it. ``processes``: kinds of process that always leave one."""

    type: str
    title: str
    asked: tuple[str, ...]
    processes: tuple[str, ...] = ()
    sections: tuple[Section, ...]


@cache
def templates() -> Mapping[str, DocumentTemplate]:
    """Each template under its type, in the order of their names."""
    folder = files(__package__) / "templates"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {name.removesuffix(".toml"): _template(name, (folder / name).read_text("utf-8")) for name in found}


def _template(name: str, text: str) -> DocumentTemplate:
    given = tomllib.loads(text)
    sections = [{**section, "filled_from": section.get("from", ())} for section in given["sections"]]
    return DocumentTemplate.model_validate({**given, "type": name.removesuffix(".toml"), "sections": sections})
