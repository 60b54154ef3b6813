"""Agents of others that bring their own imports."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise("compat.ues", "A Green agent over the package `ues` runs unchanged on our simulator", "seed 004, 12"),
    Promise("compat.apart", "That package is in no wheel or image of the product", "seed 000"),
)
