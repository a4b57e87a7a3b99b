"""How far values are apart: variances, standard deviations, the range."""

from __future__ import annotations

from sash import monoids as m
from sash.aggregations import kinds
from sash.plan.aggregation import Aggregation
from sash.plan.expressions import Input


def variance(column: Input, ddof: int = 1) -> Aggregation:
    """The variance of a sample (ddof=1) or of a population (ddof=0).

    >>> from sash.testing import running
    >>> running(variance("x"), x=[1, 3, 5])
    [None, 2.0, 4.0]
    """
    return kinds.of_numbers("variance", column, m.Var(ddof=ddof))


var_samp = variance


def var_pop(column: Input) -> Aggregation:
    """The variance of a population.

    >>> from sash.testing import running
    >>> running(var_pop("x"), x=[1, 3])
    [0.0, 1.0]
    """
    return variance(column, ddof=0)


def stddev(column: Input, ddof: int = 1) -> Aggregation:
    """The standard deviation of a sample (ddof=1) or of a population (ddof=0).

    >>> from sash.testing import running
    >>> running(stddev("x"), x=[1, 3, 5])
    [None, 1.4142135623730951, 2.0]
    """
    return kinds.of_numbers("stddev", column, m.StdDev(ddof=ddof))


std = stddev_samp = stddev


def stddev_pop(column: Input) -> Aggregation:
    """The standard deviation of a population.

    >>> from sash.testing import running
    >>> running(stddev_pop("x"), x=[1, 3])
    [0.0, 1.0]
    """
    return stddev(column, ddof=0)


def range(column: Input) -> Aggregation:
    """The largest less the smallest.

    >>> from sash.testing import running
    >>> running(range("x"), x=[3, 1, 5])
    [0, 2, 4]
    """
    return kinds.of_numbers("range", column, m.Range(), kinds.like)
