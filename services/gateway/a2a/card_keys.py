"""The keys that the agent card is signed with (JWS, RFC 7515, over the card's canonical JSON, RFC 8785)."""

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256

from a2a.compat.v0_3.types import AgentCard as OldCard
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, EllipticCurvePublicKey
from jwt import api_jws
from jwt.algorithms import ECAlgorithm
from jwt.utils import base64url_encode
from pydantic import JsonValue

JWKS_PATH = "/.well-known/jwks.json"
_PEM_BLOCK_PATTERN = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)
_THUMBPRINT_FIELDS = ("crv", "kty", "x", "y")  # what RFC 7638 hashes of such a key


class BadCardKeys(ValueError):
    """A text holds no usable keys; the message says which keys are needed, and shows nothing of the text."""


class CardKeys:
    """Signs the card with one key, and publishes it with retired keys, so that older signatures stay verifiable."""

    def __init__(self, signing: EllipticCurvePrivateKey, retired: Sequence[EllipticCurvePublicKey], url: str) -> None:
        """``url``: the agent's URL, below which the keys are published."""
        self._published = [_convert_public_key_to_jwk(key) for key in (signing.public_key(), *retired)]
        kid, jku = self._published[0]["kid"], url.rstrip("/") + JWKS_PATH
        header = ProtectedHeader(alg="ES256", typ="JOSE", kid=kid, jku=jku)
        pem = signing.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self._sign = create_agent_card_signer(pem, header)
        self._key = signing
        self._header = header

    @property
    def public_key_set(self) -> dict[str, JsonValue]:
        """The public keys as a JSON Web Key Set (RFC 7517)."""
        return {"keys": [dict[str, JsonValue](key) for key in self._published]}

    def sign(self, card: AgentCard) -> AgentCard:
        """A copy of the card with one signature, which replaces any that it had."""
        signed = AgentCard()
        signed.CopyFrom(card)
        del signed.signatures[:]
        return self._sign(signed)

    def sign_0_3(self, card: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The card of protocol 0.3 with two signatures, since verifiers of 0.3 disagree on the canonical form.

        One signs the card's canonical JSON (RFC 8785), the other the form that the official library of 0.3 produces.
        """
        unsigned = {name: value for name, value in card.items() if name != "signatures"}
        canonical_json = json.dumps(unsigned, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        fields = OldCard.model_validate(unsigned).model_dump(exclude_defaults=True, exclude_none=True, by_alias=True)
        library_json = json.dumps(_drop_empty_values(fields), separators=(",", ":"), sort_keys=True)
        return {**unsigned, "signatures": [self._sign_payload(payload) for payload in (canonical_json, library_json)]}

    def _sign_payload(self, payload: str) -> dict[str, JsonValue]:
        token = api_jws.encode(payload.encode(), self._key, self._header["alg"], dict(self._header))
        protected, _, signature = token.split(".")
        return {"protected": protected, "signature": signature}


def parse_card_keys(pem: str, url: str) -> CardKeys:
    """Parse keys in PEM, the newest first: the first must be a private key, older ones may be public keys.

    ``url``: the agent's URL. Raises ``BadCardKeys``.
    """
    blocks = [match[0] for match in _PEM_BLOCK_PATTERN.finditer(pem)]
    try:
        signing, *older = [_parse_pem_key(block) for block in blocks]
    except (ValueError, TypeError) as error:
        raise BadCardKeys("it must hold EC keys of the curve P-256 in PEM, without a password") from error
    if not isinstance(signing, EllipticCurvePrivateKey):
        raise BadCardKeys("its first key signs, and must be a private one")
    retired = [key.public_key() if isinstance(key, EllipticCurvePrivateKey) else key for key in older]
    return CardKeys(signing, retired, url)


def _parse_pem_key(block: str) -> EllipticCurvePrivateKey | EllipticCurvePublicKey:
    is_public = block.startswith("-----BEGIN PUBLIC")
    key = (
        serialization.load_pem_public_key(block.encode())
        if is_public
        else serialization.load_pem_private_key(block.encode(), None)
    )
    if not isinstance(key, EllipticCurvePrivateKey | EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise ValueError("no key of that curve")
    return key


def _drop_empty_values(value: object) -> object:
    if isinstance(value, dict):
        cleaned = {name: _drop_empty_values(item) for name, item in value.items()}
        return {name: item for name, item in cleaned.items() if item is not None} or None
    if isinstance(value, list):
        return [item for item in map(_drop_empty_values, value) if item is not None] or None
    return None if value == "" else value


def _convert_public_key_to_jwk(key: EllipticCurvePublicKey) -> dict[str, str]:
    jwk = ECAlgorithm.to_jwk(key, as_dict=True)
    fields = {name: str(jwk[name]) for name in _THUMBPRINT_FIELDS}
    hashed = json.dumps(fields, separators=(",", ":"), sort_keys=True)
    kid = base64url_encode(sha256(hashed.encode()).digest()).decode()
    return {**fields, "kid": kid, "use": "sig", "alg": "ES256"}
