"""``python -m services.learner``: learns from ended tasks until SIGTERM."""

import asyncio
import sys

from pydantic import ValidationError

from services.learner.bootstrap import learn
from services.learner.settings import Settings
from shared.infra.process import configure_logging
from shared.infra.redis import VolatileRedis
from shared.ports.store import StoreUnavailable

_CANNOT_START = 2


def main() -> int:
    """The exit code: 0 after a stop that was asked for, 2 for a setting or a server that cannot be used."""
    try:
        settings = Settings()
    except ValidationError as error:
        return _refuse(_sentence(error))
    configure_logging("learner")
    try:
        asyncio.run(learn(settings))
    except VolatileRedis as error:
        return _refuse(str(error))
    except StoreUnavailable as error:
        return _refuse(f"REDIS_URL cannot be used: {error}")
    return 0


def _sentence(error: ValidationError) -> str:
    wrong = error.errors(include_url=False, include_input=False)[0]
    name = str(wrong["loc"][0]).upper()
    return f"{name} is not set." if wrong["type"] == "missing" else f"{name} cannot be used: {wrong['msg']}."


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return _CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
