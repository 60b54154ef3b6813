"""The product's version, which a process can read without an installed package."""

VERSION = "0.1.0"
