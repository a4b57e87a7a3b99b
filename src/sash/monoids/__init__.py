"""What is combined: `Monoid` and the catalogue."""

from sash.monoids.monoid import Monoid, as_monoid

__all__ = ["Monoid", "as_monoid"]
