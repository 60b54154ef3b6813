"""A plan of reads: what would be read next, named before it is read."""

from services.planner.core.answer import wants_list
from services.planner.core.reads import next_reads
from services.planner.core.request import Request
from services.planner.core.situation import Situation
from services.planner.core.tending_roles import lists_to_read, now_of, unread
from shared.domain.exact_json import Json, JsonObject, dumps


def read_plan(request: Request, situation: Situation) -> JsonObject:
    """The structured output READ_PLAN; what these reads show may lead to more."""
    with_tools = request._replace(tools=request.listed_tools("read_tools"))
    if now_of(request) is None:
        bound = next_reads(with_tools, situation)
    else:
        bound = unread(lists_to_read(with_tools, situation), situation)
    reads: list[Json] = [
        {
            "id": f"s{number}",
            "need": f"what {read.tool.name} shows",
            "tool": read.tool.name,
            "arguments_json": dumps(read.arguments),
        }
        for number, read in enumerate(bound, 1)
    ]
    answer_format = "list" if wants_list(situation.text) else "prose"
    return {"reads": reads, "look_again": bool(reads), "answer_format": answer_format}
