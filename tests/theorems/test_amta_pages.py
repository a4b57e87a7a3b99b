"""What a window over a store reads: pages per operation (sections 4.3 and 5.1 of the MTA paper).

A page has P nodes of one level and stands for log2 P levels, so the window's levels are
ceil(log n / log P) groups (decision 9). An item is in one page of each group.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np
import pytest

from sash import monoids as m
from sash import stores, swag

PAGE = 64
N = 1 << 15
both = pytest.mark.parametrize("algorithm", [swag.AMTA, swag.LogMTA])


def filled(algorithm: Any, n: int = N) -> tuple[Any, Any]:
    """A window of the numbers 0 to n - 1 in pages of 64; its ledger counts from here on."""
    monoid = m.Sum().of(np.dtype("int64"))
    window = algorithm(monoid, store=stores.open("memory:"), page=PAGE, compiled=True)
    for part in np.split(np.arange(n), n // PAGE):  # a larger batch would cache more
        window.insert_many(part)
    ledger = window._stored.ledger
    ledger.pages_read = ledger.trips = 0
    return window, ledger


def groups(n: int) -> int:
    """How many groups of levels a window of n items has at most."""
    return ceil((log2(n) + 2) / log2(PAGE))


@both
def test_insertions_and_queries_read_nothing(algorithm: Any) -> None:
    window, ledger = filled(algorithm)
    for x in range(500):
        window.insert(x)
        window.query()
    assert ledger.pages_read == 0
    assert window.query() == N * (N - 1) // 2 + 500 * 499 // 2


@both
def test_k_single_evictions_read_each_page_once(algorithm: Any) -> None:
    """k / P pages of the lowest group, k / P^2 of the next, …: amortized 1 / (P - 1) each."""
    window, ledger = filled(algorithm)
    k = 6000
    for _ in range(k):
        window.evict()
    ahead = 4 * groups(N)  # a group has up to four pages here
    assert k / PAGE - ahead <= ledger.pages_read <= k / (PAGE - 1) + ahead
    assert window.query() == (k + N - 1) * (N - k) // 2


@both
@pytest.mark.parametrize("k", [1 << j for j in range(1, 15)] + [N - 100])
def test_a_bulk_eviction_reads_four_pages_per_group_in_one_trip(algorithm: Any, k: int) -> None:
    window, ledger = filled(algorithm)
    window.evict_many(k)
    assert ledger.trips <= 1
    assert ledger.pages_read <= 4 * groups(N)
    assert window.query() == (k + N - 1) * (N - k) // 2


@both
def test_the_pages_of_a_bulk_eviction_grow_with_log_n(algorithm: Any) -> None:
    """Twice the power of two, twice the groups; not twice the items."""
    for power in (10, 13, 16, 19):
        n = 1 << power
        window, ledger = filled(algorithm, n)
        window.evict_many(n // 2)
        assert ledger.pages_read <= 4 * groups(n)
        assert window.query() == (n // 2 + n - 1) * (n // 2) // 2
