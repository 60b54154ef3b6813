"""Where what is audited stands."""

from tests.deployment.dockerfile import ROOT

LOCKS = ROOT / "locks"
AUDIT_FILE = ROOT / "audit.toml"
