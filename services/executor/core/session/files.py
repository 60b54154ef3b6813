"""The files of a task: read once, shown to the model as data, and a source like any text that somebody wrote."""

import base64
from collections.abc import Sequence

from pydantic import JsonValue

from services.executor.core.session.journal import Journal
from services.executor.core.session.values import Fact
from services.executor.ports.files import ReadFile, TaskFiles
from services.executor.ports.models import ImageBlock
from shared.contracts.task import SentFile, TaskRecord, Turn
from shared.domain.exact_json import Json, JsonObject, dumps

FILE = "attached_file"  # what stands in place of a tool where a file is a source
_UNSEEN = "the model takes no images, so nobody looked at it"


async def read_files(files: TaskFiles, record: TaskRecord, turn: Turn, journal: Journal) -> tuple[ReadFile, ...]:
    """Each file of the task as a step of its journal: fetched and read once, whoever goes on with the task.

    Those of its first message, of later ones, and of this turn's, in the order in which they came.
    """
    sent = (*record.request.files, *record.later_files, *turn.files)
    return tuple(
        [
            await _read_file(files, record.tenant, journal, number, file)  # one after the other: one parser a task
            for number, file in enumerate(sent, 1)
        ]
    )


async def load_pictures(files: TaskFiles, record: TaskRecord, read: Sequence[ReadFile]) -> tuple[ImageBlock, ...]:
    """What the model is shown of the images; one that can no longer be had is named to it, and has no data."""
    shown = [file for file in read if file.picture_id]
    found = [await files.content(record.tenant, file.picture_id) for file in shown]
    return tuple(
        ImageBlock(file.picture_id, file.name, base64.b64encode(data or b"").decode(), file.picture_tokens)
        for file, data in zip(shown, found, strict=True)
    )


def files_section(read: Sequence[ReadFile], most: int) -> list[Json]:
    """The files as the first message quotes them: of their texts ``most`` characters, shared among them."""
    texts = [file for file in read if file.text]
    share = most // max(1, len(texts))
    return [_describe(number, file, share) for number, file in enumerate(read, 1)]


def files_as_facts(read: Sequence[ReadFile]) -> tuple[Fact, ...]:
    """The texts of the files as sources, by the names that the first message gives them: each is somebody's prose."""
    return tuple(_fact(number, {FILE: {"body": file.text}}) for number, file in enumerate(read, 1) if file.text)


def files_to_look_at(read: Sequence[ReadFile]) -> tuple[Fact, ...]:
    """The same as results that are nothing but a text, which is looked at by its lines."""
    return tuple(_fact(number, file.text) for number, file in enumerate(read, 1) if file.text)


def files_noted(read: Sequence[ReadFile]) -> dict[str, JsonValue]:
    """What the task's metadata tells of its files."""
    rows: list[JsonValue] = [_note(file) for file in read]
    return {"files": rows} if rows else {}


def _note(file: ReadFile) -> dict[str, JsonValue]:
    known: dict[str, JsonValue] = {"name": file.name, "type": file.media_type, "bytes": file.size}
    return {**known, "file_id": file.file_id, **({"problem": file.problem} if file.problem else {})}


def files_not_read(read: Sequence[ReadFile], *, saw_pictures: bool) -> tuple[str, ...]:
    """What an answer has to say of files that were not read, or not looked at: a sentence for each."""
    why = [(file, file.problem or (_UNSEEN if file.picture_id and not saw_pictures else "")) for file in read]
    return tuple(f"{file.name}: {said}" for file, said in why if said)


async def _read_file(files: TaskFiles, tenant: str, journal: Journal, number: int, file: SentFile) -> ReadFile:
    async def step() -> str:
        read = await files.read(tenant, file)
        journal.tell("note", file=read.name, media_type=read.media_type, size=read.size, problem=read.problem)
        return read.model_dump_json()

    return ReadFile.model_validate_json(await journal.run_step(f"file:{number}", "note", step))


def _fact(number: int, result: Json) -> Fact:
    return Fact(ref=f"file{number}", connection_id="", tool=FILE, arguments_json="{}", result_json=dumps(result))


def _describe(number: int, file: ReadFile, share: int) -> Json:
    known: JsonObject = {"ref": f"file{number}", "name": file.name, "type": file.media_type, "bytes": file.size}
    if file.problem:
        return {**known, "problem": f"this file could not be read: {file.problem}"}
    if file.picture_id:
        return {**known, "image": "it stands before this text"}
    rest = len(file.text) - share
    note: JsonObject = {"note": f"cut; look shows the rest: {rest:,} characters"} if rest > 0 else {}
    more: JsonObject = {"more": "the file goes on beyond what was read of it"} if file.is_cut else {}
    return {**known, "text": file.text[:share], **note, **more}
