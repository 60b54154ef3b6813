"""Imports synthesized processes from a file: all of them checked first, and the one that is kept already stays."""

from services.executor.core.states.definitions import BadDefinitions, read_definitions
from services.executor.ports.learned import Learned
from shared.contracts.learning_files import FileErrand, FileReport, LearningFile


async def import_processes(learned: Learned, errand: FileErrand) -> FileReport:
    """What became of the file. Repeat it freely. Raises ``StoreUnavailable``."""
    told = {"file": errand.file, "dry_run": errand.dry_run}
    if errand.file is not LearningFile.SYNTHESIZED:
        return FileReport(**told, problems=("the executor imports processes and nothing else",))
    try:
        found = read_definitions(errand.content)
    except BadDefinitions as bad:
        return FileReport(**told, problems=bad.problems)
    known = set(await learned.process_types(errand.tenant))
    taken, left_out = 0, 0
    for name, template in found.items():
        if name in known:
            continue
        if not errand.dry_run:
            await learned.keep_process(errand.tenant, name, template.model_dump_json())
            left_out += await learned.process(errand.tenant, name) is None
        taken += 1
    return FileReport(**told, taken=taken - left_out, known=len(known & found.keys()), left_out=left_out)
