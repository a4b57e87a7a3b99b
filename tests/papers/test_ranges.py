"""All ranges of a window at once, by the algorithms that FlatFIT is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.ranges import all_ranges
from sash import swag
from sash.swag.in_order import InOrder
from tests.conformance.cases import affine


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [swag.Recalc, swag.BInt, swag.Reactive, swag.FlatFIT])
def test_each_range_is_its_items_combined(algorithm: type[InOrder]) -> None:
    xs = np.random.default_rng(1).integers(0, 1000, 45)
    for n in (1, 5, 8, 13):
        got = all_ranges(algorithm, affine(), xs, n)()
        for k in range(1, n + 1):
            expected = swag.Recalc(affine(), compiled=False)
            expected.insert_many(xs[-k:])
            assert tuple(got[k - 1]) == expected.query(), (n, k)
