"""The worlds and tasks of a seed: five tasks in each of fifteen domains, one of the five under a rule."""

from contextlib import suppress
from datetime import date
from random import Random
from types import ModuleType
from typing import NamedTuple, Protocol, cast

from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.domains import (
    banking,
    clinic,
    fieldservice,
    hotel,
    insurance,
    laboratory,
    library,
    logistics,
    personnel,
    school,
    subscriptions,
    telco,
    utility,
    vendors,
    warehouse,
)
from tools.bench.worth.worlds.drafting import NoFittingRecord, TaskDraft
from tools.bench.worth.worlds.names import NamePool
from tools.bench.worth.worlds.standing import add_standing_tools, add_unused_tools
from tools.bench.worth.worlds.task import WorthTask
from tools.bench.worth.worlds.traits import Trait
from tools.bench.worth.worlds.world import ForeignWorld

MODULES = (
    banking,
    clinic,
    fieldservice,
    hotel,
    insurance,
    laboratory,
    library,
    logistics,
    personnel,
    school,
    subscriptions,
    telco,
    utility,
    vendors,
    warehouse,
)
TODAY = date(2026, 3, 12)
UNRULED_TASKS = 4
QUESTION_SHARE = 0.5


class Writer(Protocol):
    """Writes one task of a domain."""

    __name__: str

    def __call__(self, draft: TaskDraft) -> None: ...


class Domain(NamedTuple):
    """`tasks` meet no rule, `ruled_tasks` meet one; `questions` are those of the tasks that only find something out."""

    name: str
    module: ModuleType
    tasks: tuple[Writer, ...]
    questions: tuple[Writer, ...]
    ruled_tasks: tuple[Writer, ...]

    def fill(self, build: WorldBuild) -> None:
        self.module.fill(build)


def load_domains() -> tuple[Domain, ...]:
    return tuple(_load_domain(module) for module in MODULES)


def _load_domain(module: ModuleType) -> Domain:
    name = module.__name__.rpartition(".")[2]
    groups = (cast("tuple[Writer, ...]", group) for group in (module.TASKS, module.QUESTIONS, module.RULED_TASKS))
    return Domain(name, module, *groups)


def generate_tasks(seed: int, today: date = TODAY) -> tuple[WorthTask, ...]:
    """Every task of a seed; the same seed and day always make the same."""
    names = NamePool(Random(f"names {seed}"))  # noqa: S311 - the same names each time
    return tuple(task for domain in load_domains() for task in _generate_domain(domain, seed, names, today))


def _generate_domain(domain: Domain, seed: int, names: NamePool, today: date) -> list[WorthTask]:
    """The domain's tasks in the first world, of those drawn one after the other, that has records for all of them."""
    random = Random(f"{domain.name} {seed}")  # noqa: S311 - the same worlds each time
    while True:
        with suppress(NoFittingRecord):
            return _generate_in_world(domain, seed, random, names, today)


def _generate_in_world(domain: Domain, seed: int, random: Random, names: NamePool, today: date) -> list[WorthTask]:
    build = WorldBuild(domain.name, random, names, today)
    world = build_world(build, domain)
    writers = [*random.sample(domain.tasks, UNRULED_TASKS), random.choice(domain.ruled_tasks)]
    return [_write_task(_add_question(writer, writers, domain, random), build, world, seed) for writer in writers]


def _add_question(writer: Writer, writers: list[Writer], domain: Domain, random: Random) -> list[Writer]:
    """Some tasks begin with a question about something else."""
    others = [question for question in domain.questions if question not in writers]
    if not others or writer in domain.questions or random.random() > QUESTION_SHARE:
        return [writer]
    return [random.choice(others), writer]


def build_world(build: WorldBuild, domain: Domain) -> ForeignWorld:
    domain.fill(build)
    add_standing_tools(build)
    add_unused_tools(build)
    if build.has(Trait.PROSE):
        build.form.prose_tables.add(build.random.choice(sorted(build.form.kinds)))
    return build.finish()


def _write_task(writers: list[Writer], build: WorldBuild, world: ForeignWorld, seed: int) -> WorthTask:
    draft = TaskDraft(build, world)
    for writer in writers:
        draft.change_subject()
        writer(draft)
    return draft.finish(seed, "-".join(writer.__name__ for writer in writers))
