"""The prompt templates, read once from the files beside this one."""

from importlib.resources import files
from typing import NamedTuple

_HERE = files(__package__)


class Prompts(NamedTuple):
    """System texts. ``role`` is the static prefix of every call; the others follow it, one a state.

    What is said of the budget is no system text: it stands last in the request.
    """

    role: str
    decompose: str
    assess: str
    compute: str
    plan: str
    complete: str
    summarize: str
    translate: str
    plan_reads: str
    conclude: str
    moa_steady: str
    moa_doubting: str
    moa_merge: str
    classify: str
    new_process: str
    efficiency_mild: str
    efficiency_strict: str
    efficiency_emergency: str
    improve: str
    document: str
    audit: str
    stand_in: str
    tool_gap: str
    make_tool: str
    tool_cases: str
    orchestrate: str
    next_turn: str


def load() -> Prompts:
    return Prompts(*((_HERE / f"{name}.md").read_text("utf-8").strip() for name in Prompts._fields))
