"""What a missing calculator would have to do."""

import re
from typing import Literal, NamedTuple

from shared.contracts.made_tool import MadeTool
from shared.domain.exact_json import Json

_NAME = re.compile(r"[a-z][a-z0-9_]{2,39}", re.ASCII)
_MOST_ARGUMENTS = 8
_LONGEST_PURPOSE = 400


class BadSpec(ValueError):
    """It describes no calculator that could be made."""


class Spec(NamedTuple):
    """``by_words``: it comes from words that always mean the same, so its purpose is always worded the same."""

    name: str
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"] = "ratio"
    by_words: bool = True

    def as_json(self) -> Json:
        listed: list[Json] = list(self.arguments)
        return {"name": self.name, "definition": self.purpose, "arguments": listed, "result": self.result}

    def is_met_by(self, tool: MadeTool) -> bool:
        same = (tool.name, tool.arguments, tool.result) == (self.name, self.arguments, self.result)
        return same and (not self.by_words or tool.purpose == self.purpose)


def check_spec(spec: Spec) -> Spec:
    """The same, if a calculator can be made by it; raises ``BadSpec``."""
    names = [argument.removesuffix("...") for argument in spec.arguments]
    repeated = [argument for argument in spec.arguments[:-1] if argument.endswith("...")]
    if not _NAME.fullmatch(spec.name):
        raise BadSpec(f"{spec.name[:40]!r} is no name for an operation")
    if not names or len(names) > _MOST_ARGUMENTS or len(set(names)) < len(names) or repeated:
        raise BadSpec(f"{spec.name} would take {len(names)} arguments, or one twice: 1 to {_MOST_ARGUMENTS} are meant")
    if any(not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name, re.ASCII) for name in names) or spec.name in names:
        raise BadSpec(f"{spec.name} has an argument that has no plain name")
    if not spec.purpose.strip() or len(spec.purpose) > _LONGEST_PURPOSE:
        raise BadSpec(f"the purpose of {spec.name} takes 1 to {_LONGEST_PURPOSE} characters")
    return spec
