"""Virtual environments that hold a lock file's packages and nothing else, kept between runs of the tests."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.authorities import environment_of_the_user
from tests.deployment.dockerfile import ROOT

KEPT = ROOT / ".venvs"
_SECONDS = 300


def python_with_only(lock: Path) -> Path:
    """The interpreter of an environment made from that lock file; made anew when the file or Python changed."""
    identity = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    home = KEPT / f"{lock.stem}-{identity}"
    if not home.exists():
        _make(home, lock)
        _forget_others(home, lock.stem)
    return home / "bin" / "python"


def _make(home: Path, lock: Path) -> None:
    """Under another name first, so that a run that was cut off leaves nothing that looks whole."""
    unfinished = home.with_name(f".{home.name}.{os.getpid()}")
    KEPT.mkdir(exist_ok=True)
    _uv("venv", "--relocatable", "--python", sys.executable, str(unfinished))
    _uv("pip", "sync", "--require-hashes", "--python", str(unfinished / "bin" / "python"), str(lock))
    try:
        unfinished.rename(home)
    except OSError:  # another run was quicker
        shutil.rmtree(unfinished)


def _forget_others(home: Path, stem: str) -> None:
    for old in KEPT.glob(f"{stem}-*"):
        if old != home:
            shutil.rmtree(old, ignore_errors=True)


def _uv(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", *arguments],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env=environment_of_the_user(),
    )
    assert done.returncode == 0, f"uv {' '.join(arguments)}\n{done.stderr}"
