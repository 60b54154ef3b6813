"""Who may reach whom under network policies: what a cluster's network would decide, from the manifests alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple, cast

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from tests.deployment.kustomize import Document
from tests.deployment.manifests import name_of, of_kind, spec_of, workloads

OWN = "the installation's"  # the namespace of the policies
_LABELS_OF_OWN: Mapping[str, str] = {"kubernetes.io/metadata.name": OWN}


@dataclass(frozen=True)
class Place:
    """A pod with its labels and those of its namespace, or an address outside of the cluster."""

    name: str
    labels: Mapping[str, str]
    namespace: Mapping[str, str]
    address: IPv4Address | IPv6Address | None = None

    @property
    def is_own(self) -> bool:
        return self.address is None and self.namespace == _LABELS_OF_OWN


class Port(NamedTuple):
    number: int
    protocol: str = "TCP"


def outside(name: str, address: str) -> Place:
    return Place(name, {}, {}, ip_address(address))


def elsewhere(name: str, labels: Mapping[str, str], namespace: Mapping[str, str]) -> Place:
    """A pod of another namespace."""
    return Place(name, labels, namespace)


def own_pods(documents: Sequence[Document]) -> dict[str, Place]:
    return {name: Place(name, workload.labels, _LABELS_OF_OWN) for name, workload in workloads(documents).items()}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True, frozen=True)


class _Expression(_Part):
    key: str
    operator: str
    values: tuple[str, ...] = ()

    def fits(self, labels: Mapping[str, str]) -> bool:
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


class _Selector(_Part):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[_Expression, ...] = ()

    def fits(self, labels: Mapping[str, str]) -> bool:
        return self.match_labels.items() <= labels.items() and all(one.fits(labels) for one in self.match_expressions)


class _Block(_Part):
    cidr: str
    except_: tuple[str, ...] = ()

    def has(self, address: IPv4Address | IPv6Address) -> bool:
        return address in ip_network(self.cidr) and not any(address in ip_network(one) for one in self.except_)


class _Peer(_Part):
    pod_selector: _Selector | None = None
    namespace_selector: _Selector | None = None
    ip_block: _Block | None = None

    def fits(self, place: Place) -> bool:
        if place.address is not None:
            return self.ip_block is not None and self.ip_block.has(place.address)
        if self.ip_block is not None:
            return False
        near = self.namespace_selector.fits(place.namespace) if self.namespace_selector else place.is_own
        return near and (self.pod_selector is None or self.pod_selector.fits(place.labels))


class _Ports(_Part):
    port: int | None = None
    protocol: str = "TCP"

    def has(self, port: Port) -> bool:
        return self.protocol == port.protocol and self.port in (None, port.number)


class _Rule(_Part):
    from_: tuple[_Peer, ...] = ()
    to: tuple[_Peer, ...] = ()
    ports: tuple[_Ports, ...] = ()

    def admits(self, other: Place, port: Port) -> bool:
        peers = self.from_ or self.to
        near = not peers or any(peer.fits(other) for peer in peers)
        return near and (not self.ports or any(one.has(port) for one in self.ports))


class Policy(_Part):
    """One network policy."""

    pod_selector: _Selector
    policy_types: tuple[str, ...]
    ingress: tuple[_Rule, ...] = ()
    egress: tuple[_Rule, ...] = ()

    def is_about(self, place: Place) -> bool:
        return place.is_own and self.pod_selector.fits(place.labels)


def policies(documents: Sequence[Document]) -> dict[str, Policy]:
    found = of_kind(documents, "NetworkPolicy")
    return {name_of(document): Policy.model_validate(_python_names(spec_of(document))) for document in found}


def may_reach(known: Sequence[Policy], source: Place, target: Place, port: Port) -> bool:
    """Both ends have to agree: the source's policies let it out, and the target's let it in."""
    out = [policy for policy in known if policy.is_about(source) and "Egress" in policy.policy_types]
    into = [policy for policy in known if policy.is_about(target) and "Ingress" in policy.policy_types]
    leaves = not out or any(rule.admits(target, port) for policy in out for rule in policy.egress)
    enters = not into or any(rule.admits(source, port) for policy in into for rule in policy.ingress)
    return leaves and enters


def _python_names(value: object) -> object:
    """``from`` and ``except`` are words of the language."""
    if isinstance(value, dict):
        renamed = {"from": "from_", "except": "except_"}
        return {renamed.get(key, key): _python_names(one) for key, one in cast("dict[str, object]", value).items()}
    return [_python_names(one) for one in value] if isinstance(value, list) else value
