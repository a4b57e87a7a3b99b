"""Monoids: `Monoid` and the catalogue."""

from sash.monoids.bins import BinCounts
from sash.monoids.categories import ByCategory, Histogram, MedianDeviation, Mode, Percentile
from sash.monoids.collections import Collect, Concat
from sash.monoids.comoments import Correlation, Covariance
from sash.monoids.datasketch import FrequentItems, HllSketch, KllSketch, ThetaSketch
from sash.monoids.decay import DecayedCount, DecayedMean, DecayedSum
from sash.monoids.distinct import CollectDistinct, CountDistinct, Distinct, LastDistinct
from sash.monoids.ends import M4, First, FirstN, Last, LastN
from sash.monoids.extremes import ArgMax, ArgMin, Max, MaxCount, Min, MinCount, TopK
from sash.monoids.join import column, join
from sash.monoids.moments import Kurtosis, Skewness, StdDev, StdError, Var
from sash.monoids.monoid import Monoid, as_monoid
from sash.monoids.ordered import Ordered
from sash.monoids.quantiles import Quantiles
from sash.monoids.regression import LinearRegression, Regression
from sash.monoids.runs import LongestRun, RunLength
from sash.monoids.sketches import (
    Bloom,
    CountMin,
    HyperLogLog,
    bloom_contains,
    countmin_estimate,
)
from sash.monoids.spread import Range, RelativeVariation
from sash.monoids.sums import Count, CountIf, GeoMean, Mean, Product, Sum, WeightedMean

CATALOGUE = (
    Count, Sum, Product, Min, Max, Mean, GeoMean, Var, StdDev, Range, MaxCount, MinCount,
    ArgMax, ArgMin, First, Last, FirstN, LastN, TopK, M4, Collect, CollectDistinct,
    CountDistinct, Concat, Bloom, CountMin, HyperLogLog, Quantiles, LongestRun,
    RelativeVariation, LinearRegression, ByCategory, Histogram, Mode, Percentile, MedianDeviation,
    StdError, Skewness, Kurtosis, Covariance, Correlation, Regression, WeightedMean,
    Distinct, LastDistinct, Ordered, BinCounts, CountIf, RunLength,
    DecayedSum, DecayedMean, DecayedCount, HllSketch, ThetaSketch, KllSketch, FrequentItems,
)  # fmt: skip
"""Every factory of a monoid: one line here, and the laws are checked on it."""

__all__ = [
    "CATALOGUE",
    "M4",
    "ArgMax",
    "ArgMin",
    "BinCounts",
    "Bloom",
    "ByCategory",
    "Collect",
    "CollectDistinct",
    "Concat",
    "Correlation",
    "Count",
    "CountDistinct",
    "CountIf",
    "CountMin",
    "Covariance",
    "DecayedCount",
    "DecayedMean",
    "DecayedSum",
    "Distinct",
    "First",
    "FirstN",
    "FrequentItems",
    "GeoMean",
    "Histogram",
    "HllSketch",
    "HyperLogLog",
    "KllSketch",
    "Kurtosis",
    "Last",
    "LastDistinct",
    "LastN",
    "LinearRegression",
    "LongestRun",
    "Max",
    "MaxCount",
    "Mean",
    "MedianDeviation",
    "Min",
    "MinCount",
    "Mode",
    "Monoid",
    "Ordered",
    "Percentile",
    "Product",
    "Quantiles",
    "Range",
    "Regression",
    "RelativeVariation",
    "RunLength",
    "Skewness",
    "StdDev",
    "StdError",
    "Sum",
    "ThetaSketch",
    "TopK",
    "Var",
    "WeightedMean",
    "as_monoid",
    "bloom_contains",
    "column",
    "countmin_estimate",
    "join",
]
