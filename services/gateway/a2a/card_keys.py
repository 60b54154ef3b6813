"""The keys that the agent card is signed with (JWS, RFC 7515, over the card's canonical JSON, RFC 8785)."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256

from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import ProtectedHeader, create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from jwt.algorithms import ECAlgorithm
from jwt.utils import base64url_encode
from pydantic import JsonValue

JWKS_PATH = "/.well-known/jwks.json"
_BLOCK = re.compile(r"-----BEGIN ([A-Z ]+)-----.+?-----END \1-----", re.DOTALL)
_THUMBPRINT = ("crv", "kty", "x", "y")  # what RFC 7638 hashes of such a key


class BadCardKeys(ValueError):
    """What was given is no list of keys; the message says what it must be, and tells nothing of a key."""


class CardKeys:
    """The first key signs; all are published, so that cards which an older one signed can still be verified."""

    def __init__(self, signing: EllipticCurvePrivateKey, retired: Sequence[EllipticCurvePublicKey], url: str) -> None:
        """``url``: where this agent is reached, as its card says."""
        self._published = [_as_jwk(key) for key in (signing.public_key(), *retired)]
        kid, jku = self._published[0]["kid"], url.rstrip("/") + JWKS_PATH
        header = ProtectedHeader(alg="ES256", typ="JOSE", kid=kid, jku=jku)
        pem = signing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._sign = create_agent_card_signer(pem, header)

    @property
    def published(self) -> dict[str, JsonValue]:
        """A JSON Web Key Set (RFC 7517)."""
        return {"keys": [dict[str, JsonValue](key) for key in self._published]}

    def sign(self, card: AgentCard) -> AgentCard:
        """The same card with one signature, in place of any that it had."""
        signed = AgentCard()
        signed.CopyFrom(card)
        del signed.signatures[:]
        return self._sign(signed)


def read_card_keys(pem: str, url: str) -> CardKeys:
    """Keys in PEM, the newest first: it must be private, of older ones their public part is enough.

    Raises ``BadCardKeys``.
    """
    blocks = [found[0] for found in _BLOCK.finditer(pem)]
    try:
        signing, *older = [_read_key(block) for block in blocks]
    except (ValueError, TypeError) as error:
        raise BadCardKeys("it must hold EC keys of the curve P-256 in PEM, without a password") from error
    if not isinstance(signing, EllipticCurvePrivateKey):
        raise BadCardKeys("its first key signs, and must be a private one")
    retired = [key.public_key() if isinstance(key, EllipticCurvePrivateKey) else key for key in older]
    return CardKeys(signing, retired, url)


def _read_key(block: str) -> EllipticCurvePrivateKey | EllipticCurvePublicKey:
    is_public = block.startswith("-----BEGIN PUBLIC")
    key = load_pem_public_key(block.encode()) if is_public else load_pem_private_key(block.encode(), None)
    if not isinstance(key, EllipticCurvePrivateKey | EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
        raise ValueError("no key of that curve")
    return key


def _as_jwk(key: EllipticCurvePublicKey) -> dict[str, str]:
    known = ECAlgorithm.to_jwk(key, as_dict=True)
    named = json.dumps({name: known[name] for name in _THUMBPRINT}, separators=(",", ":"), sort_keys=True)
    kid = base64url_encode(sha256(named.encode()).digest()).decode()
    return {**{name: str(known[name]) for name in _THUMBPRINT}, "kid": kid, "use": "sig", "alg": "ES256"}
