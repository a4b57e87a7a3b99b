"""What is combined: `Monoid` and the catalogue."""

from sash.monoids.collections import Collect, Concat
from sash.monoids.extremes import ArgMax, ArgMin, Max, MaxCount, Min, MinCount
from sash.monoids.moments import StdDev, Var
from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.sums import Count, GeoMean, Mean, Product, Sum

__all__ = [
    "ArgMax",
    "ArgMin",
    "Collect",
    "Concat",
    "Count",
    "GeoMean",
    "Max",
    "MaxCount",
    "Mean",
    "Min",
    "MinCount",
    "Monoid",
    "Product",
    "StdDev",
    "Sum",
    "Var",
    "as_monoid",
]
