"""Runs the scripts of ``shared/infra/scripts`` by their digest, and loads them where the server does not know them.

A call whose reply was lost is repeated until ``patience`` is over: every script is written so that running the same
call again changes nothing more. The text for a repeated call begins with ``local again = true``.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from hashlib import sha1
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import structlog
from redis.asyncio import Redis
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError,
    TryAgainError,
)

from shared.infra.lineage import get_lineage
from shared.ports.store import StoreUnavailable

Reply: TypeAlias = "str | int | None | list[Reply]"
Argument: TypeAlias = "str | bytes | int | float"
Command: TypeAlias = "Sequence[Argument]"
ScriptCall: TypeAlias = "tuple[Sequence[str], Sequence[Argument]]"
T = TypeVar("T")
StoredRow = TypeVar("StoredRow")
SendCommands: TypeAlias = "Callable[[Sequence[Command], float], Awaitable[list[object]]]"  # of a ``PrimaryPool``
log = structlog.get_logger()

ROUND_TRIP_SECONDS = 5.0
RETRY_SECONDS = 0.5  # a cut is bridged; who waits for an answer is told soon that Redis is away
REPLICA_CONFIRM_MS = 1000  # how long replicas may take to have what was written
_PAUSE_SECONDS, _PAUSE_SECONDS_MOST = 0.05, 0.5
_SCRIPTS_FOLDER = Path(__file__).parent / "scripts"
_LUA_COMMENT_PATTERN = re.compile(r"--.*")
_TRANSIENT_ERRORS = (ConnectionError, TimeoutError, OSError, ReadOnlyError, ClusterDownError, TryAgainError)


def parse_flat_pairs(flat: object) -> dict[str, str]:
    """The mapping in a reply that is a flat list of names and values."""
    items = cast("list[str]", flat)
    return dict(zip(items[::2], items[1::2], strict=True))


def parse_row_or_log(parse: Callable[[StoredRow], T], row: StoredRow) -> T | None:
    """Parses a stored row with ``parse``; None, with a log line, if this version cannot read it (``parse`` raises
    ``ValueError``).
    """
    try:
        return parse(row)
    except ValueError as error:
        log.warning("row_unreadable", error=str(error))
        return None


def parse_readable_rows(parse: Callable[[StoredRow], T], rows: Iterable[StoredRow]) -> list[T]:
    """Parses the rows in order, without those for which ``parse_row_or_log`` returns None."""
    return [parsed for row in rows if (parsed := parse_row_or_log(parse, row)) is not None]


def parse_scores(reply: object) -> dict[str, float]:
    """Each member's score; servers reply with pairs or with one flat list."""
    pairs = cast("list[object]", reply)
    flat = [part for pair in pairs for part in (pair if isinstance(pair, list | tuple) else (pair,))]
    return {str(member): float(str(score)) for member, score in zip(flat[::2], flat[1::2], strict=True)}


@cache
def build_script(name: str, *, is_repeated: bool = False) -> str:
    """A script with the prelude's functions that it uses. ``is_repeated``: it may have run before, without a reply."""
    text = read_script_file(name)
    return f"local again = {'true' if is_repeated else 'false'}\n{_select_prelude_functions(text)}\n{text}"


def _select_prelude_functions(script: str) -> str:
    """The prelude without functions that are not used, since a call creates all of them anew.

    A function uses only functions defined above it.
    """
    head, *functions = re.split(r"^(?=local function )", read_script_file("prelude"), flags=re.MULTILINE)
    used_text, functions_used = _LUA_COMMENT_PATTERN.sub("", script), list[str]()
    for function in reversed(functions):
        name = function.removeprefix("local function ").partition("(")[0]
        if re.search(rf"\b{name}\b", used_text):
            used_text += _LUA_COMMENT_PATTERN.sub("", function)
            functions_used.append(function)
    return head + "".join(reversed(functions_used))


def read_script_file(name: str) -> str:
    """The content of a script's file, without functions of the prelude."""
    return (_SCRIPTS_FOLDER / f"{name}.lua").read_text()


@cache
def hash_script(text: str) -> str:
    """The SHA-1 by which a server knows a script."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


class _SharedRoundTrip:
    """Sends the commands of all callers in one iteration of the event loop together, in one round trip.

    The first caller sends them, within ``ROUND_TRIP_SECONDS``. If it is cancelled, the others get a connection error
    and ask again.
    """

    def __init__(self, redis: Redis) -> None:
        self._joining: list[tuple[Sequence[Command], asyncio.Future[list[object]]]] | None = None
        pool = getattr(redis, "connection_pool", None)  # a cluster has one for each node
        self._send_commands: SendCommands | None = getattr(pool, "send_commands", None)
        self._reply_parsers = dict(getattr(redis, "response_callbacks", {})) if self._send_commands else {}

    async def send_in_next_trip(self, redis: Redis, rows: Sequence[Command]) -> list[object]:
        """Sends the commands with the next round trip; returns for each its reply, or the server's error as an
        object.
        """
        if self._joining is not None:
            waiting: asyncio.Future[list[object]] = asyncio.get_running_loop().create_future()
            self._joining.append((rows, waiting))
            return await waiting
        joined = self._joining = []
        try:
            try:
                await asyncio.sleep(0)
            finally:
                self._joining = None
            all_rows = [*rows, *(row for other_rows, _ in joined for row in other_rows)]
            replies = await self._send(redis, all_rows)
        except BaseException as error:
            cut = error if isinstance(error, RedisError | OSError) else ConnectionError("whoever asked gave up")
            _set_results_of_waiting((waiting for _, waiting in joined), [cut] * len(joined))
            raise
        remaining = iter(replies)
        own_replies = list(islice(remaining, len(rows)))
        others_replies = [list(islice(remaining, len(other_rows))) for other_rows, _ in joined]
        _set_results_of_waiting((waiting for _, waiting in joined), others_replies)
        return own_replies

    async def _send(self, redis: Redis, rows: Sequence[Command]) -> list[object]:
        if self._send_commands is None:
            async with asyncio.timeout(ROUND_TRIP_SECONDS):
                return await _send_pipeline(redis, rows) if len(rows) > 1 else [await _send_command(redis, rows[0])]
        replies = await self._send_commands(rows, ROUND_TRIP_SECONDS)
        for index, (words, reply) in enumerate(zip(rows, replies, strict=True)):
            parse_reply = self._reply_parsers.get(words[0])
            if parse_reply is not None and not isinstance(reply, Exception):
                replies[index] = parse_reply(reply)
        return replies


def _set_results_of_waiting(
    waiting: "Iterable[asyncio.Future[list[object]]]", replies: "Sequence[list[object] | Exception]"
) -> None:
    for future, reply in zip(waiting, replies, strict=True):
        if future.done():
            continue
        if isinstance(reply, Exception):
            future.set_exception(reply)
        else:
            future.set_result(reply)


async def _send_command(redis: Redis, command: Command) -> object:
    try:
        return cast(object, await redis.execute_command(*command))  # type: ignore[no-untyped-call]  # redis-py
    except ResponseError as refusal:
        return refusal


async def _send_pipeline(redis: Redis, rows: Iterable[Command]) -> list[object]:
    async with redis.pipeline(transaction=False) as pipe:
        for row in rows:
            pipe.execute_command(*row)
        return cast("list[object]", await pipe.execute(raise_on_error=False))


_ROUND_TRIPS: "WeakKeyDictionary[Redis, _SharedRoundTrip]" = WeakKeyDictionary()


def _get_shared_round_trip(redis: Redis) -> _SharedRoundTrip:
    """The shared round trip of a client, for all scripts on it."""
    if (trip := _ROUND_TRIPS.get(redis)) is None:
        trip = _ROUND_TRIPS[redis] = _SharedRoundTrip(redis)
    return trip


class Scripts:
    """Runs scripts and commands on one server. Raises ``StoreUnavailable`` if it refuses one, or if it fails for longer
    than ``patience`` seconds.
    """

    def __init__(self, redis: Redis, patience: float = RETRY_SECONDS) -> None:
        self._redis = redis
        self._trip = _get_shared_round_trip(redis)
        self._patience = patience
        self.lineage = get_lineage(redis)

    async def run(self, name: str, keys: Sequence[str], arguments: Iterable[Argument]) -> Reply:
        """The reply of one script; raises ``StoreUnavailable``, also for an error that the script replies.

        ``name``: that of its file; ``keys``, ``arguments``: the script's ``KEYS`` and ``ARGV``, in order.
        """
        parts = [len(keys), *keys, *arguments]

        async def evaluate(is_repeated: bool) -> Reply:
            (reply,) = await self._evaluate([(name, parts)], is_repeated)
            if isinstance(reply, Exception):
                raise reply
            return reply

        return await self._retry_while_transient(evaluate)

    async def run_confirmed(
        self, name: str, keys: Sequence[str], arguments: Iterable[Argument], replicas: int
    ) -> tuple[Reply, bool]:
        """The script's reply, and whether ``replicas`` replicas confirmed its writes in time."""
        parts = [len(keys), *keys, *arguments]

        async def evaluate(is_repeated: bool) -> tuple[Reply, bool]:
            text = build_script(name, is_repeated=is_repeated)
            reply, replica_count = await self._send_confirmed(["EVALSHA", hash_script(text), *parts], replicas)
            if isinstance(reply, NoScriptError):
                reply, replica_count = await self._send_confirmed(["EVAL", text, *parts], replicas)
            if isinstance(reply, ResponseError):
                raise reply
            return reply, isinstance(replica_count, int) and replica_count >= replicas

        return await self._retry_while_transient(evaluate)

    async def run_many(self, name: str, calls: Iterable[ScriptCall]) -> list[Reply]:
        """The replies of one script to several calls, in one round trip."""
        replies = await self.run_all((name, *call) for call in calls)
        for reply in replies:
            if isinstance(reply, ResponseError):
                raise store_unavailable(reply) from reply
        return cast(list[Reply], replies)

    async def run_all(
        self, calls: "Iterable[tuple[str, Sequence[str], Sequence[Argument]]]"
    ) -> "list[Reply | ResponseError]":
        """Runs several scripts in one round trip; returns each one's reply or error."""
        rows = [(name, list[Argument]([len(keys), *keys, *arguments])) for name, keys, arguments in calls]
        return await self._retry_while_transient(lambda is_repeated: self._evaluate(rows, is_repeated)) if rows else []

    async def execute(self, *command: Argument) -> object:
        """The reply to one plain command, which must be safe to repeat. Raises ``StoreUnavailable``."""
        (reply,) = await self.execute_commands(command)
        return reply

    async def execute_commands(self, *commands: Command) -> list[object]:
        """The replies to plain commands sent in one round trip, which must be safe to repeat.

        Raises the first error among them, as ``StoreUnavailable``.
        """

        async def execute(_: bool) -> list[object]:
            replies = await self._trip.send_in_next_trip(self._redis, commands)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
            return replies

        return await self._retry_while_transient(execute)

    async def _evaluate(
        self, rows: Sequence[tuple[str, list[Argument]]], is_repeated: bool
    ) -> "list[Reply | ResponseError]":
        """Runs scripts, each with the number of its keys, its keys and arguments, in one round trip."""
        texts = {name: build_script(name, is_repeated=is_repeated) for name, _ in rows}
        commands = [["EVALSHA", hash_script(texts[name]), *row] for name, row in rows]
        replies = await self._trip.send_in_next_trip(self._redis, commands)
        unloaded = [index for index, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unloaded:  # the server was restarted, or its scripts were flushed
            commands = [["EVAL", texts[rows[index][0]], *rows[index][1]] for index in unloaded]
            for index, reply in zip(unloaded, await self._trip.send_in_next_trip(self._redis, commands), strict=True):
                replies[index] = reply
        return cast("list[Reply | ResponseError]", replies)

    async def _send_confirmed(self, words: list[Argument], replicas: int) -> "list[Reply | ResponseError]":
        rows: list[Command] = [words, ["WAIT", replicas, REPLICA_CONFIRM_MS]]
        async with asyncio.timeout(ROUND_TRIP_SECONDS):
            return cast("list[Reply | ResponseError]", await _send_pipeline(self._redis, rows))

    async def _retry_while_transient(self, act: Callable[[bool], Awaitable[T]]) -> T:
        """Calls ``act`` until it succeeds, while patience lasts and the failure may be transient.

        ``act`` gets whether this is a repeated call.
        """
        until = asyncio.get_running_loop().time() + self._patience
        pause, is_repeated = _PAUSE_SECONDS, False
        while True:
            try:
                return await act(is_repeated)
            except (RedisError, OSError) as error:
                if not _is_transient(error) or asyncio.get_running_loop().time() + pause > until:
                    raise store_unavailable(error) from error
            is_repeated = True
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_SECONDS_MOST)


def _is_transient(error: Exception) -> bool:
    return isinstance(error, _TRANSIENT_ERRORS) and not isinstance(error, AuthenticationError)


@asynccontextmanager
async def bounded_redis_calls(seconds: float = ROUND_TRIP_SECONDS) -> AsyncIterator[None]:
    """Limits the Redis commands inside to ``seconds``, and turns their errors into ``StoreUnavailable``.

    redis-py's own ``socket_timeout`` is not used: it calls ``asyncio.wait_for``, which before Python 3.12 can swallow a
    cancellation, so that a turn without a lease might continue.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except (RedisError, OSError) as error:
        raise store_unavailable(error) from error


_CLOCK_TIME_REGEX = r"(?:[\d-]+T)?\d{1,2}:\d\d(?!\d)"
_HOST_REGEX = rf"(?<![\w.-])(?!{_CLOCK_TIME_REGEX})[\w.-]+|\[[\da-fA-F:]+\]"  # a name is tried once, at its start
_ADDRESS_PATTERN = re.compile(rf"(?<=connecting to )\S+?(?=\.?(?:\s|$))|(?:{_HOST_REGEX}):\d{{2,5}}\b|\('[^']+', \d+\)")


_SCRIPT_NOTE_PATTERN = re.compile(r"\s*script: (?:[0-9a-f]{40}|on @).*", re.DOTALL)


def store_unavailable(error: Exception) -> StoreUnavailable:
    """The error for callers, without our server's address or script; its cause has the details."""
    message = _ADDRESS_PATTERN.sub("its address", _SCRIPT_NOTE_PATTERN.sub("", str(error)))
    return StoreUnavailable(f"Redis does not answer as it should: {type(error).__name__}{message and f': {message}'}")


class ScriptedStore:
    """Base of stores that use Redis through a client and its scripts."""

    def __init__(self, redis: Redis) -> None:
        self._redis, self._scripts = redis, Scripts(redis)
