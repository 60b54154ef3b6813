"""Lists of hosts as operators write them: gateway and executor read them alike, and do not start with a wrong one."""

import pytest
from pydantic import ValidationError

from services.executor.settings import ExecutorSettings as ExecutorSettings
from services.gateway.settings import GatewaySettings as GatewaySettings
from shared.domain.outgoing import Reach

WRITTEN = " erp.Acme.example, tools.acme.example:8443,10.2.0.0/16 ,[fd00::7]:8443, "
READ = frozenset({"erp.acme.example", "tools.acme.example:8443", "10.2.0.0/16", "[fd00::7]:8443"})
ENOUGH = {
    "REDIS_URL": "redis://localhost",
    "POLICY_URL": "http://policy",
    "TENANT_FILE": "/x",
    "ANTHROPIC_API_KEY": "k",
}


def executor_reach(monkeypatch: pytest.MonkeyPatch, **environ: str) -> Reach:
    for name, value in {**ENOUGH, "ALLOW_NO_ARCHIVE": "true", **environ}.items():
        monkeypatch.setenv(name, value)
    return ExecutorSettings().tools_reach


@pytest.mark.promise("ssrf.allowed")
def test_a_list_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    reach = executor_reach(monkeypatch, TOOLS_ALLOWED_HOSTS=WRITTEN)

    assert (reach.listed, reach.loopback, reach.public) == (READ, False, False)
    assert GatewaySettings(profile="embedded").tools_allowed_hosts == tuple(map(str.strip, WRITTEN.split(",")))[:-1]


@pytest.mark.promise("ssrf.allowed")
def test_the_embedded_profile_opens_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert executor_reach(monkeypatch, PROFILE="embedded").loopback


@pytest.mark.promise("ssrf.allowed")
@pytest.mark.parametrize("entry", ["http://erp.acme.example", "10.0.0.1/8", "*", "erp.acme.example:0"])
def test_a_bad_entry_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    with pytest.raises(ValidationError, match="tools_allowed_hosts"):
        executor_reach(monkeypatch, TOOLS_ALLOWED_HOSTS=f"good.example,{entry}")
    with pytest.raises(ValidationError, match="tools_allowed_hosts"):
        GatewaySettings(profile="embedded")
