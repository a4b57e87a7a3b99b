"""Sash keeps aggregates over sliding windows up to date, exactly, at a flat cost a row."""

from sash import monoids, swag
from sash.monoids import Monoid

__version__ = "0.1.0"

__all__ = ["Monoid", "monoids", "swag"]
