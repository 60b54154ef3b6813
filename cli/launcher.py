"""Starts a whole stack on one machine, restarts processes that end, and stops all in order.

Only the launcher has defaults for a stack's settings; the services have none.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from cli.console import CommandError, indent_json
from cli.stack import plan
from cli.stack.child import Child, ReportProgress, ignore_progress, start_fork_server, wait_until_ready
from shared.domain.address_ranges import why_open_host_refused
from shared.domain.exact_json import loads_object
from shared.infra.archive_open import get_or_create_key_file
from shared.infra.embedded_redis import EmbeddedRedis, FolderTaken, NoRedisServer
from shared.infra.redis import VolatileRedis, connect, require_durable_redis
from shared.ports.store import StoreUnavailable

UNRULED_WRITES = "UNRULED_WRITES"
UNRULED_WORDS = ("approve", "allow")


def are_unruled_writes_undecided(options: plan.StackOptions) -> bool:
    """Whether no tenant record, variable or earlier answer says if a write that no rule covers needs approval."""
    if options.uses_example_company or options.environ.get("TENANT_FILE") or options.environ.get(UNRULED_WRITES):
        return False
    return not _build_tenant_record_path(options).exists()


def record_unruled_writes_choice(options: plan.StackOptions) -> plan.StackOptions:
    """The options, with a ``TENANT_FILE`` that says whether writes that no rule covers need approval.

    The file is kept in the stack's folder. The record of the example company says ``allow``; for it a file is written
    only if ``UNRULED_WRITES`` is set. Raises ``CommandError``.
    """
    word = options.environ.get(UNRULED_WRITES, "")
    if word and options.environ.get("TENANT_FILE"):
        raise CommandError(f"{UNRULED_WRITES} and TENANT_FILE are both set: the record says it, in its unruled_writes.")
    if word and word not in UNRULED_WORDS:
        raise CommandError(f"{UNRULED_WRITES} cannot be {word!r}: it is {UNRULED_WORDS[0]} or {UNRULED_WORDS[1]}.")
    if are_unruled_writes_undecided(options):
        server = options.environ["GREEN_AGENT_MCP_URL"]
        raise CommandError(
            f"{UNRULED_WRITES} must say what a write at {server} needs that no rule speaks about: approve "
            "(a person's yes) or allow (nothing).",
            "At a terminal `purple up` asks for it, once. A record of your own in TENANT_FILE says it in "
            "unruled_writes.",
        )
    if options.environ.get("TENANT_FILE") or (options.uses_example_company and not word):
        return options
    return replace(options, environ={**options.environ, "TENANT_FILE": str(_write_tenant_record(options, word))})


def _build_tenant_record_path(options: plan.StackOptions) -> Path:
    return options.folder / plan.choose_default_tenant_file(options).name


def _write_tenant_record(options: plan.StackOptions, word: str) -> Path:
    """Write the stack's tenant record, with ``word`` (approve, allow or empty) for writes that no rule covers.

    It keeps the content of an existing record, which the user may have edited, else that of the default one. Returns
    the record's path.
    """
    record = _build_tenant_record_path(options)
    source = (
        record if record.exists() and not options.uses_example_company else plan.choose_default_tenant_file(options)
    )
    try:
        content = loads_object(source.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{source} cannot be read: {error}") from error
    if word:
        options.folder.mkdir(parents=True, exist_ok=True)
        record.write_text(indent_json({**content, "unruled_writes": word}) + "\n", "utf-8")
    return record


PrintLine = Callable[[str], None]

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
STARTED_AFTER_SECONDS = 60.0  # who ran for so long has not failed to start
CHECK_SECONDS = 0.2


class RestartBackoff:
    """The pauses before restarts of one process: longer each time that it ends soon after its start."""

    def __init__(self) -> None:
        self._early = 0

    def compute_pause_after(self, lived: float) -> float:
        """The seconds to wait before the next restart of a process that has run for ``lived`` seconds."""
        self._early = 0 if lived >= STARTED_AFTER_SECONDS else self._early
        pause = min(FIRST_PAUSE_SECONDS * 2.0**self._early, LONGEST_PAUSE_SECONDS)
        self._early += 1
        return pause


async def _keep_child_running(child: Child, say: PrintLine) -> None:
    """Restart a child whenever it ends, until cancelled; ``say`` is called with a sentence on each end and restart.

    A child that ends because of its settings or its port is restarted too: the cause may go away.
    """
    restarts = RestartBackoff()
    while True:
        started = time.monotonic()
        await child.wait()
        pause = restarts.compute_pause_after(time.monotonic() - started)
        end_sentence = f"{child.spec.name} ended with exit code {child.exit_code}"
        say(f"{end_sentence}; it is started again in {pause:g} s ({child.log}).")
        await asyncio.sleep(pause)
        child.restart()
        try:
            await wait_until_ready((child,), READY_SECONDS)
        except CommandError as complaint:
            say(complaint.sentence)  # an end is seen above; one that runs and is not ready yet may still get there
        else:
            say(f"{child.spec.name} is up again, pid {child.pid}.")


READY_SECONDS = 45.0
_YES_WORDS = ("yes", "true", "1", "on")
_OPEN_VARIABLES = ("TENANT_FILE", "GREEN_AGENT_MCP_URL", "CREDENTIALS_DIR", "TOOLS_ALLOWED_HOSTS")
LONGEST_FOLDER_NAME = 90  # the system limits a socket's name to about 100 bytes


@dataclass(frozen=True)
class Stack:
    """A running stack. ``redis_url``: the URL that its services use.

    ``redis``, ``queue``: the Redis servers that the launcher started, for state and queue; None if it started none.
    """

    options: plan.StackOptions
    children: tuple[Child, ...]
    redis_url: str
    redis: EmbeddedRedis | None
    queue: EmbeddedRedis | None = None

    @property
    def model_notice(self) -> str:
        return plan.choose_model_notice(self.options)

    @property
    def logs(self) -> Path:
        return self.options.folder / "logs"

    def get_url(self, name: str) -> str:
        """The URL at which the stack's process of that name answers."""
        return next(child.spec.url for child in self.children if child.spec.name == name)

    @property
    def open_environ(self) -> dict[str, str]:
        """What leads to this stack's tools, and to its Redis if the launcher started it: variables without secrets."""
        executor = next(child.spec.environ for child in self.children if child.spec.name == "executor-1")
        names = (*_OPEN_VARIABLES, *(("REDIS_URL",) if self.redis else ()))
        return {name: executor[name] for name in names if name in executor}

    async def keep_running(self, say: PrintLine) -> CommandError:
        """Restart processes that end; returns an error once the Redis of durable state has ended.

        The queue's Redis is restarted too, since what it loses is rebuilt from the durable state. An error of that
        restart is returned as well.
        """
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(_keep_child_running(child, say)) for child in self.children]
            complaint = await self._watch_redis()
            for keeper in keepers:
                keeper.cancel()
        return complaint

    async def _watch_redis(self) -> CommandError:
        while True:
            if self.redis is not None and self.redis.exit_code is not None:
                return CommandError(f"redis ended with exit code {self.redis.exit_code}.", f"see {self.redis.log_path}")
            if self.queue is not None and self.queue.exit_code is not None:
                try:
                    _start_redis(self.queue)
                except CommandError as complaint:
                    return complaint
            await asyncio.sleep(CHECK_SECONDS)


def stop_on_signals() -> None:
    """Have SIGINT and SIGTERM cancel the current asyncio task, once, so that its clean-up stops everything in order."""
    task = asyncio.current_task()

    def cancel() -> None:
        if task is not None and not task.cancelling():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, cancel)


def make_stack_folder(options: plan.StackOptions) -> None:
    """Creates the folder of data and logs. Raises ``CommandError`` if it cannot be created."""
    try:
        (options.folder / "logs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{options.folder} cannot hold data and logs ({error.strerror}): choose another folder with --dir."
        ) from error


@asynccontextmanager
async def run_stack(options: plan.StackOptions, tell: ReportProgress = ignore_progress) -> AsyncIterator[Stack]:
    """Starts a stack, yields it once it is ready, and stops it at the end of the context. Raises ``CommandError``."""
    _require_free_ports(options)
    _require_authentication_for_host(options)
    make_stack_folder(options)
    start_fork_server()
    options = record_unruled_writes_choice(options)
    options = replace(
        options,
        archive_key=get_or_create_key_file(options.folder),
        webhook_secret=get_or_create_key_file(options.folder, "webhook"),
        assessment_key=get_or_create_key_file(options.folder, "assessment"),
    )
    async with AsyncExitStack() as stack_exit:
        if options.environ.get("REDIS_URL"):
            await _require_durable_user_redis(options)
        redis = await stack_exit.enter_async_context(_run_embedded_redis(options, "redis", is_durable=True))
        queue = await stack_exit.enter_async_context(
            _run_embedded_redis(options, "queue", is_durable=False)
        )  # wakes may be lost
        redis_url = redis.url if redis else options.environ["REDIS_URL"]
        ports = plan.StackPorts.assign(plan.find_free_ports(plan.StackPorts.count_needed(options.executors)))
        specs = plan.plan_stack(options, ports, redis_url, queue.url if queue else "")
        children = await stack_exit.enter_async_context(_start_children(specs, options.folder))
        await wait_until_ready(children, READY_SECONDS, tell)
        yield Stack(options, children, redis_url, redis, queue)


def _require_free_ports(options: plan.StackOptions) -> None:
    ports_by_option = {"--port": (options.port, options.host), "--assessor-port": (options.assessor_port, plan.HOST)}
    for option, (port, host) in ports_by_option.items():
        if port and not plan.is_port_free(port, host):
            raise CommandError(f"Port {port} is taken: stop what listens there, or choose another with {option}.")


def _require_authentication_for_host(options: plan.StackOptions) -> None:
    """Raises ``CommandError`` for a host on which the gateway refuses to listen without authentication."""
    authentication, allow_open = (options.environ.get(name, "") for name in ("AUTHENTICATION", "ALLOW_OPEN"))
    problem = why_open_host_refused(options.host, authentication, allow_open=allow_open.lower() in _YES_WORDS)
    if options.profile == "embedded" and problem:
        raise CommandError(problem)


async def _require_durable_user_redis(options: plan.StackOptions) -> None:
    """Raises ``CommandError`` if the Redis at ``REDIS_URL`` may lose data; the services check the rest."""
    try:
        redis = connect(options.environ["REDIS_URL"])
    except ValueError:
        return
    try:
        await require_durable_redis(
            redis, allow_volatile=options.environ.get("ALLOW_VOLATILE_REDIS", "").lower() in _YES_WORDS
        )
    except VolatileRedis as error:
        raise CommandError(str(error)) from error
    except StoreUnavailable:
        return
    finally:
        await redis.aclose()


@asynccontextmanager
async def _run_embedded_redis(
    options: plan.StackOptions, name: str, *, is_durable: bool
) -> AsyncIterator[EmbeddedRedis | None]:
    """Starts a Redis for the stack and yields it; None if a variable names one. Raises ``CommandError``."""
    if options.environ.get("REDIS_URL") or (name == "queue" and options.environ.get("QUEUE_REDIS_URL")):
        yield None
        return
    folder = options.folder / name
    if len(str(folder)) > LONGEST_FOLDER_NAME:
        raise CommandError(
            f"{folder} is too long a path for a socket: choose a shorter one with --dir, or set REDIS_URL."
        )
    server = EmbeddedRedis(folder, is_durable=is_durable)
    _start_redis(server)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)


def _start_redis(server: EmbeddedRedis) -> None:
    try:
        server.start()
    except FolderTaken as error:
        raise CommandError(f"{error}, or choose another folder with --dir.") from error
    except NoRedisServer as error:
        raise CommandError(str(error)) from error


@asynccontextmanager
async def _start_children(specs: tuple[plan.ProcessSpec, ...], folder: Path) -> AsyncIterator[tuple[Child, ...]]:
    children: list[Child] = []
    try:
        for spec in specs:
            children.append(Child.start(spec, folder / "logs"))
        yield tuple(children)
    finally:
        ordered = sorted(children, key=lambda child: child.spec.stop_rank)
        for _, rank in groupby(ordered, key=lambda child: child.spec.stop_rank):  # those of one rank at once
            await asyncio.gather(*(child.stop() for child in rank))
