"""Kiln, a local SQL warehouse to develop and test against: ``python -m mortar.kiln``."""

INSTALL = "pip install 'mortar-sql[kiln]', or pip install '.[kiln]' in a clone of Mortar"
"""How to get what Kiln needs, for messages."""
