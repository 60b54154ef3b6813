"""A table of cases that is one test: a row that fails is told by its values, and none costs a test of its own."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TypeVar, cast

_Test = TypeVar("_Test", bound=Callable[..., object])


def each_row(names: str | Sequence[str], *table: object) -> Callable[[_Test], _Test]:
    """Like ``pytest.mark.parametrize``, for quick functions that need no fresh fixture for a row.

    Rows are given one by one or together. Those that take long to make are given as the function that makes them:
    nothing is made but where the test runs.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    rows = table if len(table) > 1 else table[0]
    given = rows if inspect.isfunction(rows) else [*cast("Iterable[object]", rows)]

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def run(**fixtures: object) -> None:
            with _failures() as failed:
                for row in _arguments(named, given):
                    with _kept(failed, row):
                        test(**row, **fixtures)

        @wraps(test)
        async def run_async(**fixtures: object) -> None:
            with _failures() as failed:
                for row in _arguments(named, given):
                    with _kept(failed, row):
                        await cast("Awaitable[None]", test(**row, **fixtures))

        chosen: object = run_async if inspect.iscoroutinefunction(test) else run
        asked = [one for name, one in inspect.signature(test).parameters.items() if name not in named]
        chosen.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]  # which pytest reads
        return cast(_Test, chosen)

    return decorate


def _arguments(names: Sequence[str], given: list[object] | Callable[[], Iterable[object]]) -> list[dict[str, object]]:
    listed = given if isinstance(given, list) else [*given()]
    assert listed, "a table without rows asserts nothing"
    tuples = (cast("tuple[object, ...]", row) if len(names) > 1 else (row,) for row in listed)
    return [dict(zip(names, values, strict=True)) for values in tuples]


@contextmanager
def _failures() -> Iterator[list[Exception]]:
    """What rows raised is raised together, once all of them were tried."""
    failed: list[Exception] = []
    yield failed
    if failed:
        raise ExceptionGroup(f"{len(failed)} rows", failed)


@contextmanager
def _kept(failed: list[Exception], row: dict[str, object]) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever a row raises is told with those of the others
        error.add_note(f"row: {row!r}"[:500])
        failed.append(error)
