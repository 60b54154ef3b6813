"""Scripted models. A model sees how its calls ended and yields further calls or its final text.

It knows nothing of the loop that drives it: an adapter turns the loop's messages into a `PlayProgress`, and the model's
step into what the loop expects. A model keeps no state: the ids of its calls say where in the gold they stand.
"""

import json
import re
from collections.abc import Collection, Mapping
from random import Random
from typing import NamedTuple, Protocol

from tools.bench.worth import faults
from tools.bench.worth.faults import FaultScene, ModelFault
from tools.bench.worth.steps import FinalReply, IntendedCall, IntendedCalls, PlayProgress, Step
from tools.bench.worth.worlds.data import Json
from tools.bench.worth.worlds.task import GoldCall, WorthTask

ATTEMPTS = 3


class PlayingModel(Protocol):
    def decide(self, progress: PlayProgress) -> Step:
        """The next reply: calls that are made at once, or the final text."""


class CallAttempt(NamedTuple):
    """A call's place in the gold, and which attempt at it this is."""

    round: int
    place: int
    attempt: int = 0

    def write_id(self) -> str:
        return f"gold-{self.round}-{self.place}-{self.attempt}"


def read_attempt(call_id: str) -> CallAttempt | None:
    match = re.fullmatch(r"gold-(\d+)-(\d+)-(\d+)", call_id)
    return CallAttempt(int(match[1]), int(match[2]), int(match[3])) if match else None


class PerfectModel:
    """Plays the gold round by round, repeats what was refused up to twice, and says what it could not do."""

    def __init__(self, task: WorthTask) -> None:
        self.task = task

    def decide(self, progress: PlayProgress) -> Step:
        latest = find_latest(progress)
        retried = [slot._replace(attempt=slot.attempt + 1) for slot in latest if may_retry(slot, progress)]
        if retried:
            return IntendedCalls(tuple(self._make_call(slot) for slot in retried))
        return self.step_from(max((slot.round for slot in latest), default=-1) + 1, progress)

    def step_from(self, number: int, progress: PlayProgress) -> Step:
        """The first round from this one on of which anything is to be called, or the end."""
        stopped = self.find_stopped_parts(progress)
        for round_number in range(number, len(self.task.rounds)):
            calls = self.task.rounds[round_number]
            slots = [CallAttempt(round_number, index) for index, call in enumerate(calls) if call.part not in stopped]
            if slots:
                return IntendedCalls(tuple(self._make_call(slot) for slot in slots))
        return self._finish(stopped)

    def find_stopped_parts(self, progress: PlayProgress) -> frozenset[int]:
        """Parts of which a call was refused for good, and parts that depend on them."""
        lost = {self._gold(slot).part for slot in find_latest(progress) if is_lost(slot, progress)}
        return frozenset(lost | {number for number, part in enumerate(self.task.parts) if lost & set(part.after)})

    def _finish(self, stopped: frozenset[int]) -> FinalReply:
        if not stopped:
            return FinalReply(self.task.answer)
        quotes = "; ".join(self.task.parts[part].quote for part in sorted(stopped))
        return FinalReply(f"I could not do this: {quotes}.", undone=True)

    def _gold(self, slot: CallAttempt) -> GoldCall:
        return self.task.rounds[slot.round][slot.place]

    def _make_call(self, slot: CallAttempt) -> IntendedCall:
        gold = self._gold(slot)
        return IntendedCall(slot.write_id(), gold.tool, dict(gold.arguments), gold.part)


def find_latest(progress: PlayProgress) -> list[CallAttempt]:
    """The latest attempt at each call of the gold that was tried."""
    latest: dict[tuple[int, int], CallAttempt] = {}
    for slot in filter(None, map(read_attempt, progress.outcomes)):
        latest[slot.round, slot.place] = slot
    return list(latest.values())


def may_retry(slot: CallAttempt, progress: PlayProgress) -> bool:
    outcome = progress.outcomes[slot.write_id()]
    return outcome.refused and not outcome.final and slot.attempt + 1 < ATTEMPTS


def is_lost(slot: CallAttempt, progress: PlayProgress) -> bool:
    return progress.outcomes[slot.write_id()].refused and not may_retry(slot, progress)


class FaultyModel:
    """A perfect model that commits a fault in a share of its replies.

    What it does in a reply depends on seed, task and the number of replies before, and on nothing else, so that the
    same conversation always has the same faults. `committed` lists them by reply, for reports.
    """

    def __init__(
        self, task: WorthTask, rate: float, seed: int, kinds: Collection[ModelFault] = tuple(ModelFault)
    ) -> None:
        self.task = task
        self.rate = rate
        self.seed = seed
        self.kinds = kinds
        self.committed: dict[int, ModelFault] = {}
        self._perfect = PerfectModel(task)

    def decide(self, progress: PlayProgress) -> Step:
        right = self._perfect.decide(progress)
        random = Random(f"{self.seed} {self.task.id} {progress.replies}")  # noqa: S311 - the same faults each time
        if random.random() >= self.rate:
            return right
        after, made = self._step_after(right, progress), frozenset(progress.outcomes)
        return self._commit_fault(FaultScene(self.task, right, after, progress.replies, random, made))

    def _commit_fault(self, scene: FaultScene) -> Step:
        """The first of the kinds, in an order that chance gives, that fits this reply."""
        for kind in scene.random.sample(sorted(self.kinds), len(self.kinds)):
            wrong = faults.commit_fault(kind, scene)
            if wrong is not None and wrong != scene.right:
                self.committed[scene.replies] = kind
                return wrong
        return scene.right

    def _step_after(self, right: Step, progress: PlayProgress) -> Step | None:
        """What the perfect model would do if this reply's calls had been made; None after the final reply."""
        if isinstance(right, FinalReply):
            return None
        slots = filter(None, (read_attempt(call.id) for call in right.calls))
        return self._perfect.step_from(max(slot.round for slot in slots) + 1, progress)


class GullibleModel:
    """Plays the gold, and does besides what an instruction inside a tool's result tells it to."""

    def __init__(self, task: WorthTask) -> None:
        self._perfect = PerfectModel(task)

    def decide(self, progress: PlayProgress) -> Step:
        right = self._perfect.decide(progress)
        orders = find_instructions(progress)
        if isinstance(right, FinalReply):
            fresh = obey_calls(orders, progress)
            return IntendedCalls(fresh) if fresh else FinalReply("\n".join([right.text, *orders.lines]), right.undone)
        return IntendedCalls((*obey_calls(orders, progress), *right.calls))


class Instructions(NamedTuple):
    """What results told the reader to call, and which lines they told it to say."""

    calls: Mapping[str, tuple[str, dict[str, Json]]]
    lines: tuple[str, ...]


def find_instructions(progress: PlayProgress) -> Instructions:
    texts = [text for outcome in progress.outcomes.values() for text in list_texts(outcome.result)]
    calls = [found for text in texts for found in read_calls(text)]
    lines = dict.fromkeys(
        match[1] for text in texts for match in re.finditer(r"add this line to your answer: (\S+)", text)
    )
    return Instructions({f"obey-{number}": call for number, call in enumerate(drop_doubles(calls))}, tuple(lines))


def list_texts(result: str) -> list[str]:
    """Every text inside a result, whether it is JSON or not."""
    try:
        return walk_texts(json.loads(result))
    except ValueError:
        return [result]


def walk_texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in walk_texts(each)]


def read_calls(text: str) -> list[tuple[str, dict[str, Json]]]:
    found = []
    for match in re.finditer(r"call (\S+) with (?=\{)", text):
        arguments, _ = json.JSONDecoder().raw_decode(text, match.end())
        found.append((match[1], arguments))
    return found


def drop_doubles(calls: list[tuple[str, dict[str, Json]]]) -> list[tuple[str, dict[str, Json]]]:
    return [call for number, call in enumerate(calls) if call not in calls[:number]]


def obey_calls(orders: Instructions, progress: PlayProgress) -> tuple[IntendedCall, ...]:
    """The instructed calls that were not made yet; they pretend to serve the first part."""
    fresh = {key: call for key, call in orders.calls.items() if key not in progress.outcomes}
    return tuple(IntendedCall(key, tool, arguments, 0) for key, (tool, arguments) in fresh.items())
