"""Synthesized processes as a file holds them: the seed's fields, or whole templates. All are good, or none is taken."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError

from services.executor.core.states.process_names import process_name
from services.executor.core.states.synthesis import Proposed, build_template, read_kept
from services.executor.core.states.template import TEMPLATES, BadTemplate, Template
from services.executor.ports.learned import Learned
from shared.contracts.learning_files import FileReport, FileRequest, LearningFile
from shared.domain.exact_json import dumps, plain

_INSTRUCTION = 600  # characters
_MOST_PROBLEMS = 20
_MOST = 500


class BadDefinitions(Exception):
    """``problems`` names the first processes that cannot be followed, and why."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems[:_MOST_PROBLEMS])


async def import_processes(learned: Learned, request: FileRequest) -> FileReport:
    """What became of the file. Repeat it freely. Raises ``StoreUnavailable``."""
    told = {"file": request.file, "dry_run": request.dry_run}
    if request.file is not LearningFile.SYNTHESIZED:
        return FileReport(**told, problems=("the executor imports processes and nothing else",))
    try:
        found = read_definitions(request.content)
    except BadDefinitions as bad:
        return FileReport(**told, problems=bad.problems)
    known = set(await learned.process_types(request.tenant))
    taken, left_out = 0, 0
    for name, template in found.items():
        if name in known:
            continue
        if not request.dry_run:
            await learned.keep_process(request.tenant, name, template.model_dump_json())
            left_out += await learned.process(request.tenant, name) is None
        taken += 1
    return FileReport(**told, taken=taken - left_out, known=len(known & found.keys()), left_out=left_out)


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
    return build_template(name, _parse_proposal(told), example="")


def _text(whole: JsonValue) -> str:
    try:
        return dumps(plain(whole))
    except ValueError as error:
        raise BadTemplate(f"its template is no JSON: {error}") from error


def _parse_proposal(told: Mapping[str, JsonValue]) -> Proposed:
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
