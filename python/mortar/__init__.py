"""Mortar carries rows out of a SQL warehouse."""

__version__ = "0.1.0"
