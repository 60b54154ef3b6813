"""Fields of what came back that only changed their name: shown under the name that a rule, a figure or the task uses.

An error tells of a renamed column; an answer does not. So a field counts as renamed only in a record that the name is
plainly about: by its kind, where a figure of the process names that, or as the one thing that the task names. Another
word (``value`` or ``total`` for ``amount``) counts only in a record of that kind, and only with a figure as its value:
an item's ``price`` is no ``amount`` because some rule speaks of amounts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from services.executor.core.dossier.dossier import Fact
from services.executor.core.figures.numbers import figure
from services.executor.core.records.called_records import ReadOnce, Seen, find_records, is_named
from services.executor.core.session.context import TurnContext
from services.executor.core.states.patterns import is_figure, kinds, pattern
from services.executor.core.states.template import Template
from services.executor.core.tools.near_names import words_of
from services.executor.core.tools.schema_drift import ALIASES, ColumnMatch, match
from shared.domain.exact_json import Json, JsonObject

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME = re.compile(r"(?<![\w.])[a-z_][a-z0-9_]*(?![\w.(])")
_WORDS = frozenset("and or not in is true false null none contains exists matches if else between like".split())
_FIELD = re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w./(-])")
_FIGURE = "amount"  # what stands under this name, or under one of its aliases, is a figure
_NUMBERED = re.compile(r"\b([A-Za-z]+)-?\d[\w-]*\b")


class WantedField(NamedTuple):
    """Names of one field, any of which will do. ``kinds``: of records that have it; none: of what the task names."""

    fields: tuple[str, ...]
    kinds: tuple[str, ...] = ()


class ShownContent(NamedTuple):
    content: Json
    note: str = ""


def wanted_fields(ctx: TurnContext) -> tuple[WantedField, ...]:
    """The fields that the rules, the figures of the process and the task's own text speak of."""
    template = ctx.process.template
    conditions = [rule.condition for policy in ctx.policies for rule in policy.rules]
    about = _process_kinds(template)
    named = [WantedField((name,), about) for condition in conditions for name in _names(condition)]
    asked = [WantedField((name,)) for name in _FIELD.findall(ctx.task) if not _is_tool(ctx, name)]
    return tuple(dict.fromkeys((*_of_figures(template), *named, *asked)))


def as_expected(ctx: TurnContext, fact: Fact) -> ShownContent:
    """What a fact shows, with renamed fields under both names, and what is to be said of it."""
    fields, once = wanted_fields(ctx), ReadOnce.model_validate(fact.model_dump())
    added: dict[int, JsonObject] = {}
    told: dict[str, str] = {}
    for record in find_records((once,)) if fields else ():
        names = _find_renames(record, fields, ctx.task)
        if names:
            added[id(record.record)] = {old: record.record[new] for old, new in names.items()}
            told |= names
    said = [f"{old} seems to be called {new} now; it is shown under both names." for old, new in sorted(told.items())]
    return ShownContent(_with_fields(once.result, added), " ".join(said)) if added else ShownContent(once.result)


def _find_renames(record: Seen, fields: Sequence[WantedField], task: str) -> Mapping[str, str]:
    """New names by the expected ones. A column that two of them would be, or that is expected itself, is none."""
    mine = tuple(field for field in fields if _is_about(field, record, task))
    valued = tuple(name for name, value in record.record.items() if _has_value(value))
    names = _plain(mine, tuple(record.record), valued) if mine else {}
    figures = ALIASES[_FIGURE]
    return {
        old: new
        for old, new in names.items()
        if not (old in (_FIGURE, *figures) and new in figures) or figure(record.record[new]) is not None
    }


@lru_cache(maxsize=512)  # the rows of a list have the same names
def _plain(fields: tuple[WantedField, ...], names: tuple[str, ...], valued: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, set[str]] = {}
    expected = {name for field in fields for name in field.fields}
    free = [name for name in valued if name not in expected]
    for field in fields:
        if not any(name in names for name in field.fields):
            new = [(name, now.name) for name in field.fields if (now := _new_name(field, name, free))]
            if len({now for _, now in new}) == 1:
                found.setdefault(new[0][0], set()).add(new[0][1])
    single = {old: next(iter(new)) for old, new in found.items() if len(new) == 1}
    times = Counter(single.values())
    return {old: new for old, new in single.items() if times[new] == 1 and not _lacks_its_noun(old, new)}


def _lacks_its_noun(old: str, new: str) -> bool:
    """``item`` is no ``item_price``: it lacks the word that says what that is."""
    return words_of(old)[:-1] == words_of(new)


def _new_name(field: WantedField, name: str, free: Sequence[str]) -> ColumnMatch | None:
    """What the field is called now; another word counts only where it is known what kind of record has the field."""
    found = match(name, name, free)
    if found is None or found.tier != "alias" or field.kinds:
        return found
    return found if {*words_of(name)} & {*words_of(found.name)} else None


def _is_about(field: WantedField, record: Seen, task: str) -> bool:
    if field.kinds:
        return any(record.is_called(kind) for kind in field.kinds)
    return _names_one_kind(task) and is_named(record, task)


@lru_cache(maxsize=16)
def _names_one_kind(task: str) -> bool:
    return len({prefix.upper() for prefix in _NUMBERED.findall(task)}) == 1


def _has_value(value: Json) -> bool:
    return value is not None and not isinstance(value, dict | list)


def _process_kinds(template: Template) -> tuple[str, ...]:
    """The kinds of record that the process is about."""
    return tuple(dict.fromkeys(kind for figure in template.figures if figure.about for kind in kinds(figure.about)))


def _of_figures(template: Template) -> Iterator[WantedField]:
    for computed in template.figures:
        for operand in computed.operands:
            if not is_figure(operand) and (named := pattern(operand)).fields:
                yield WantedField(named.fields, named.kinds)


def _names(condition: str) -> list[str]:
    return [name for name in _NAME.findall(_QUOTED.sub("''", condition)) if name not in _WORDS]


def _is_tool(ctx: TurnContext, name: str) -> bool:
    return any(tool.name == name for tool in ctx.toolbox.tools.values())


def _with_fields(content: Json, added: dict[int, JsonObject]) -> Json:
    if isinstance(content, list):
        return [_with_fields(item, added) for item in content]
    if not isinstance(content, dict):
        return content
    return {key: _with_fields(value, added) for key, value in {**content, **added.get(id(content), {})}.items()}
