"""Tasks for a generated scene: reads, computations and writes, over one thing, over each of many, over one by name."""

from copy import deepcopy
from decimal import Decimal
from typing import NamedTuple

from shared.domain.exact_json import Json, JsonObject
from tests.doubles.generated_scene import Scene
from tests.doubles.generated_words import ANSWER_FORMATS, plural

State = dict[str, dict[str, JsonObject]]


class Task(NamedTuple):
    """A text, the state that carrying it out exactly leads to, with how many writes, and the list that answers it."""

    kind: str
    text: str
    expected: State
    writes: int = 1
    answer: tuple[str, ...] | None = None


def make_task(scene: Scene, seed: int) -> Task:
    """The task of a seed: its kind goes round, everything else is drawn."""
    opened = [key for key, row in scene.state[scene.noun].items() if row["state"] == "open"]
    key = scene.random.choice(opened or [scene.add_main(next(iter(scene.state[scene.other])), "Lone Marten")])
    return _MAKERS[seed % len(_MAKERS)](scene, key)


def _worded(scene: Scene, kind: str, key: str, **words: str) -> str:
    """One of the ways in which people put such a task."""
    names = {"noun": scene.noun, "key": key, "field": scene.figure, "part": scene.part, "child": scene.child}
    many = {"parts": plural(scene.part), "children": plural(scene.child), "nouns": plural(scene.noun)}
    return scene.random.choice(ANSWER_FORMATS[kind]).format(**names, **many, other=scene.other, **words)


def _parts_of(scene: Scene, key: str) -> list[Decimal]:
    rows = [row for row in scene.state[scene.child].values() if row[scene.owner_field] == key]
    return [Decimal(str(row[scene.field(scene.part)])) for row in rows]


def _with_figure(scene: Scene, key: str, value: Decimal) -> State:
    expected = deepcopy(scene.state)
    expected[scene.noun][key][scene.field(scene.figure)] = scene.stored(value)
    return expected


def _with_state(scene: Scene, keys: list[str]) -> State:
    expected = deepcopy(scene.state)
    for key in keys:
        expected[scene.noun][key]["state"] = scene.end_state
    return expected


def _sum(scene: Scene, key: str) -> Task:
    expected = _with_figure(scene, key, sum(_parts_of(scene, key), Decimal(0)))
    return Task("sum", _worded(scene, "sum", key), expected)


def _count(scene: Scene, key: str) -> Task:
    expected = _with_figure(scene, key, Decimal(len(_parts_of(scene, key))))
    return Task("count", _worded(scene, "count", key), expected)


def _increase(scene: Scene, key: str) -> Task:
    step = Decimal(scene.random.randint(100, 9_999)) / 100
    kind = scene.random.choice(["more", "less"])
    before = Decimal(str(scene.state[scene.noun][key][scene.field(scene.figure)]))
    after = before + step if kind == "more" else before - step
    return Task("increase", _worded(scene, kind, key, step=f"{step:.2f}"), _with_figure(scene, key, after))


def _share(scene: Scene, key: str) -> Task:
    percent = scene.random.choice([10, 20, 25, 50])
    amount = Decimal(scene.random.randint(2, 900))
    scene.state[scene.noun][key][scene.field(scene.figure)] = scene.stored(amount)
    expected = deepcopy(scene.state)
    row: JsonObject = {scene.owner_field: key, scene.field(scene.part): scene.stored(amount * percent / 100)}
    expected[scene.child]["new"] = {scene.id_field(scene.child): "new", **row}
    return Task("share", _worded(scene, "share", key, percent=str(percent)), expected)


def _condition(scene: Scene, key: str) -> Task:
    limit = scene.random.randint(5, 3000)
    is_under = sum(_parts_of(scene, key), Decimal(0)) < limit
    expected = _with_state(scene, [key]) if is_under else _with_figure(scene, key, Decimal(1))
    text = _worded(scene, "condition", key, verb=_verb(scene), limit=f"{limit}.00")
    return Task("condition", text, expected)


def _each(scene: Scene, key: str) -> Task:
    """The same write for every open thing of one holder."""
    holder = str(scene.state[scene.noun][key][scene.holder_field])
    scene.add_main(holder, "Second Marten")
    fitting = _open_of(scene, holder)
    text = _worded(scene, "each", holder, verb=_verb(scene))
    return Task("each", text, _with_state(scene, fitting), writes=len(fitting))


def _list(scene: Scene, key: str) -> Task:
    """A question whose answer is a list; nothing is written."""
    holder = str(scene.state[scene.noun][key][scene.holder_field])
    text = _worded(scene, "list", holder)
    return Task("list", text, deepcopy(scene.state), writes=0, answer=tuple(_open_of(scene, holder)))


def _named(scene: Scene, _key: str) -> Task:
    """A thing that is only known by its own name."""
    key = scene.add_main(scene.random.choice(list(scene.state[scene.other])), "Quiet Marten")
    return _of_one(scene, "named", key, "Quiet Marten")


def _belonging(scene: Scene, _key: str) -> Task:
    """The one thing of a holder that is only known by its name: two look-ups before the write."""
    row: Json = scene.stored(Decimal(7))
    holder = scene.insert(scene.other, {scene.field(scene.figure): row, "title": "Distant Marten", "state": "open"})
    return _of_one(scene, "belonging", scene.add_main(holder, "Quiet Otter"), "Distant Marten")


def _of_one(scene: Scene, kind: str, key: str, title: str) -> Task:
    if scene.random.choice([True, False]):
        return Task(kind, _worded(scene, f"{kind}_state", title, verb=_verb(scene)), _with_state(scene, [key]))
    value = Decimal(scene.random.randint(100, 9_999)) / 100
    text = _worded(scene, f"{kind}_figure", title, value=f"{value:.2f}")
    return Task(kind, text, _with_figure(scene, key, value))


def _open_of(scene: Scene, holder: str) -> list[str]:
    rows = scene.state[scene.noun].items()
    return [key for key, row in rows if row[scene.holder_field] == holder and row["state"] == "open"]


def _verb(scene: Scene) -> str:
    return scene.random.choice(scene.verbs.split())


_MAKERS = (_sum, _increase, _share, _condition, _count, _each, _list, _named, _belonging, _each)
