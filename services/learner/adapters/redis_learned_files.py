"""What is learned of a tenant, on Redis, for imports: read in one round trip and changed in one step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha1
from typing import TypeAlias, cast
from uuid import uuid4

from services.learner.ports import files
from services.learner.ports.outcomes import StoredCase
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.domain.bandit import Arm
from shared.infra import keys
from shared.infra.learned_files import parse_arms, parse_contract_rows
from shared.infra.lua import Argument, ScriptedStore, Scripts, bounded_redis_calls
from shared.ports.store import StoreUnavailable

LearnedCommand: TypeAlias = tuple[str, str, Sequence[Argument]]  # a word, a key, what follows

_MOST_WORDS_OF_COMMAND = 1000  # words of one command: Lua unpacks no more than a few thousand


async def change_learned_data(
    scripts: Scripts, tenant: str, commands: Iterable[LearnedCommand], versions: files.StoredVersions
) -> bool:
    """Runs Redis commands on the data learned of a tenant in one step; returns whether it did.

    False, with nothing changed, if a part whose version is in ``versions`` has changed since.
    """
    names = keys.learned_keys(tenant)
    key_positions = {
        name: number for number, name in enumerate((names.cases, names.counts, names.memory, names.knowledge), 1)
    }
    arguments: list[Argument] = [*versions, f"change-{uuid4().hex}"]
    for command, name, words in commands:
        arguments += _encode_command(command, key_positions.setdefault(name, len(key_positions) + 1), words)
    return await scripts.run("change_learned", list(key_positions), arguments) == 1


def hash_stored_list(rows: Iterable[str]) -> str:
    """The hash of a Redis list's rows, as the script ``change_learned_data`` computes it; it detects changes, not
    attacks.
    """
    return sha1("\n".join(rows).encode(), usedforsecurity=False).hexdigest()


def _encode_command(command: str, key_position: int, words: Sequence[Argument]) -> list[Argument]:
    """A command as script arguments, in pieces of ``_MOST_WORDS_OF_COMMAND`` words; nothing if it has no words.

    ``key_position``: of the command's key among the script's keys, from 1.
    """
    if command == "DEL":
        return [command, key_position, 0]
    chunks = (words[start : start + _MOST_WORDS_OF_COMMAND] for start in range(0, len(words), _MOST_WORDS_OF_COMMAND))
    return [word for chunk in chunks for word in (command, key_position, len(chunk), *chunk)]


def _parse_case_log(rows: Iterable[str]) -> list[StoredCase]:
    return [StoredCase(text, CaseEntry.parse_row(text)) for text in rows]


def _read_object_version(row: str) -> str:
    """The version of a loaded object, the first line of its row. (Earlier revisions stored further lines.)"""
    return row.partition("\n")[0]


class RedisImportRepository(ScriptedStore, files.ImportRepository):
    async def read_snapshot(self, tenant: str) -> files.LearnedSnapshot:
        """Reads what is stored of a tenant. Version counters are read first, so that any later change is noticed."""
        names = keys.learned_keys(tenant)
        async with bounded_redis_calls(), self._redis.pipeline(transaction=False) as pipe:
            pipe.hget(names.memory, "version")
            pipe.hget(names.counts, "events")
            pipe.lrange(names.cases, 0, -1)
            pipe.hgetall(names.arms)
            pipe.lrange(names.knowledge, 0, -1)
            pipe.hgetall(names.entities)
            pipe.hgetall(names.accuracy)
            pipe.hgetall(names.seeded)
            replies = await pipe.execute()
        version, events = (str(reply or "0") for reply in replies[:2])
        cases, facts = cast("list[str]", replies[2]), cast("list[str]", replies[4])
        return files.LearnedSnapshot(
            files.StoredVersions(hash_stored_list(cases), events, version, hash_stored_list(facts)),
            _parse_case_log(cases),
            _parse_arms(replies[3]),
            int(events),
            [(row, KnownFact.parse_row(row)) for row in facts],
            parse_contract_rows(KnownEntity, cast("dict[str, str]", replies[5]).items()),
            parse_contract_rows(PredictionAccuracy, cast("dict[str, str]", replies[6]).items()),
            {name: _read_object_version(row) for name, row in cast("dict[str, str]", replies[7]).items()},
        )

    async def store_changes(self, tenant: str, changes: files.ImportChanges, versions: files.StoredVersions) -> bool:
        commands = _list_import_commands(keys.learned_keys(tenant), changes)
        return await change_learned_data(self._scripts, tenant, commands, _select_versions_to_check(changes, versions))


def _select_versions_to_check(changes: files.ImportChanges, versions: files.StoredVersions) -> files.StoredVersions:
    """The versions of the parts to be changed; those of other parts are empty and not compared."""
    return files.StoredVersions(
        cases=versions.cases if changes.cases is not None else "",
        events=versions.events if changes.arms or changes.totals else "",
        rows=versions.rows if changes.entities or changes.accuracy else "",
        facts=versions.facts if changes.facts is not None else "",
    )


def _list_import_commands(names: keys.LearnedKeys, changes: files.ImportChanges) -> Iterator[LearnedCommand]:
    for name, texts in ((names.cases, changes.cases), (names.knowledge, changes.facts)):
        if texts is not None:
            yield "DEL", name, ()
            yield "RPUSH", name, texts
    yield "HSET", names.seeded, _flatten_pairs(changes.loaded.items())
    yield from _list_arm_commands(names, changes.arms)
    for record in changes.entities:
        yield "HSET", names.entities, (record.field, record.entity.model_dump_json())
        yield "HSET", names.entity_links, (record.field, record.links.model_dump_json())
        yield "ZADD", names.entity_ages, (int(record.entity.last_seen.timestamp() * 1000), record.field)
    yield (
        "HSET",
        names.accuracy,
        _flatten_pairs((name, row.model_dump_json()) for name, row in changes.accuracy.items()),
    )
    if changes.totals is not None:
        yield from _list_total_commands(names, changes.totals)


def _list_arm_commands(names: keys.LearnedKeys, arms: Sequence[files.ArmRecord]) -> Iterator[LearnedCommand]:
    for record in arms:
        fields, trend = keys.arm_fields(*record.name), keys.trend_field(*record.name)
        yield "HSET", names.arms, (fields.n, record.arm.n, fields.units, record.arm.units)
        if record.trend:
            yield "HSET", names.trends, (trend, record.trend)
        else:  # what was kept is the way of another sum
            yield "HDEL", names.trends, (trend,)


def _list_total_commands(names: keys.LearnedKeys, totals: files.TaskStatistics) -> Iterator[LearnedCommand]:
    yield "DEL", names.counts, ()
    yield "HSET", names.counts, _flatten_pairs(totals.counts.items())
    yield "DEL", names.days, ()
    yield "HSET", names.days, _flatten_pairs(totals.days.items())
    if totals.trend:
        yield "HSET", names.trends, (keys.QUALITY_TREND, totals.trend)
    else:
        yield "HDEL", names.trends, (keys.QUALITY_TREND,)


def _flatten_pairs(pairs: Iterable[tuple[Argument, Argument]]) -> Sequence[Argument]:
    return [word for pair in pairs for word in pair]


def _parse_arms(reply: object) -> Mapping[files.ArmKey, Arm]:
    try:
        arms_by_kind = parse_arms(cast("dict[str, str]", reply))
    except ValueError as error:
        raise StoreUnavailable(f"the statistics are spoiled: {error}") from error
    return {(kind, strategy): arm for kind, arms in arms_by_kind.items() for strategy, arm in arms.items()}
