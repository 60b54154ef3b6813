"""The version of the simulator's interface that is spoken here, not of the product."""

UES_VERSION = "0.3.0"
