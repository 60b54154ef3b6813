"""What kustomize builds, as typed records."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tests.deployment.kustomize import Document

NAME = "app.kubernetes.io/name"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True, frozen=True)


class SecretKey(_Part):
    name: str
    key: str
    optional: bool = False


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
    name: str
    container_port: int


class HttpGet(_Part):
    path: str
    port: str | int


class Probe(_Part):
    http_get: HttpGet | None = None


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
    seccomp_profile: dict[str, str]


class Volume(_Part):
    name: str
    config_map: Named | None = None


class Pod(_Part):
    termination_grace_period_seconds: int
    automount_service_account_token: bool
    enable_service_links: bool
    security_context: PodSecurity
    service_account_name: str = "default"
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


class Workload(NamedTuple):
    """A deployment or stateful set: the labels and notes that its pods bear, and one of these pods."""

    kind: str
    selector: Mapping[str, str]
    labels: Mapping[str, str]
    notes: Mapping[str, str]
    replicas: int | None
    pod: Pod


def workloads(documents: Sequence[Document]) -> dict[str, Workload]:
    found = [document for kind in ("Deployment", "StatefulSet") for document in of_kind(documents, kind)]
    return {name_of(document): _workload(document) for document in found}


def pods(documents: Sequence[Document]) -> dict[str, Pod]:
    """The pod of each deployment or stateful set."""
    return {name: workload.pod for name, workload in workloads(documents).items()}


def reaches(documents: Sequence[Document]) -> dict[str, Reach]:
    return {name_of(found): _reach(spec_of(found)) for found in of_kind(documents, "Service")}


def environment(documents: Sequence[Document], container: Container) -> dict[str, str]:
    """What the container is told; a secret is told as ``secret:KEY``."""
    maps = config_maps(documents)
    told: dict[str, str] = {}
    for source in container.env_from:
        told |= maps[source.config_map_ref.name]
    for variable in container.env:
        secret = variable.value_from.secret_key_ref.key if variable.value_from else ""
        told[variable.name] = f"secret:{secret}" if secret else variable.value or ""
    return told


def config_maps(documents: Sequence[Document]) -> dict[str, dict[str, str]]:
    return {name_of(found): cast(dict[str, str], found["data"]) for found in of_kind(documents, "ConfigMap")}


def of_kind(documents: Sequence[Document], kind: str) -> list[Document]:
    return [document for document in documents if document["kind"] == kind]


def name_of(document: Document) -> str:
    return str(cast(Document, document["metadata"])["name"])


def spec_of(document: Document) -> dict[str, object]:
    return cast(dict[str, object], document["spec"])


def _workload(document: Document) -> Workload:
    spec = spec_of(document)
    template = cast(dict[str, dict[str, object]], spec["template"])
    selector = cast(dict[str, dict[str, str]], spec["selector"])["matchLabels"]
    labels = cast(dict[str, str], template["metadata"]["labels"])
    notes = cast(dict[str, str], template["metadata"].get("annotations", {}))
    pod = Pod.model_validate(template["spec"])
    return Workload(str(document["kind"]), selector, labels, notes, cast("int | None", spec.get("replicas")), pod)


def _reach(spec: dict[str, object]) -> Reach:
    ports = cast(list[object], spec["ports"])
    selector = cast(dict[str, str], spec["selector"])
    return Reach(selector, tuple(ServicePort.model_validate(port) for port in ports))
