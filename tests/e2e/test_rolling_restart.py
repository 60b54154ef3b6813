"""A new version of everything, one process after another, while people work: nobody notices."""

import pytest

from shared.domain.exact_json import loads_object
from tests.e2e.commands import purple
from tools.chaos.evidence import Harm

_EVERYBODY = {"executor-1", "executor-2", "executor-3", "gateway-1", "gateway-2", "learner", "planner", "policy"}


@pytest.mark.long
@pytest.mark.timeout(700)
@pytest.mark.promise("upgrade.nothing_fails")
async def test_every_service_is_restarted_under_load_and_nothing_fails() -> None:
    """No failed request, no lost task, no outcome counted twice or not at all, no stream with a gap."""
    done = await purple("chaos", "--rolling", "--minutes", "0.2", "--json", seconds=600)

    report = loads_object(done.out)
    rolling = report["rolling"]
    assert isinstance(rolling, dict)
    restarts = rolling["restarts"]
    assert isinstance(restarts, dict)
    assert {harm: report[harm.name.lower()] for harm in Harm} == dict.fromkeys(Harm, 0), done.err[-4000:]
    assert restarts.keys() == _EVERYBODY
    assert report["planned"] == report["sent"]  # none is counted that was to come after the last restart
    assert done.code == 0
