"""Checks processes that a model proposes or a tenant's file brings, before any task follows them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from services.executor.core.figures.identifiers import find_ids_and_figures
from services.executor.core.figures.operations import OPERATIONS
from services.executor.core.states import machine
from services.executor.ports.services import LearnedStore
from shared.contracts.base import describe_first_error
from shared.contracts.learning_files import LearningFile, LearningImportReport, LearningImportRequest
from shared.contracts.policy import Rule
from shared.domain.exact_json import dumps, to_exact
from shared.domain.protected_values import find_protected_values
from shared.domain.words import EscalationLevel, FsmState, RuleAction

_STATES_THAT_WRITE = (FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)


def refuse_bad_builtin_processes() -> None:
    """Raises ``BadTemplate`` if a built-in process cannot be followed; called once, when an executor starts."""
    for template in machine.BUILT_IN_TEMPLATES.values():
        refuse_bad_template(template)


def refuse_bad_template(template: machine.ProcessTemplate, *, is_synthesized: bool = False) -> None:
    """Raises ``BadTemplate``, naming everything that is wrong with the template."""
    problems = tuple(find_template_problems(template, is_synthesized=is_synthesized))
    if problems:
        raise machine.BadTemplate(f"{template.process_type or 'a process without a name'}: {'; '.join(problems)}")


def find_template_problems(template: machine.ProcessTemplate, *, is_synthesized: bool = False) -> Iterator[str]:
    """Yields a sentence for each thing that is wrong with a template. A synthesized one must have POLICY_CHECK."""
    if not template.process_type.strip():
        yield "it has no process_type"
    states = template.states
    unknown = [state for state in states if state not in machine.STATES_IN_ORDER]
    if unknown:
        yield f"{', '.join(unknown)} is no state of a path"
        return
    if states[:1] != machine.STATES_IN_ORDER[:1] or states[-1:] != machine.STATES_IN_ORDER[-1:]:
        yield "it must begin with DECOMPOSE and end with COMPLETE"
    positions = [machine.STATES_IN_ORDER.index(state) for state in states]
    if positions != sorted(set(positions)):
        yield f"each state stands once, in the order {', '.join(machine.STATES_IN_ORDER)}"
    needed = (FsmState.ASSESS, FsmState.POLICY_CHECK) if is_synthesized else (FsmState.ASSESS,)
    missing = [state for state in needed if state not in states]
    if missing and any(state in _STATES_THAT_WRITE for state in states):
        yield f"it writes without {' and '.join(missing)} before"
    for state in template.instructions:
        if state not in states:
            yield f"it has instructions for {state}, where it never is"
    yield from _find_problems_of_figures(template)


def _find_problems_of_figures(template: machine.ProcessTemplate) -> Iterator[str]:
    """Yields a sentence for each thing that is wrong with how a figure is defined, so that it can never be computed or
    used, and for a wrong pattern of the routed rows.
    """
    earlier_names: set[str] = set()
    for figure in template.figures:
        if figure.operation not in OPERATIONS:
            yield f"figure {figure.name}: there is no operation {figure.operation}"
        if figure.remainder and not (figure.required and figure.operation == "difference"):
            yield f"figure {figure.name}: only a required difference is a remainder"
        for text in figure.operands:
            if machine.is_figure_name(text):
                yield from () if text in earlier_names else (f"figure {figure.name}: no figure before it is {text}",)
            else:
                yield from _find_pattern_problem(figure.name, text)
        for text in figure.governs:
            yield from _find_pattern_problem(figure.name, text, machine.parse_governed)
        earlier_names.add(figure.name)
    if template.routed:
        yield from _find_pattern_problem("routed", template.routed)


def _find_pattern_problem(
    name: str, text: str, parse: Callable[[str], object] = machine.parse_pattern
) -> Iterator[str]:
    try:
        parse(text)
    except machine.BadPattern as error:
        yield f"figure {name}: {error}"


_LONGEST_INSTRUCTION = 600
_LONGEST_OUTPUT = 80
_MOST_OUTPUTS = 12


class StateInstruction(BaseModel):
    model_config = ConfigDict(extra="forbid")

    state: FsmState
    text: str = Field(max_length=_LONGEST_INSTRUCTION)


class ProposedProcess(BaseModel):
    """A process as a model proposes it. Only known words for states and risks are valid."""

    model_config = ConfigDict(extra="forbid")

    states: tuple[FsmState, ...]
    risk: Literal["low", "medium", "high"]
    approval_wanted: bool
    instructions: tuple[StateInstruction, ...] = ()
    outputs: tuple[str, ...] = ()


def build_template(process_type: str, proposed: ProposedProcess, example: str) -> machine.ProcessTemplate:
    """The proposal as a template; a risky one asks a person before its writes. Raises ``BadTemplate``."""
    instructions = {entry.state: " ".join(entry.text.split()) for entry in proposed.instructions if entry.text.strip()}
    _refuse_case_details((*(entry.text for entry in proposed.instructions), *proposed.outputs), example)
    if len(proposed.outputs) > _MOST_OUTPUTS or any(len(text) > _LONGEST_OUTPUT for text in proposed.outputs):
        raise machine.BadTemplate("its outputs are too many or too long")
    guarded = FsmState.MUTATE in proposed.states and (proposed.risk == "high" or proposed.approval_wanted)
    cause = "a wrong write in it would be bad" if proposed.risk == "high" else "its design asks for an approval"
    reason = f"{process_type} is a process that was designed without a person, and {cause}"
    template = machine.ProcessTemplate(
        process_type=process_type,
        states=machine.with_approval_gate(proposed.states) if guarded else proposed.states,
        risk=proposed.risk,
        instructions=instructions,
        outputs=tuple(text.strip() for text in proposed.outputs if text.strip()),
        rules=(_build_approval_rule(process_type, reason),) if guarded else (),
        synthesized=True,
    )
    _refuse_unusable_template(template)
    return template


def parse_stored_template(process_type: str, text: str) -> machine.ProcessTemplate:
    """A stored template; raises ``BadTemplate`` if the text is none, or one that may no longer be followed."""
    try:
        template = machine.ProcessTemplate.model_validate_json(text)
    except ValueError as error:
        raise machine.BadTemplate("what is kept of it cannot be read") from error
    if template.process_type != process_type or not template.synthesized:
        raise machine.BadTemplate("what is kept under its name is another process")
    _refuse_unusable_template(template)
    return template


def template_may_ask_a_person(text: str) -> bool:
    """Whether a stored template (JSON, perhaps an invalid one) may ask a person before a write; true if it cannot be
    read.
    """
    try:
        template = machine.ProcessTemplate.model_validate_json(text)
    except ValueError:
        return True
    return template.risk == "high" or bool(template.rules) or FsmState.APPROVAL_GATE in template.states


def general_template_with_approval(kind: str) -> machine.ProcessTemplate:
    """The ``general`` process for tasks whose own process cannot be followed: each write waits for a person."""
    reason = f"{kind} has a process of its own, which may ask for an approval and cannot be followed now"
    rules = (*machine.GENERAL_TEMPLATE.rules, _build_approval_rule(machine.GENERAL_TEMPLATE.process_type, reason))
    return machine.GENERAL_TEMPLATE.model_copy(
        update={"states": machine.with_approval_gate(machine.GENERAL_TEMPLATE.states), "rules": rules}
    )


def _refuse_unusable_template(template: machine.ProcessTemplate) -> None:
    """Raises ``BadTemplate`` if something is wrong with the template, or it has no MUTATE."""
    refuse_bad_template(template, is_synthesized=True)
    if FsmState.MUTATE not in template.states:
        raise machine.BadTemplate(
            f"{template.process_type} has no MUTATE: nothing that its tasks ask for could be done"
        )


def _build_approval_rule(process_type: str, reason: str) -> Rule:
    return Rule(
        id="approval-wanted",
        condition=f'process_type == "{process_type}"',
        action=RuleAction.REQUIRE_APPROVAL,
        level=EscalationLevel.MANAGER.word,
        reason=reason,
    )


def _refuse_case_details(texts: Iterable[str], example: str) -> None:
    """Raises ``BadTemplate`` if the texts have details of the example task, or what the privacy guard marks."""
    joined_text = " ".join(texts)
    if find_protected_values(joined_text) or find_ids_and_figures(example) & find_ids_and_figures(joined_text):
        raise machine.BadTemplate("it speaks of the one task that it was made for")


_MOST_PROBLEMS = 20
_MOST_PROCESSES = 500


class BadDefinitions(Exception):
    """A file holds processes that cannot be followed; ``problems`` names the first of them, and why."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems[:_MOST_PROBLEMS])


async def import_processes(learned: LearnedStore, request: LearningImportRequest) -> LearningImportReport:
    """Stores the unknown processes of a file, but not in a dry run; returns how many were new, known and left out.

    A bad file stores nothing and is told in ``problems``. May be repeated. Raises ``StoreUnavailable``.
    """
    fields = {"file": request.file, "dry_run": request.dry_run}
    if request.file is not LearningFile.SYNTHESIZED:
        return LearningImportReport(**fields, problems=("the executor imports processes and nothing else",))
    try:
        templates = read_definitions(request.content)
    except BadDefinitions as error:
        return LearningImportReport(**fields, problems=error.problems)
    known_names = set(await learned.list_synthesized_processes(request.tenant)) & templates.keys()
    new_names, left_out = [name for name in templates if name not in known_names], 0
    for name in () if request.dry_run else new_names:
        await learned.store_synthesized_process_if_new(request.tenant, name, templates[name].model_dump_json())
        left_out += await learned.get_synthesized_process(request.tenant, name) is None
    return LearningImportReport(**fields, taken=len(new_names) - left_out, known=len(known_names), left_out=left_out)


def read_definitions(content: JsonValue) -> Mapping[str, machine.ProcessTemplate]:
    """The templates of a file by process type. Raises ``BadDefinitions``."""
    if isinstance(content, dict) and isinstance(content.get("definitions"), dict):
        content = content["definitions"]
    if not isinstance(content, dict):
        raise BadDefinitions(["it is no object of processes"])
    if len(content) > _MOST_PROCESSES:
        raise BadDefinitions([f"it has more than {_MOST_PROCESSES} processes"])
    templates: dict[str, machine.ProcessTemplate] = {}
    problems: list[str] = []
    for name, fields in content.items():
        try:
            templates[name] = _read_definition(name, fields)
        except (machine.BadTemplate, ValidationError) as error:
            problems.append(f"{name}: {describe_first_error(error) if isinstance(error, ValidationError) else error}")
    if problems:
        raise BadDefinitions(problems)
    return templates


def _read_definition(name: str, fields: JsonValue) -> machine.ProcessTemplate:
    if name in machine.BUILT_IN_TEMPLATES:
        raise machine.BadTemplate("a process of that name is built in")
    if machine.normalize_process_name(name) != name:
        raise machine.BadTemplate("its name is none that a task could be given: a few words of letters in snake case")
    if not isinstance(fields, dict):
        raise machine.BadTemplate("it is no object")
    stored = fields.get("template")
    if not isinstance(stored, dict):
        return build_template(name, _parse_proposal(fields), example="")
    try:
        text = dumps(to_exact(stored))
    except ValueError as error:
        raise machine.BadTemplate(f"its template is no JSON: {error}") from error
    return parse_stored_template(name, text)


def _parse_proposal(fields: Mapping[str, JsonValue]) -> ProposedProcess:
    """The file's fields as if a model had proposed them; an approval is wanted unless the file says otherwise.

    Raises ``BadTemplate`` or pydantic's ``ValidationError`` for fields of a wrong kind.
    """
    instructions = fields.get("state_instructions") or {}
    if not isinstance(instructions, dict):
        raise machine.BadTemplate("state_instructions is no object")
    proposal = {
        "states": fields.get("states"),
        "risk": fields.get("risk_level", "medium"),
        "approval_wanted": fields.get("hitl_required") is not False,
        "instructions": [
            {"state": state, "text": str(text)[:_LONGEST_INSTRUCTION]} for state, text in instructions.items()
        ],
    }
    return ProposedProcess.model_validate(proposal)
