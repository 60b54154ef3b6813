"""Who may reach whom on Kubernetes, as a table: everything else is shut."""

import pytest

from tests.deployment.kustomize import BASE, LOCAL, PRODUCTION, Document, built
from tests.deployment.manifests import Container, environment, pods
from tests.deployment.network import Place, Port, elsewhere, may_reach, outside, own_pods, policies
from tests.each_row import each_row

pytestmark = pytest.mark.promise("deploy.closed_network")

CLIENT = outside("a client", "203.0.113.7")
PUBLIC = outside("a public server", "198.51.100.9")
PRIVATE = outside("a private server", "192.168.3.4")
MACHINE = outside("the machine's credentials", "169.254.169.254")
MANAGED_REDIS = outside("the managed Redis", "10.0.4.2")
MONITOR = elsewhere("who scrapes", {}, {"purple-agent/monitoring": "true"})
NAMES = elsewhere("names", {"k8s-app": "kube-dns"}, {"kubernetes.io/metadata.name": "kube-system"})
TOOLS = elsewhere("a tool server", {}, {"purple-agent/tool-servers": "true"})
STRANGER = elsewhere("a stranger", {"app.kubernetes.io/name": "executor"}, {"kubernetes.io/metadata.name": "others"})

_INSIDE = {("gateway", "policy"), ("executor", "policy")}
_LOCAL = _INSIDE | {
    ("gateway", "redis"),
    ("executor", "redis"),
    ("learner", "redis"),
    ("executor", "planner"),
    ("learner", "planner"),
    ("executor", "company"),
}
_ASSESSED = _LOCAL | {
    ("assessor", "gateway"),
    ("assessor", "simulator"),
    ("assessor", "planner"),
    ("gateway", "simulator"),
    ("executor", "gateway"),
}
# The gateway is what others reach, console included.
_FROM_ANYWHERE = {"gateway"}
_TO_THE_PUBLIC = {"gateway", "executor", "learner", "assessor"}


def _metrics_port(container: Container) -> Port:
    ports = {one.name: one.container_port for one in container.ports}
    return Port(ports.get("metrics", ports["http"]))


def _ways(documents: tuple[Document, ...], ends: dict[str, Place]) -> set[tuple[str, str]]:
    """Between pods, on the port of the second."""
    known = tuple(policies(documents).values())
    ports = {name: pod.container.ports[0].container_port for name, pod in pods(documents).items()}
    return {
        (source.name, name)
        for source in ends.values()
        for name, target in own_pods(documents).items()
        if source.name != name and may_reach(known, source, target, Port(ports[name]))
    }


@each_row(
    ("folder", "components", "table"),
    (BASE, (), _INSIDE),
    (PRODUCTION, (), _INSIDE),
    (LOCAL, (), _LOCAL),
    (LOCAL, ("assessor",), _ASSESSED),
)
def test_pods_reach_each_other_where_the_table_says_so(
    folder: str, components: tuple[str, ...], table: set[tuple[str, str]]
) -> None:
    """The gateway can be reached from everywhere, so it is left out here."""
    documents = built(folder, *components)

    found = _ways(documents, own_pods(documents))

    assert {way for way in found if way[1] not in _FROM_ANYWHERE} == {way for way in table if way[1] != "gateway"}
    assert {way for way in table if way[1] == "gateway"} <= found


@pytest.mark.parametrize("source", [CLIENT, PRIVATE, STRANGER, TOOLS], ids=lambda place: place.name)
@pytest.mark.parametrize(("folder", "components"), [(PRODUCTION, ()), (LOCAL, ("assessor",))])
def test_from_outside_only_the_gateway_is_reached(folder: str, components: tuple[str, ...], source: Place) -> None:
    """Another namespace's pod is outside too, whatever labels it gives itself."""
    ways = _ways(built(folder, *components), {source.name: source})

    assert {target for _, target in ways} == _FROM_ANYWHERE


def test_the_gateway_is_reached_on_its_own_port_alone() -> None:
    documents = built(PRODUCTION)
    known = tuple(policies(documents).values())
    gateway = own_pods(documents)["gateway"]

    open_ports = [
        number for number in (22, 80, 443, 6379, 9010, 9011) if may_reach(known, CLIENT, gateway, Port(number))
    ]

    assert open_ports == [9010]


@each_row("port", [443, 80, 6379, 22])
def test_what_leaves_the_cluster_is_https_to_public_addresses(port: int) -> None:
    """No private network, and never the addresses at which a machine's credentials are had."""
    documents = built(LOCAL, "assessor")
    known = tuple(policies(documents).values())

    leaving = {
        (name, target.name)
        for name, source in own_pods(documents).items()
        for target in (PUBLIC, PRIVATE, MACHINE, MANAGED_REDIS)
        if may_reach(known, source, target, Port(port))
    }

    assert leaving == ({(name, PUBLIC.name) for name in _TO_THE_PUBLIC} if port == 443 else set())


@each_row("components", [(), ("monitoring",)])
def test_who_scrapes_reaches_the_metrics_of_each_and_nobody_else_does(components: tuple[str, ...]) -> None:
    """Wherever the pod monitor looks, and with none too: executors are scaled by what they show."""
    documents = built(PRODUCTION, *components)
    known = tuple(policies(documents).values())
    places = own_pods(documents)
    shown = {name: _metrics_port(pod.container) for name, pod in pods(documents).items()}

    assert all(may_reach(known, MONITOR, places[name], port) for name, port in shown.items())
    for stranger in (CLIENT, STRANGER, TOOLS):
        assert not any(may_reach(known, stranger, places[name], port) for name, port in shown.items())
    assert environment(documents, pods(documents)["gateway"].container)["METRICS_PORT"] == str(shown["gateway"].number)


def test_no_other_pod_reaches_the_gateways_metrics() -> None:
    documents = built(PRODUCTION)
    known = tuple(policies(documents).values())

    places = own_pods(documents)
    sources = [CLIENT, STRANGER, *(pod for name, pod in places.items() if name != "gateway")]
    assert not any(may_reach(known, source, places["gateway"], Port(9012)) for source in sources)


def test_only_those_with_state_reach_the_managed_redis() -> None:
    documents = built(PRODUCTION)
    known = tuple(policies(documents).values())

    reached = {name for name, pod in own_pods(documents).items() if may_reach(known, pod, MANAGED_REDIS, Port(6379))}

    assert reached == {"gateway", "executor", "learner"}


def test_tool_servers_inside_are_the_executors_where_their_namespace_says_so() -> None:
    documents = built(PRODUCTION)
    known = tuple(policies(documents).values())
    places = own_pods(documents)

    assert {name for name, pod in places.items() if may_reach(known, pod, TOOLS, Port(8000))} == {"executor"}
    assert not any(may_reach(known, pod, STRANGER, Port(8000)) for pod in places.values())


@each_row("folder", [LOCAL, PRODUCTION])
def test_every_pod_can_look_up_names_and_none_is_forgotten(folder: str) -> None:
    """A pod that no policy is about could reach everything, and be reached."""
    documents = built(folder)
    known = tuple(policies(documents).values())
    places = own_pods(documents)

    assert all(may_reach(known, pod, NAMES, Port(53, "UDP")) for pod in places.values())
    for pod in places.values():
        about = {kind for policy in known if policy.is_about(pod) for kind in policy.policy_types}
        assert about == {"Ingress", "Egress"}, pod.name


@each_row(("folder", "components"), [(LOCAL, ("assessor",)), (PRODUCTION, ())])
def test_every_policy_is_about_somebody(folder: str, components: tuple[str, ...]) -> None:
    """A selector with a slip in it selects nobody, and opens or shuts nothing."""
    documents = built(folder, *components)
    places = own_pods(documents).values()

    idle = {name for name, policy in policies(documents).items() if not any(policy.is_about(pod) for pod in places)}

    assert idle == set()
