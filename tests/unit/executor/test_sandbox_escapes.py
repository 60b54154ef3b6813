"""The sandbox by itself, as if nobody had looked at the code before: known escapes, limits, and what it disturbs."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings, strategies as st

from services.executor.adapters.made_tools import MEMORY_BYTES, MontySandbox
from services.executor.ports.services import CodeFailed, SandboxUnavailable

_ESCAPED = Path("/tmp/escaped")
SECRET = "a-secret-of-the-executor"  # planted

ESCAPES = {
    "random's os": "import random\nrandom._os.popen('id').read()",
    "statistics' modules": "import statistics\nstr(statistics.sys.modules)",
    "subclass walk": "str(().__class__.__bases__[0].__subclasses__())",
    "type's subclasses": "str(type.__subclasses__(type))",
    "a new type": "str(type('X', (), {}).__subclasses__())",
    "function globals": "def f(): pass\nstr(f.__globals__)",
    "function code": "def f(): pass\nstr(f.__code__)",
    "closure": "str((lambda x: (lambda: x))(1).__closure__)",
    "generator frame": "str((x for x in [1]).gi_frame.f_back.f_globals)",
    "coroutine frame": "async def f(): pass\nstr(f().cr_frame)",
    "traceback frame": "try:\n    1/0\nexcept Exception as e:\n    r = str(e.__traceback__.tb_frame.f_globals)\nr",
    "exception context": "try:\n    1/0\nexcept Exception as e:\n    r = str(e.with_traceback(None).__reduce__())\nr",
    "format string": "'{0.__class__.__init__.__globals__}'.format(1)",
    "f-string !r": "f'{().__class__!r}'",
    "builtins": "str(__builtins__)",
    "builtins by item": "str(__builtins__['__import__'])",
    "__import__": "__import__('os').environ['PATH']",
    "importlib": "import importlib\nstr(importlib.import_module('os'))",
    "from import": "from os import environ\nstr(environ['PATH'])",
    "sys.modules": "import sys\nstr(sys.modules['os'])",
    "loader": "str(__loader__.load_module('os'))",
    "getattr": "str(getattr((), '__cla' + 'ss__'))",
    "attribute by vars": "str(vars(int))",
    "dir": "str(dir())",
    "globals": "str(globals())",
    "locals": "str(locals())",
    "eval": "str(eval('().__class__'))",
    "exec": "exec('import os\\nx = os.environ')\nstr(x)",
    "compile": "str(compile('1', '', 'eval'))",
    "decorator": "@eval\ndef f(): pass\nstr(f)",
    "class body": "class A:\n    x = __import__('os').environ\nstr(A.x)",
    "metaclass": "class M(type):\n    def __prepare__(n, b): return {}\nclass A(metaclass=M): pass\nstr(A)",
    "init_subclass": "class A:\n    def __init_subclass__(c): raise ValueError(c.__mro__)\nclass B(A): pass\n'x'",
    "operator overload": "class A:\n    def __getattr__(s, n): return n\nstr(A().__dict__.__class__)",
    "descriptor": "str(property(lambda s: 1).fget.__globals__)",
    "open": "open('/etc/passwd').read()",
    "open proc": "open('/proc/self/environ').read()",
    "open to write": "open('/tmp/escaped', 'w').write('x')",
    "pathlib": "import pathlib\npathlib.Path('/etc/passwd').read_text()",
    "listdir": "import os\nstr(os.listdir('/'))",
    "environ": "import os\nstr(os.environ['PATH'])",
    "system": "import os\nstr(os.system('id'))",
    "fork": "import os\nstr(os.fork())",
    "kill": "import os\nstr(os.kill(os.getppid(), 9))",
    "exit": "import os\nos._exit(1)",
    "subprocess": "import subprocess\nstr(subprocess.check_output('id'))",
    "socket": "import socket\nstr(socket.create_connection(('127.0.0.1', 6379)))",
    "asyncio's network": "import asyncio\nstr(asyncio.open_connection('127.0.0.1', 1))",
    "ctypes": "import ctypes\nstr(ctypes.CDLL(None))",
    "gc": "import gc\nstr(gc.get_objects())",
    "pickle": "import pickle\nstr(pickle.loads(b''))",
    "the host's code": "import services\nstr(services)",
    "breakpoint": "breakpoint()\n'x'",
    "SystemExit": "raise SystemExit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "an undefined name": "secrets_of_the_host",
    "printing": "print('to the log of the host')\n'x'",
}

BOMBS = {
    "endless loop": "while True: pass",
    "endless comprehension": "[x for x in iter(int, 1)]",
    "a long sum": "str(sum(range(10**12)))",
    "sleep": "import time\ntime.sleep(60)\nwhile True: pass",
    "async sleep": "import asyncio\nasyncio.run(asyncio.sleep(60))\nwhile True: pass",
    "a list": "[0] * 10**10",
    "a growing list": "x = []\nwhile True: x.append('a' * 10_000)",
    "a text": "'a' * 10**10",
    "a growing text": "x = 'a'\nwhile True: x += x",
    "nested lists": "x = []\nwhile True: x = [x, x]",
    "a big power": "str(9**9**9)",
    "a big shift": "str(1 << 10**10)",
    "digits of a big number": "str(10**100_000)",
    "a factorial": "import math\nstr(math.factorial(10**7))",
    "a wide format": "'%0999999999d' % 1",
    "a wide f-string": "f'{1:0999999999d}'",
    "a wide decimal": "from decimal import Decimal\nformat(Decimal('1e99999999'), 'f')",
    "recursion": "def f(n): return f(n + 1)\nf(0)",
    "mutual recursion": "def f(): return g()\ndef g(): return f()\nf()",
    "a deep expression": "(" * 5_000 + "1" + ")" * 5_000,
    "a regex that blows up": "import re\nre.match(r'(a|aa)+$', 'a' * 5_000 + 'b') or [0] * 10**10",
    "a regex of back references": "import re\nre.match(r'(a*)*\\\\1b', 'a' * 5_000) or [0] * 10**10",
    "a long answer": "'a' * 100_000",
    "much output": "while True: print('a' * 1_000)",
}


@pytest_asyncio.fixture
async def sandbox() -> AsyncIterator[MontySandbox]:
    async with MontySandbox() as sandbox:
        yield sandbox


@pytest.mark.promise("made.sandbox")
@pytest.mark.parametrize("program", ESCAPES.values(), ids=ESCAPES.keys())
async def test_a_known_escape_comes_to_nothing(sandbox: MontySandbox, program: str, tmp_path: Path) -> None:
    """It fails, or gives a text that holds nothing of the host."""
    os.environ["A_SECRET"] = SECRET
    try:
        said = await sandbox.run(program, ("1",))
    except CodeFailed as refused:
        said = str(refused)
    finally:
        del os.environ["A_SECRET"]
    assert not any(word in said for word in (SECRET, "root:", "uid=", "site-packages", str(Path.home()), "<frame"))
    assert not await asyncio.to_thread(_ESCAPED.exists)
    assert await sandbox.run("'alive'", ()) == "alive"


@pytest.mark.promise("made.sandbox.limits")
@pytest.mark.parametrize("program", BOMBS.values(), ids=BOMBS.keys())
async def test_what_does_not_end_or_grows_is_stopped_within_its_limits(sandbox: MontySandbox, program: str) -> None:
    """And the next program is run as if nothing had been."""
    await sandbox.run("'started'", ())

    with pytest.raises(CodeFailed):
        await sandbox.run(program, ())

    assert await sandbox.run("'alive'", ()) == "alive"


@pytest.mark.promise("made.sandbox.undisturbed")
async def test_an_endless_loop_and_a_memory_bomb_leave_the_other_tasks_alone(sandbox: MontySandbox) -> None:
    """Other tasks of the process take many turns of the event loop meanwhile, and no memory of it is used."""
    await sandbox.run("'started'", ())
    before, turns, done = _resident(os.getpid()), 0, asyncio.Event()

    async def other_task() -> int:
        count = 0
        while not done.is_set():
            await asyncio.sleep(0)
            count += 1
        return count

    async def bombs() -> None:
        for program in ("while True: pass", "x = []\nwhile True: x.append('a' * 10_000)"):
            with pytest.raises(CodeFailed):
                await sandbox.run(program, ())
        done.set()

    async with asyncio.TaskGroup() as group:
        counted = group.create_task(other_task())
        group.create_task(bombs())
    turns = counted.result()
    assert turns > 100
    assert _resident(os.getpid()) - before < MEMORY_BYTES


@pytest.mark.promise("made.sandbox")
async def test_nothing_of_one_run_is_there_for_the_next(sandbox: MontySandbox) -> None:
    """Neither names nor figures of another task."""
    await sandbox.run("kept = _inputs[0]\n'x'", ("4711",))

    for program in ("kept", "str(_inputs[0])", "str(globals()['kept'])"):
        with pytest.raises(CodeFailed):
            await sandbox.run(program, ())


@pytest.mark.promise("made.sandbox")
async def test_its_processes_have_no_environment_and_end_with_it(sandbox: MontySandbox) -> None:
    os.environ["A_SECRET"] = SECRET
    try:
        async with MontySandbox() as other:
            await other.run("'started'", ())
            workers = _children()
            environments = [await asyncio.to_thread(Path(f"/proc/{one}/environ").read_text) for one in workers]
    finally:
        del os.environ["A_SECRET"]
    assert workers
    assert not any(SECRET in text for text in environments)


@pytest.mark.promise("made.sandbox.undisturbed")
async def test_a_process_that_dies_is_replaced(sandbox: MontySandbox) -> None:
    """At worst one program is told that the sandbox could not be had."""
    await sandbox.run("'started'", ())
    for child in _children():
        if "monty" in await asyncio.to_thread(Path(f"/proc/{child}/cmdline").read_text):
            os.kill(child, signal.SIGKILL)

    with suppress(SandboxUnavailable):
        await sandbox.run("'lost'", ())

    assert await sandbox.run("'alive'", ()) == "alive"


_NAMES = st.sampled_from(
    "os sys subprocess socket builtins io pathlib random statistics time asyncio json re math decimal _inputs __file__ "
    "__name__ object type str int Exception Decimal open eval exec getattr".split()
)
_ATTRIBUTES = st.sampled_from(
    "environ modules __class__ __bases__ __mro__ __subclasses__ __globals__ __dict__ __init__ __code__ __builtins__ "
    "_os path popen read getenv system gi_frame f_back tb_frame __traceback__ __self__ __func__ __module__ "
    "__loader__".split()
)


@pytest.mark.promise("made.sandbox.property")
@given(name=_NAMES, attributes=st.lists(_ATTRIBUTES, min_size=1, max_size=4), called=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_chain_of_attributes_reads_environment_files_or_another_tasks_figures(
    name: str, attributes: list[str], called: bool, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    os.environ["A_SECRET"] = SECRET
    chain = ".".join((name, *attributes)) + ("('A_SECRET')" if called else "")
    tries = (
        f"str({chain})",
        f"import {name}\nstr({chain})",
        f"str(open('{tmp_path}/secret').{attributes[0]})",
        f"'{{0.{'.'.join(attributes)}}}'.format({name})",
    )

    async def said() -> list[str]:
        async with MontySandbox() as sandbox:
            await sandbox.run("figures_of_another_task = _inputs\n'x'", (SECRET,))
            return [await _said(sandbox, program) for program in tries]

    texts = asyncio.run(said())
    del os.environ["A_SECRET"]
    assert not any(SECRET in text for text in texts)


async def _said(sandbox: MontySandbox, program: str) -> str:
    try:
        return await sandbox.run(program, ("1",))
    except CodeFailed as refused:
        return str(refused)


def _children() -> list[int]:
    tasks = Path(f"/proc/{os.getpid()}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _resident(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
