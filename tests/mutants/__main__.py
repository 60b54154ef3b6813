"""``python -m tests.mutants``: a seeded sample of small changes to the code, each against the tests that run its block.

A first run (some minutes; ``--keep`` takes the record of the last one) notes which test runs which block. Then each
mutant meets the tests that run its block, the most particular first, until one fails. No file of the tree is changed.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tests.mutants.plugin import ROOT, block_of, target_files
from tests.mutants.sites import sites

RECORDS = ROOT / ".results" / "mutants"
TESTS = (
    *(
        f"tests/unit/{folder}"
        for folder in ("policy", "executor", "executor_core", "authorize", "write", "figures", "worth")
    ),
    "tests/processes",
)
MOST_TESTS = 200  # for one mutant
SECONDS = 240  # for the tests of one mutant; a mutant that never ends is noticed
_PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "tests.mutants.plugin",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
)
_WORDS = {0: "survived", 1: "killed", 2: "killed"}  # 2: it cannot even be imported


class Mutant(NamedTuple):
    """``number``: of its site in the file."""

    path: str
    line: int
    what: str
    number: int
    block: str


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--keep", action="store_true", help="take the record of the last run")
    parser.add_argument("--workers", type=int, default=2, help="processes of the recording run")
    options = parser.parse_args(arguments)
    if not (options.keep and RECORDS.exists()):
        _record(options.workers)
    tests, rows = _tests_by_block(), list[dict[str, object]]()
    for mutant in _sample(options.seed, options.count):
        word = _meet(mutant, tests.get(mutant.block, []))
        rows.append({"word": word, **mutant._asdict(), "tests": len(tests.get(mutant.block, []))})
        sys.stdout.write(f"{word:10} {mutant.path}:{mutant.line}  {mutant.what}\n")
        sys.stdout.flush()
    found = {word: sum(row["word"] == word for row in rows) for word in ("killed", "survived", "not run")}
    (RECORDS.parent / "mutants.json").write_text(json.dumps({"seed": options.seed, **found, "mutants": rows}, indent=1))
    sys.stdout.write(
        ", ".join(f"{count} {word}" for word, count in found.items()) + f" of {len(rows)}, seed {options.seed}\n"
    )
    return 0


def _record(workers: int) -> None:
    shutil.rmtree(RECORDS, ignore_errors=True)
    RECORDS.mkdir(parents=True)
    command = [*_PYTEST, "-n", str(workers), "--dist", "loadfile", "-m", "not long", *TESTS]
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MUTANTS_RECORD": str(RECORDS)}, check=False
    )  # our own command


def _tests_by_block() -> dict[str, list[str]]:
    """Of each block the tests that run it: those first that run little else, then the quick ones."""
    records = [row for path in sorted(RECORDS.glob("*.json")) for row in json.loads(path.read_text()).items()]
    found = defaultdict[str, list[tuple[int, float, str]]](list)
    for test, (seconds, blocks) in records:
        for block in blocks:
            found[block].append((len(blocks), seconds, test))
    return {block: [test for _, _, test in sorted(rows)] for block, rows in found.items()}


def _sample(seed: int, count: int) -> list[Mutant]:
    """So many of all sites, drawn one after the other; what runs while a module is imported is passed over."""
    trees = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in target_files()}
    every = [(name, number, site) for name, tree in trees.items() for number, site in enumerate(sites(tree))]
    random.Random(seed).shuffle(every)  # noqa: S311  # a sample, no secret
    drawn = list[Mutant]()
    for name, number, site in every:
        if len(drawn) < count and (block := block_of(name, trees[name], site.line)):
            drawn.append(Mutant(name, site.line, site.what, number, block))
    return sorted(drawn)


def _meet(mutant: Mutant, tests: Sequence[str]) -> str:
    if not tests:
        return "not run"
    command = [*_PYTEST, "-n0", "-x", "--timeout=60", *tests[:MOST_TESTS]]
    env = {**os.environ, "MUTANT": f"{mutant.path}:{mutant.number}"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "killed"
    return _WORDS.get(done.returncode, f"pytest: {done.returncode}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
