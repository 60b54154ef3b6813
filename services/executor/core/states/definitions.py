"""Synthesized processes as a file holds them: the seed's fields, or whole templates. All are good, or none is taken."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError

from services.executor.core.states.process_names import process_name
from services.executor.core.states.synthesis import Proposed, read_kept, synthesized
from services.executor.core.states.template import Template
from services.executor.core.states.templates import TEMPLATES
from services.executor.core.states.validity import BadTemplate
from shared.domain.exact_json import dumps, plain

_INSTRUCTION = 600  # characters
_MOST_PROBLEMS = 20
_MOST = 500


class BadDefinitions(Exception):
    """``problems`` names the first processes that cannot be followed, and why."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems[:_MOST_PROBLEMS])


def read_definitions(content: JsonValue) -> Mapping[str, Template]:
    """Process type -> template. Raises ``BadDefinitions``."""
    if isinstance(content, dict) and isinstance(content.get("definitions"), dict):
        content = content["definitions"]
    if not isinstance(content, dict):
        raise BadDefinitions(["it is no object of processes"])
    if len(content) > _MOST:
        raise BadDefinitions([f"it has more than {_MOST} processes"])
    good: dict[str, Template] = {}
    problems: list[str] = []
    for name, told in content.items():
        try:
            good[name] = _template(name, told)
        except (BadTemplate, ValidationError) as error:
            problems.append(f"{name}: {_why(error)}")
    if problems:
        raise BadDefinitions(problems)
    return good


def _template(name: str, told: JsonValue) -> Template:
    if name in TEMPLATES:
        raise BadTemplate("a process of that name is built in")
    if process_name(name) != name:
        raise BadTemplate("its name is none that a task could be given: a few words of letters in snake case")
    if not isinstance(told, dict):
        raise BadTemplate("it is no object")
    whole = told.get("template")
    if isinstance(whole, dict):
        return read_kept(name, _text(whole))
    return synthesized(name, _proposed(told), example="")


def _text(whole: JsonValue) -> str:
    try:
        return dumps(plain(whole))
    except ValueError as error:
        raise BadTemplate(f"its template is no JSON: {error}") from error


def _proposed(told: Mapping[str, JsonValue]) -> Proposed:
    """The seed's fields as a model's proposal; a person is asked unless the file says that none is."""
    instructions = told.get("state_instructions") or {}
    if not isinstance(instructions, dict):
        raise BadTemplate("state_instructions is no object")
    said = {
        "states": told.get("states"),
        "risk": told.get("risk_level", "medium"),
        "approval_wanted": told.get("hitl_required") is not False,
        "instructions": [{"state": state, "text": str(text)[:_INSTRUCTION]} for state, text in instructions.items()],
    }
    return Proposed.model_validate(said)


def _why(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    wrong = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
