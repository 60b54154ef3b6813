"""The Kubernetes base: valid for the current version, confined, and in agreement with images and settings."""

import copy
import shutil
import subprocess
from typing import cast

import kubernetes_validate  # type: ignore[import-untyped]  # it comes without types
import pytest
import yaml

from shared.contracts.tenant import TenantRecord
from shared.domain.version import VERSION
from tests.deployment.agreement import disagreements, longest_stop
from tests.deployment.dockerfile import STACK, images
from tests.deployment.manifests import BASE, Pod, environment, kustomization, manifests, pods, reaches

IMAGES = images()
PODS = pods()
# Stand-ins for a model, for tool servers and for a user's world, and who measures, belong to no installation.
NOT_IN_BASE = {"planner", "company", "simulator", "assessor", STACK}
KUBECTL = shutil.which("kubectl")


def _validate(documents: list[dict[str, object]]) -> None:
    for document in documents:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.promise("deploy.manifests_valid")
def test_every_manifest_fits_the_schema_of_the_current_version() -> None:
    _validate(manifests())


@pytest.mark.promise("deploy.manifests_valid")
@pytest.mark.parametrize("wrong", [{"replicas": "two"}, {"replica": 2}])
def test_a_wrong_or_unknown_field_is_found(wrong: dict[str, object]) -> None:
    spoiled = copy.deepcopy(next(found for found in manifests() if found["kind"] == "Deployment"))
    cast(dict[str, object], spoiled["spec"]).update(wrong)

    with pytest.raises(kubernetes_validate.ValidationError):
        _validate([spoiled])


@pytest.mark.promise("deploy.manifests_valid")
@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not on the PATH: kustomize is not run, its parts are checked")
def test_what_kustomize_builds_fits_too() -> None:
    built = subprocess.run(
        [str(KUBECTL), "kustomize", str(BASE)], capture_output=True, text=True, timeout=30, check=True
    )
    documents = cast(list[dict[str, object]], list(yaml.safe_load_all(built.stdout)))

    _validate(documents)
    assert len(documents) == len(manifests()) + len(kustomization().config_map_generator)


@pytest.mark.promise("deploy.manifests_valid")
def test_the_base_leaves_no_file_and_no_service_out() -> None:
    named = {*kustomization().resources, "kustomization.yaml"}
    for generator in kustomization().config_map_generator:
        named |= {*generator.envs, *generator.files}

    assert named == {path.name for path in BASE.iterdir()}
    assert PODS.keys() == reaches().keys() == IMAGES.keys() - NOT_IN_BASE


@pytest.mark.promise("deploy.same_names")
@pytest.mark.parametrize("name", sorted(PODS))
def test_each_pod_is_given_what_its_service_reads_and_needs(name: str) -> None:
    given = environment(PODS[name].container)

    assert disagreements(IMAGES[name].settings, {**IMAGES[name].environ, **given}) == []


@pytest.mark.promise("deploy.same_names")
@pytest.mark.parametrize("name", sorted(PODS))
def test_image_ports_and_services_agree(name: str) -> None:
    image, container, reach = IMAGES[name], PODS[name].container, reaches()[name]

    assert container.image == f"purple-agent-{name}:{VERSION}"
    assert [port.container_port for port in container.ports] == [image.exposed]
    assert [(port.port, port.target_port) for port in reach.ports] == [(image.exposed, "http")]
    assert reach.selector == {"app.kubernetes.io/name": name}


@pytest.mark.promise("deploy.same_names")
@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_lives_by_health_and_is_given_work_by_readiness(name: str) -> None:
    """A Redis that is away takes pods out of service; it does not restart them."""
    container = PODS[name].container
    probes = (container.startup_probe, container.liveness_probe, container.readiness_probe)

    assert [probe.http_get.path for probe in probes] == ["/health", "/health", "/ready"]
    assert {probe.http_get.port for probe in probes} == {"http"}


@pytest.mark.promise("deploy.manifests_valid")
@pytest.mark.parametrize("name", sorted(PODS))
def test_pods_are_confined(name: str) -> None:
    pod, container = PODS[name], PODS[name].container

    assert pod.security_context.run_as_non_root
    assert f"{pod.security_context.run_as_user}:" in IMAGES[name].user
    assert (pod.automount_service_account_token, pod.enable_service_links) == (False, False)
    assert container.security_context.read_only_root_filesystem
    assert not container.security_context.allow_privilege_escalation
    assert container.security_context.capabilities == {"drop": ("ALL",)}
    assert container.resources.requests.keys() == container.resources.limits.keys() == {"cpu", "memory"}


@pytest.mark.promise("deploy.same_names")
@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_is_killed_only_after_its_own_grace(name: str) -> None:
    pod = PODS[name]

    longest = longest_stop(IMAGES[name].settings, environment(pod.container))
    assert pod.termination_grace_period_seconds > pod.container.lifecycle.pre_stop.sleep.seconds + longest


@pytest.mark.promise("deploy.same_names")
def test_the_tenant_file_is_where_the_executor_looks() -> None:
    pod = PODS["executor"]
    where = environment(pod.container)["TENANT_FILE"]
    folder, _, file = where.rpartition("/")

    assert folder in {mount.mount_path for mount in pod.container.volume_mounts if mount.name == "tenant"}
    TenantRecord.model_validate_json((BASE / file).read_bytes())


@pytest.mark.promise("deploy.same_names")
@pytest.mark.parametrize("name", sorted(PODS))
def test_no_secret_stands_in_a_manifest(name: str) -> None:
    """Passwords and keys come from the Secret, by name."""
    secret = {"REDIS_URL", "QUEUE_REDIS_URL", "ANTHROPIC_API_KEY"}
    given = environment(PODS[name].container)

    assert all(value.startswith("secret:") for variable, value in given.items() if variable in secret)


def test_mounts_and_volumes_belong_together() -> None:
    for pod in PODS.values():
        assert {mount.name for mount in pod.container.volume_mounts} == {volume.name for volume in pod.volumes}
    assert _config_maps(PODS) <= {generator.name for generator in kustomization().config_map_generator}


def _config_maps(all_pods: dict[str, Pod]) -> set[str]:
    return {volume.config_map.name for pod in all_pods.values() for volume in pod.volumes if volume.config_map}
