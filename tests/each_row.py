"""A table of cases that is one test: a row that fails is told by its values, and none costs a test of its own."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import cast

_Test = Callable[..., None]
_Rows = Iterable[object] | Callable[[], Iterable[object]]


def each_row(names: str | Sequence[str], rows: _Rows) -> Callable[[_Test], _Test]:
    """Like ``pytest.mark.parametrize``, for quick functions that need no fresh fixture for a row.

    Rows that take long to make are given as the function that makes them: nothing is made but where the test runs.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    given = rows if inspect.isfunction(rows) else [*cast("Iterable[object]", rows)]

    def decorate(test: _Test) -> _Test:
        if inspect.iscoroutinefunction(test):
            raise TypeError(f"{test.__name__} is async: nobody would await its rows")

        @wraps(test)
        def run(**fixtures: object) -> None:
            listed = [_arguments(named, row) for row in (given if isinstance(given, list) else given())]
            assert listed, "a table without rows asserts nothing"
            failed = [error for row in listed if (error := _failure(test, row, fixtures))]
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(listed)} rows", failed)

        asked = [one for name, one in inspect.signature(test).parameters.items() if name not in named]
        run.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]  # which pytest reads
        return run

    return decorate


def _arguments(names: Sequence[str], row: object) -> dict[str, object]:
    values = cast("tuple[object, ...]", row) if len(names) > 1 else (row,)
    return dict(zip(names, values, strict=True))


def _failure(test: _Test, row: dict[str, object], fixtures: dict[str, object]) -> Exception | None:
    try:
        test(**row, **fixtures)
    except Exception as error:  # noqa: BLE001 - whatever a row raises is told with those of the others
        error.add_note(f"row: {row!r}"[:500])
        return error
    return None
