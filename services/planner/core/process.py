"""What the loop says of the kind of process: its instruction, who has to be told of a change, and ways by age."""

from typing import NamedTuple

from services.planner.core.request import UNDERSTAND, Request, as_object, objects
from shared.domain.exact_json import JsonObject


class Process(NamedTuple):
    """Empty where nothing is said of it."""

    name: str = ""
    instruction: str = ""
    notice_to: str = ""
    outputs: tuple[str, ...] = ()
    routes: tuple[JsonObject, ...] = ()


def process_of(request: Request) -> Process:
    """From the result of ``understand``, or the section that a new history has in its place."""
    said = as_object(call_understand(request).get("process")) or as_object(request.section("process"))
    outputs = said.get("outputs")
    return Process(
        name=_text(said.get("type")),
        instruction=_text(said.get("instruction")),
        notice_to=_text(said.get("notice_to")).replace("_", " "),
        outputs=tuple(map(str, outputs)) if isinstance(outputs, list) else (),
        routes=tuple(objects(said.get("routes"))),
    )


def call_understand(request: Request) -> JsonObject:
    """The last result of ``understand``; empty if there is none yet."""
    for call in reversed(request.calls):
        if call.tool == UNDERSTAND and not call.failed:
            return as_object(call.result)
    told = request.section("parts")
    return {"parts": told} if isinstance(told, list) else as_object(told)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
