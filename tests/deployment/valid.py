"""Whether manifests fit: Kubernetes's own kinds the current version's schemas, others those that this folder keeps."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import kubernetes_validate  # type: ignore[import-untyped]  # it comes without types
from jsonschema import Draft202012Validator

from tests.deployment.kustomize import Document
from tests.deployment.manifests import name_of

_SCHEMAS = Path(__file__).with_name("schemas")
CUSTOM = {path.stem: path for path in _SCHEMAS.glob("*.json")}


def faults(documents: Iterable[Document]) -> list[str]:
    """What does not fit, a sentence each; unknown fields do not fit either."""
    texts = ((f"{found['kind']} {name_of(found)}", json.dumps(found)) for found in documents)
    return [f"{name}: {fault}" for name, text in texts for fault in _faults_of(text)]


@cache  # most of what one overlay has another one has too
def _faults_of(text: str) -> list[str]:
    document = json.loads(text)
    if (kind := str(document["kind"])) in CUSTOM:
        return [f"{error.json_path}: {error.message}" for error in _custom(kind).iter_errors(document)]
    try:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return [str(error)]
    return []


@cache
def _custom(kind: str) -> Draft202012Validator:
    schema = json.loads(CUSTOM[kind].read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)
