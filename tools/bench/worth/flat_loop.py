"""The plain tool loop: every call of a reply is run at once, until the model answers with text."""

import json
import re
from collections.abc import Sequence

from tools.bench.worth.fresh_tokens import FreshTokens, SentText
from tools.bench.worth.judge import RunResult, WorthEnd
from tools.bench.worth.messages import Block, BlockModel, Message, begin_messages, list_tools, read_input, write_result
from tools.bench.worth.worlds.data import ServerRefusal
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.world import ForeignWorld

MAX_REPLIES = 30


def run_flat(task: WorthTask, model: BlockModel) -> RunResult:
    """Plays a task on a fresh copy of its world. Nobody is asked for approvals, and no rule is looked at."""
    world = task.world.copy()
    tools, messages = list_tools(world), begin_messages(task)
    system = f"You carry out business tasks with tools. Today is {world.blueprint.today:%A, %d %B %Y}."
    answer = ""
    calls = 0
    spent = FreshTokens()
    while not answer and calls < MAX_REPLIES:
        spent.count(write_request(system, tools, messages))
        calls += 1
        blocks = model(system, tools, messages)
        uses = [block for block in blocks if block["type"] == "tool_use"]
        answer = "" if uses else "".join(str(block["text"]) for block in blocks)
        if uses:
            messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": run_calls(world, uses)}]
    end = WorthEnd.COMPLETED if answer else WorthEnd.FAILED
    undone = re.search(r"\b(could not|not done)\b", answer) is not None
    return RunResult(end, answer, world.snapshot(), calls, spent.tokens, 0, undone, spent.own_tokens)


def write_request(system: str, tools: Sequence[Block], messages: Sequence[Message]) -> SentText:
    """The request as text without closing brackets, so that a longer one begins with a shorter one."""
    return SentText(json.dumps(tools) + system, "".join(json.dumps(message) for message in messages))


def run_calls(world: ForeignWorld, uses: Sequence[Block]) -> list[Block]:
    return [run_call(world, use) for use in uses]


def run_call(world: ForeignWorld, use: Block) -> Block:
    try:
        return write_result(use["id"], world.call(str(use["name"]), read_input(use)), refused=False)
    except ServerRefusal as refusal:
        return write_result(use["id"], refusal.text, refused=True)
