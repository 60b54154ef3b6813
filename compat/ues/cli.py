"""``ues server`` and ``ues version``."""

import argparse
import sys
from collections.abc import Sequence

from services.simulator.entrypoints.version import UES_VERSION

DEFAULT_PORT = 8000  # where public clients look unless they are told otherwise
_UNUSABLE = 2


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a stop that was asked for, 2 for what cannot be used."""
    options = _parser().parse_args(arguments)
    if options.command == "version":
        sys.stdout.write(f"{UES_VERSION}\n")
        return 0
    if options.workers != 1 or options.reload:
        sys.stderr.write("A world lives in one process: --workers above 1 and --reload cannot be used.\n")
        return _UNUSABLE
    from services.simulator.__main__ import main as serve  # the server alone needs its libraries

    return serve(_simulator_arguments(options))


def entry() -> None:
    """For the console script."""
    sys.exit(main(sys.argv[1:]))


def _simulator_arguments(options: argparse.Namespace) -> list[str]:
    given = {
        "--host": options.host,
        "--port": str(options.port),
        "--admin-key": options.admin_key,
        "--admin-key-file": options.admin_key_file,
    }
    return [part for name, value in given.items() if value is not None for part in (name, value)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ues", description="A simulated user environment.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("version", help="the version of the interface that is served")
    server = commands.add_parser("server", help="serve until SIGTERM")
    server.add_argument("--host", default="127.0.0.1")
    server.add_argument("--port", type=int, default=DEFAULT_PORT)
    server.add_argument("--admin-key", help="better given as UES_ADMIN_KEY: others see arguments")
    server.add_argument("--admin-key-file")
    server.add_argument("--workers", type=int, default=1)
    server.add_argument("--reload", action="store_true")
    return parser


if __name__ == "__main__":
    entry()
