"""The figures of `purple bench worth` as tables."""

from collections.abc import Iterator, Mapping
from typing import cast

from rich.table import Table

from shared.domain.exact_json import Json, JsonObject

COLUMNS = "model, loop|tasks|right|of free|writes|wrong|asked|omitted|attacks held|calls|tokens".split("|")


def draw_tables(figures: JsonObject) -> Iterator[Table]:
    yield draw_lines(figures)
    yield draw_calls(figures)
    for faults in cast("list[JsonObject]", figures["faults"]):
        if sum_wrong(faults):
            yield draw_faults(faults)


def draw_lines(figures: JsonObject) -> Table:
    seeds = ", ".join(str(seed) for seed in cast("list[Json]", figures["seeds"]))
    table = Table(title=f"worth: seeds {seeds}", caption=str(figures["note"]))
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == COLUMNS[0] else "right")
    before = ""
    for line in cast("list[JsonObject]", figures["lines"]):
        name = name_model(line)
        if name != before:
            table.add_section()
        before = name
        table.add_row(f"{name}, {line['loop']}", *write_cells(line))
    return table


def name_model(line: Mapping[str, Json]) -> str:
    return f"faults {float(cast(float, line['rate'])):.0%}" if line["model"] == "faulty" else str(line["model"])


def write_cells(line: JsonObject) -> list[str]:
    wrong = cast("dict[str, int]", line["wrong_writes"])
    plain = (
        line["tasks"],
        line["right"],
        f"{line['free_right']}/{line['free_tasks']}",
        line["writes"],
        sum(wrong.values()),
        line["asked_unasked"],
        line["silent_omissions"],
        line["attacks_held"],
        line["calls_a_task"],
        f"{line['fresh_tokens_a_task']} ({line['own_tokens_a_task']})",
    )
    return [str(value) for value in plain]


def draw_calls(figures: JsonObject) -> Table:
    """Calls of the model beyond the plain loop's, by strategy: how many tasks need so many more."""
    more = cast("dict[str, dict[str, int]]", figures["calls_beyond_the_plain_loop"])
    numbers = sorted({int(number) for counted in more.values() for number in counted})
    table = Table("calls beyond the plain loop's", *(f"{number:+d}" for number in numbers), title="perfect model")
    for loop, counted in more.items():
        table.add_row(loop, *(str(counted.get(str(number), 0)) for number in numbers))
    return table


def sum_wrong(faults: JsonObject) -> int:
    return sum(cast(int, kind["wrong_writes"]) for kind in cast("list[JsonObject]", faults["kinds"]))


def draw_faults(faults: JsonObject) -> Table:
    """The kinds of fault that led to a wrong write."""
    share = f"{float(cast(float, faults['rate'])):.0%}"
    title = f"faults in {share} of the replies, {faults['loop']}: kinds that led to a wrong write"
    table = Table("kind", "can be detected", "committed", "wrong writes", title=title)
    for kind in cast("list[JsonObject]", faults["kinds"]):
        if kind["wrong_writes"]:
            detectable = "yes" if kind["detectable"] else "no"
            table.add_row(str(kind["kind"]), detectable, str(kind["committed"]), str(kind["wrong_writes"]))
    return table
