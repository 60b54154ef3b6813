"""The Kubernetes base as typed records."""

from collections.abc import Iterator
from typing import NamedTuple, cast

import yaml
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tests.deployment.dockerfile import ROOT

BASE = ROOT / "k8s" / "base"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True, frozen=True)


class SecretKey(_Part):
    name: str
    key: str


class ValueFrom(_Part):
    secret_key_ref: SecretKey


class Variable(_Part):
    name: str
    value: str | None = None
    value_from: ValueFrom | None = None


class Named(_Part):
    name: str


class EnvFrom(_Part):
    config_map_ref: Named


class ContainerPort(_Part):
    container_port: int


class HttpGet(_Part):
    path: str
    port: str | int


class Probe(_Part):
    http_get: HttpGet


class Sleep(_Part):
    seconds: int = 0


class PreStop(_Part):
    sleep: Sleep = Sleep()


class Lifecycle(_Part):
    pre_stop: PreStop = PreStop()


class Resources(_Part):
    requests: dict[str, str]
    limits: dict[str, str]


class Mount(_Part):
    name: str
    mount_path: str


class Security(_Part):
    allow_privilege_escalation: bool
    read_only_root_filesystem: bool
    capabilities: dict[str, tuple[str, ...]]


class Container(_Part):
    name: str
    image: str
    ports: tuple[ContainerPort, ...]
    env: tuple[Variable, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    lifecycle: Lifecycle = Lifecycle()
    startup_probe: Probe
    liveness_probe: Probe
    readiness_probe: Probe
    resources: Resources
    security_context: Security
    volume_mounts: tuple[Mount, ...] = ()


class PodSecurity(_Part):
    run_as_non_root: bool
    run_as_user: int


class Volume(_Part):
    name: str
    config_map: Named | None = None


class Pod(_Part):
    termination_grace_period_seconds: int
    automount_service_account_token: bool
    enable_service_links: bool
    security_context: PodSecurity
    containers: tuple[Container]
    volumes: tuple[Volume, ...] = ()

    @property
    def container(self) -> Container:
        return self.containers[0]


class ServicePort(_Part):
    port: int
    target_port: str | int


class Reach(NamedTuple):
    """A Kubernetes Service: whom it selects and where."""

    selector: dict[str, str]
    ports: tuple[ServicePort, ...]


class Generator(_Part):
    name: str
    envs: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


class Kustomization(_Part):
    resources: tuple[str, ...]
    config_map_generator: tuple[Generator, ...] = Field(default=())


def kustomization() -> Kustomization:
    return Kustomization.model_validate(yaml.safe_load((BASE / "kustomization.yaml").read_text()))


def manifests() -> list[dict[str, object]]:
    """Every document of every resource that the base names, as it stands in its file."""
    texts = [(BASE / name).read_text() for name in kustomization().resources]
    return [cast(dict[str, object], document) for text in texts for document in yaml.safe_load_all(text)]


def pods() -> dict[str, Pod]:
    """The pod of each deployment."""
    return {_name(found): Pod.model_validate(_spec(found)["template"]["spec"]) for found in _of_kind("Deployment")}


def reaches() -> dict[str, Reach]:
    return {_name(found): _reach(_spec(found)) for found in _of_kind("Service")}


def environment(container: Container) -> dict[str, str]:
    """What the container is told; a secret is told as ``secret:KEY``."""
    told = {name: value for source in container.env_from for name, value in _generated(source.config_map_ref.name)}
    for variable in container.env:
        secret = variable.value_from.secret_key_ref.key if variable.value_from else ""
        told[variable.name] = f"secret:{secret}" if secret else variable.value or ""
    return told


def _generated(name: str) -> Iterator[tuple[str, str]]:
    generator = next(found for found in kustomization().config_map_generator if found.name == name)
    lines = [line for file in generator.envs for line in (BASE / file).read_text().splitlines()]
    for line in lines:
        if line and not line.startswith("#"):
            variable, _, value = line.partition("=")
            yield variable, value


def _of_kind(kind: str) -> list[dict[str, object]]:
    return [document for document in manifests() if document["kind"] == kind]


def _name(document: dict[str, object]) -> str:
    return str(cast(dict[str, object], document["metadata"])["name"])


def _spec(document: dict[str, object]) -> dict[str, dict[str, object]]:
    return cast(dict[str, dict[str, object]], document["spec"])


def _reach(spec: dict[str, dict[str, object]]) -> Reach:
    ports = cast(list[object], spec["ports"])
    selector = {key: str(value) for key, value in spec["selector"].items()}
    return Reach(selector, tuple(ServicePort.model_validate(port) for port in ports))
