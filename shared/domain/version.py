"""The product's version, where a process can read it without being an installed package."""

VERSION = "0.1.0"
