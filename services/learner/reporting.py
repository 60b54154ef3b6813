"""``python -m services.learner report``: benchmark reports, from a bucket or files, as one line of JSON."""

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from services.learner.core.files.benchmark_report import (
    BadReport,
    BenchmarkReport,
    PreparedRows,
    build_training_rows,
    convert_report_to_json,
    parse_report,
)
from services.learner.ports.outcomes import ObjectChanged, ObjectStoreUnavailable
from services.learner.settings import TrainingSettings
from shared.infra.starting import CannotStart, print_start_problem, read_settings

REPORT_COMMAND = "report"
_EXIT_REFUSED = 1


class FoundReports(NamedTuple):
    """Benchmark reports, the newest first. ``unread``: a sentence for each that could not be read."""

    reports: Sequence[BenchmarkReport]
    unread: Sequence[str]


def run_report_command(arguments: Sequence[str]) -> int:
    """Prints reports as one line of JSON. Returns 1 if there are none, 2 if no bucket or file is named."""
    options = _parse_options(arguments)
    try:
        if options.files:
            reports = _read_reports((str(file), file.read_bytes()) for file in options.files)
        else:
            reports = asyncio.run(_read_from_bucket(options.bucket, options.most))
    except CannotStart as problem:
        return print_start_problem(problem)
    except (ObjectStoreUnavailable, OSError) as problem:
        return _print_error(str(problem))
    if not reports.reports:
        return _print_error("There is no report. " + " ".join(reports.unread[:3]))
    newest_reports = reports.reports[: options.most]
    sys.stdout.write(
        json.dumps(_build_report_json(newest_reports, reports, build_training_rows(newest_reports))) + "\n"
    )
    return 0


def _build_report_json(
    newest_reports: Sequence[BenchmarkReport], reports: FoundReports, training: PreparedRows
) -> dict[str, JsonValue]:
    tables: list[JsonValue] = [convert_report_to_json(report) for report in newest_reports]
    rows: list[JsonValue] = [*training.rows]
    return {
        "reports": tables,
        "of": len(reports.reports),
        "unread": [*reports.unread],
        "training_rows": rows,
        "skipped": [*training.skipped],
    }


async def _read_from_bucket(bucket: str, most_reports: int) -> FoundReports:
    """The newest reports of the bucket; twice ``most_reports``, since their own dates may differ from the objects'.

    ``bucket``: if empty, ``S3_TRAINING_BUCKET``; raises ``CannotStart`` if that is not set either.
    """
    settings = read_settings(TrainingSettings, **({"s3_training_bucket": bucket} if bucket else {}))
    if not settings.s3_training_bucket:
        raise CannotStart("S3_TRAINING_BUCKET is not set, and no file was named.")
    from services.learner.adapters.s3_training import (
        S3ObjectStore,
    )  # boto3 takes long to load, and files need none of it

    store = S3ObjectStore(settings.s3_training_bucket, settings.s3_reports_prefix)
    contents: list[tuple[str, bytes]] = []
    for listed_object in list(reversed(await store.list_objects()))[: 2 * most_reports]:
        try:
            contents.append((listed_object.name, await store.read(listed_object)))
        except ObjectChanged:
            continue  # it was replaced just now: the next call reads it
    return _read_reports(contents)


def _read_reports(contents: Iterable[tuple[str, bytes]]) -> FoundReports:
    reports: list[BenchmarkReport] = []
    unread: list[str] = []
    for name, content in contents:
        try:
            reports.append(parse_report(name, content))
        except BadReport as error:
            unread.append(str(error))
    return FoundReports(sorted(reports, key=lambda report: report.made_at, reverse=True), unread)


def _print_error(sentence: str) -> int:
    sys.stderr.write(f"{sentence.strip()}\n")
    return _EXIT_REFUSED


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m services.learner {REPORT_COMMAND}", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="reports in files, in place of a bucket")
    parser.add_argument("--bucket", default="", help="in place of S3_TRAINING_BUCKET")
    parser.add_argument("--most", type=int, default=1, help="how many reports, the newest first")
    return parser.parse_args(arguments)
