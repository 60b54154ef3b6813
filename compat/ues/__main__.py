"""``python -m ues server``."""

from ues.cli import entry

entry()
