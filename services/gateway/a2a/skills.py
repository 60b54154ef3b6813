"""The skills on the agent card: one for each kind of process, as ``skills.toml`` lists them."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Skill(NamedTuple):
    """A skill that the agent card offers."""

    id: str
    name: str
    description: str
    tags: str
    example: str


_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SKILLS = tuple(Skill(skill_id, **fields) for skill_id, fields in _ROWS.items())
