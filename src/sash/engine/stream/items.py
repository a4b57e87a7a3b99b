"""Items: partials of a state over some rows, as columns of values.

A single row is an item once it is lifted; so are the partial of a bulk's rows of a key, that of a
slice, and that of the window that a key has so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa


@dataclass
class Items:
    """Partials of one state: how many rows each is of, and its numbers, or its object.

    `values`: where the answer is the value of some row, that value for each item.
    """

    rows: np.ndarray
    leaves: list[np.ndarray]
    objects: list[Any] | None = None
    values: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: np.ndarray) -> Items:
        """Some of the items, in another order."""
        return Items(
            self.rows[places],
            [leaf[places] for leaf in self.leaves],
            None if self.objects is None else [self.objects[i] for i in places.tolist()],
            None if self.values is None else self.values.take(pa.array(places)),
        )

    def slice(self, first: int, stop: int) -> Items:
        """Neighbouring items; nothing is copied."""
        return Items(
            self.rows[first:stop],
            [leaf[first:stop] for leaf in self.leaves],
            None if self.objects is None else self.objects[first:stop],
            None if self.values is None else self.values.slice(first, stop - first),
        )

    @staticmethod
    def concat(parts: Sequence[Items]) -> Items:
        """The items of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        listed = None if first.objects is None else [x for p in parts for x in p.objects or ()]
        values = None
        if first.values is not None:
            values = pa.concat_arrays([p.values for p in parts])
        return Items(
            np.concatenate([p.rows for p in parts]),
            [np.concatenate(leaves) for leaves in zip(*(p.leaves for p in parts), strict=True)],
            listed,
            values,
        )


def spread(items: Items, places: np.ndarray, others: Items) -> Items:
    """The others, which are of no rows, with items at some places instead."""
    others.rows[places] = items.rows
    for whole, leaf in zip(others.leaves, items.leaves, strict=True):
        whole[places] = leaf
    if items.objects is not None and others.objects is not None:
        for place, x in zip(places.tolist(), items.objects, strict=True):
            others.objects[place] = x
    if items.values is not None:
        numbers = np.full(len(others), -1)
        numbers[places] = np.arange(len(items))
        others.values = items.values.take(pa.array(numbers, mask=numbers < 0))
    return others


def sums(values: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """The sums of the values from each `lo` up to its `hi`."""
    total = np.append(0, np.cumsum(values))
    return total[hi] - total[lo]
