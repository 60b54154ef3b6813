"""What kustomize builds: valid for the current version, confined, and in agreement with images and settings."""

import copy
from collections.abc import Iterator
from typing import NamedTuple, cast

import pytest

from shared.contracts.tenant import TenantRecord
from shared.domain.version import VERSION
from tests.deployment.agreement import disagreements, longest_stop
from tests.deployment.compose import compose
from tests.deployment.dockerfile import ROOT, STACK, images
from tests.deployment.kustomize import BASE, COMPONENTS, K8S, LOCAL, PRODUCTION, Document, built
from tests.deployment.manifests import (
    NAME,
    Pod,
    config_maps,
    environment,
    name_of,
    of_kind,
    pods,
    reaches,
    spec_of,
    workloads,
)
from tests.deployment.valid import faults
from tests.each_row import each_row

IMAGES = images()
# Each component and each overlay is in one of them.
BUILDS: dict[str, tuple[str, ...]] = {
    "base": (BASE,),
    "local": (LOCAL,),
    "production": (PRODUCTION,),
    "local with everything": (LOCAL, "assessor", "hpa", "monitoring"),
    "production with an assessor": (PRODUCTION, "assessor", "monitoring"),
}
# Local networks are open there, and an operator's own here; metrics and a queue of their own come with an installation.
ONLY_IN_COMPOSE = {"WEBHOOK_ALLOWED_HOSTS", "LOG_LEVEL", "LOG_FORMAT"}
ONLY_IN_KUBERNETES = {"REDIS_START_SECONDS", "METRICS_PORT", "QUEUE_REDIS_URL", "GRACE_SECONDS"}
# Stand-ins for a model, for tool servers and for a user's world, and who measures, belong to no installation.
NOT_IN_BASE = {"planner", "company", "simulator", "assessor", STACK}


class Placed(NamedTuple):
    """A pod of ours, and what it was built with."""

    documents: tuple[Document, ...]
    name: str

    @property
    def pod(self) -> Pod:
        return pods(self.documents)[self.name]

    @property
    def given(self) -> dict[str, str]:
        return environment(self.documents, self.pod.container)


def _placed() -> Iterator[Placed]:
    """Every pod that runs an image of ours; the local build alone adds nothing to these."""
    for build in ("base", "production", "local with everything"):
        documents = built(*BUILDS[build])
        yield from (Placed(documents, name) for name in pods(documents) if name in IMAGES)


@pytest.mark.promise("deploy.manifests_valid")
@each_row("build", BUILDS)
def test_every_manifest_fits_its_schema_as_kustomize_builds_it(build: str) -> None:
    """Kubernetes's own kinds that of the current version, others those kept with these tests."""
    assert faults(built(*BUILDS[build])) == []


@pytest.mark.promise("deploy.manifests_valid")
@pytest.mark.parametrize("kind", ["Deployment", "ScaledObject"])
@pytest.mark.parametrize("wrong", [{"maxReplicaCount": "two", "replicas": "two"}, {"replica": 2}])
def test_a_wrong_or_unknown_field_is_found(kind: str, wrong: dict[str, object]) -> None:
    spoiled = copy.deepcopy(of_kind(built(PRODUCTION), kind)[0])
    cast(dict[str, object], spoiled["spec"]).update(wrong)

    assert faults([spoiled]) != []


@pytest.mark.promise("deploy.manifests_valid")
def test_every_file_is_built_into_something() -> None:
    """A manifest that no kustomization names does nothing, and nobody notices."""
    for folder in [K8S / "base", *(K8S / "overlays").iterdir(), *(K8S / "components").iterdir()]:
        told = (folder / "kustomization.yaml").read_text()
        assert [
            path.name for path in folder.iterdir() if path.name != "kustomization.yaml" and path.name not in told
        ] == []
    assert {component for build in BUILDS.values() for component in build[1:]} | {"keda"} == set(COMPONENTS)


@pytest.mark.promise("deploy.manifests_valid")
def test_every_service_has_a_place() -> None:
    everything = built(*BUILDS["local with everything"])

    assert pods(built(BASE)).keys() == IMAGES.keys() - NOT_IN_BASE
    assert pods(everything).keys() == reaches(everything).keys() == (IMAGES.keys() - {STACK}) | {"redis"}


@pytest.mark.promise("deploy.same_names")
@each_row("placed", _placed)
def test_each_pod_is_given_what_its_service_reads_and_needs(placed: Placed) -> None:
    image = IMAGES[placed.name]

    assert disagreements(image.settings, {**image.environ, **placed.given}) == []


@pytest.mark.promise("deploy.same_names")
@each_row("placed", _placed)
def test_image_ports_and_services_agree(placed: Placed) -> None:
    image, container, reach = IMAGES[placed.name], placed.pod.container, reaches(placed.documents)[placed.name]
    listened = {port.name: port.container_port for port in container.ports}

    assert container.image.rpartition("/")[2] == f"purple-agent-{placed.name}:{VERSION}"
    assert listened["http"] == image.exposed
    assert [(port.port, port.target_port) for port in reach.ports] == [(image.exposed, "http")]
    assert reach.selector == {NAME: placed.name}


@pytest.mark.promise("deploy.same_names")
@each_row("placed", _placed)
def test_a_pod_lives_by_health_and_is_given_work_by_readiness(placed: Placed) -> None:
    """A Redis that is away takes pods out of service; it does not restart them."""
    container = placed.pod.container
    probes = [container.startup_probe, container.liveness_probe, container.readiness_probe]
    asked = [probe.http_get for probe in probes if probe.http_get]
    ready = "/health" if placed.name == "company" else "/ready"

    assert [one.path for one in asked] == ["/health", "/health", ready]
    assert {one.port for one in asked} == {"http"}


@pytest.mark.promise("deploy.manifests_valid")
@each_row("build", BUILDS)
def test_pods_are_confined(build: str) -> None:
    """Whatever is built, Redis included."""
    for name, pod in pods(built(*BUILDS[build])).items():
        container = pod.container
        assert pod.security_context.run_as_non_root, name
        assert pod.security_context.run_as_user > 0, name
        assert pod.security_context.seccomp_profile == {"type": "RuntimeDefault"}, name
        assert (pod.automount_service_account_token, pod.enable_service_links) == (False, False), name
        assert container.security_context.read_only_root_filesystem, name
        assert not container.security_context.allow_privilege_escalation, name
        assert container.security_context.capabilities == {"drop": ("ALL",)}, name
        assert container.resources.requests.keys() == container.resources.limits.keys() == {"cpu", "memory"}, name


@pytest.mark.promise("deploy.manifests_valid")
@each_row("placed", _placed)
def test_a_pod_runs_as_the_user_that_its_image_names(placed: Placed) -> None:
    assert f"{placed.pod.security_context.run_as_user}:" in IMAGES[placed.name].user


@pytest.mark.promise("deploy.same_names")
@each_row("placed", _placed)
def test_a_pod_is_killed_only_after_its_own_grace(placed: Placed) -> None:
    pod = placed.pod
    longest = longest_stop(IMAGES[placed.name].settings, placed.given)

    assert pod.termination_grace_period_seconds > pod.container.lifecycle.pre_stop.sleep.seconds + longest


@pytest.mark.promise("deploy.same_names")
@each_row("build", ["base", "local", "production"])
def test_the_tenant_file_is_where_the_executor_looks(build: str) -> None:
    placed = Placed(built(*BUILDS[build]), "executor")
    folder, _, file = placed.given["TENANT_FILE"].rpartition("/")
    volumes = {volume.name: volume.config_map.name for volume in placed.pod.volumes if volume.config_map}
    mounted = {mount.mount_path: mount.name for mount in placed.pod.container.volume_mounts}

    TenantRecord.model_validate_json(config_maps(placed.documents)[volumes[mounted[folder]]][file])


@pytest.mark.promise("deploy.same_names")
@each_row("name", lambda: sorted(pods(built(BASE))))
def test_what_compose_hands_on_kubernetes_names_too(name: str) -> None:
    """The same variables, but for what each of them says by itself."""
    told = built(*BUILDS["local with everything"])
    service = compose()[name]

    in_compose = {*service.environment, *service.handed_on}
    in_kubernetes = environment(told, pods(told)[name].container).keys()

    by_libraries = {variable for variable in in_compose if variable.startswith("AWS_")}
    assert in_compose - in_kubernetes <= by_libraries | ONLY_IN_COMPOSE
    assert in_kubernetes - in_compose <= ONLY_IN_KUBERNETES


@pytest.mark.promise("deploy.same_names")
def test_the_local_tenant_is_that_of_the_launcher() -> None:
    """The same policies over the same example company."""
    assert (K8S / LOCAL / "tenant.json").read_bytes() == (ROOT / "cli/defaults/company_tenant.json").read_bytes()


@pytest.mark.promise("deploy.same_names")
@each_row("placed", _placed)
def test_no_secret_stands_in_a_manifest(placed: Placed) -> None:
    """Passwords and keys come from a Secret, by name."""
    words = ("_KEY", "_SECRET", "REDIS_URL", "PASSWORD")
    told = {variable: value for variable, value in placed.given.items() if variable.endswith(words)}

    assert [variable for variable, value in told.items() if not value.startswith("secret:")] == []


@each_row("build", BUILDS)
def test_what_a_pod_names_is_there(build: str) -> None:
    """Volumes, config maps, accounts; a default account would be everybody's."""
    documents = built(*BUILDS[build])
    accounts = {name_of(found) for found in of_kind(documents, "ServiceAccount")}
    for name, pod in pods(documents).items():
        maps = {source.config_map_ref.name for source in pod.container.env_from}
        maps |= {volume.config_map.name for volume in pod.volumes if volume.config_map}
        assert maps <= config_maps(documents).keys(), name
        assert pod.service_account_name in accounts or name not in pods(built(BASE)), name
        claimed = {"data"} if workloads(documents)[name].kind == "StatefulSet" else set()
        assert {mount.name for mount in pod.container.volume_mounts} == {
            volume.name for volume in pod.volumes
        } | claimed


@pytest.mark.promise("deploy.manifests_valid")
@each_row("folder", [LOCAL, PRODUCTION])
def test_namespaces_refuse_pods_that_are_less_confined(folder: str) -> None:
    (namespace,) = of_kind(built(folder), "Namespace")

    labels = cast(dict[str, dict[str, str]], namespace["metadata"])["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_labels_that_select_are_those_that_pods_bear() -> None:
    for name, workload in workloads(built(*BUILDS["local with everything"])).items():
        assert workload.selector.items() <= workload.labels.items(), name
        assert workload.selector == {NAME: name}


def test_production_has_no_number_of_replicas_where_something_scales() -> None:
    """Else each apply would set back what the autoscaler has chosen."""
    documents = built(PRODUCTION)
    scaled = [*of_kind(documents, "HorizontalPodAutoscaler"), *of_kind(documents, "ScaledObject")]
    targets = {str(cast(Document, spec_of(found)["scaleTargetRef"])["name"]) for found in scaled}

    counted = {name for name, workload in workloads(documents).items() if workload.replicas is not None}

    assert targets | counted == workloads(documents).keys()
    assert not targets & counted
