"""Kiln, a local SQL warehouse to develop and test against: ``python -m mortar.kiln``."""
