"""The prompt templates, read once from the files beside this one."""

from importlib.resources import files
from typing import NamedTuple

_HERE = files(__package__)


class Prompts(NamedTuple):
    """System texts. ``rules`` is the whole of a conversation's; ``role`` begins every helper question's.

    What is said of the budget is no system text: it stands in a message.
    """

    role: str
    rules: str
    coverage: str
    artifact: str
    summarize: str
    translate: str
    moa_doubting: str
    moa_merge: str
    new_process: str
    efficiency_mild: str
    efficiency_strict: str
    efficiency_emergency: str
    improve: str
    document: str
    stand_in: str
    tool_gap: str
    make_tool: str
    tool_cases: str


def load() -> Prompts:
    return Prompts(*((_HERE / f"{name}.md").read_text("utf-8").strip() for name in Prompts._fields))
