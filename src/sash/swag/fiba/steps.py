"""Steps: the algorithm bound to a monoid, plain and, on demand, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernel import Layout
from sash.kernel.bind import bind_plain
from sash.kernel.compiled import Kernel, Target, compiled, compiled_or_none
from sash.monoids.monoid import Monoid
from sash.swag.fiba import aggregate, evict, insert, journal, nodes, ranges
from sash.swag.fiba.tree import PLACES, Cursors, Tree
from sash.swag.raising import may_raise

KEPT = 64  # monoids whose steps are kept
_made: dict[int, Steps] = {}


def steps_of(monoid: Monoid, layout: Layout | None) -> Steps:
    """The steps of a monoid, from the last time: binding takes 1 ms, and keys are many."""
    found = _made.get(id(monoid))  # it is alive while its steps are kept
    if found is None:
        while len(_made) >= KEPT:
            del _made[next(iter(_made))]
        found = _made[id(monoid)] = Steps(monoid, layout)
    return found


class Steps:
    """The plain steps as attributes, and the compiled drivers by input types."""

    def __init__(self, monoid: Monoid, layout: Layout | None) -> None:
        self.monoid, self.layout = monoid, layout
        self.bind = bind_plain(monoid, {})
        self.new_leaf, self.start = self.bind(nodes.new_leaf), self.bind(aggregate.start)
        self.begin, self.undo = self.bind(journal.begin), self.bind(journal.undo)
        self.append, self.insert = self.bind(insert.append), self.bind(insert.insert)
        self.evict, self.bulk_evict = self.bind(evict.evict), self.bind(evict.bulk_evict)
        self.ready, self.query = self.bind(aggregate.ready), self.bind(aggregate.query)
        self.size, self.range_query = self.bind(aggregate.size), self.bind(ranges.range_query)
        self.careful = may_raise(monoid)
        self.kernels: dict[Any, Kernel | None] = {}

    def compile(
        self, driver: Any, inputs: tuple[np.dtype, ...], insist: bool | None
    ) -> Kernel | None:
        """The compiled driver, or None where there is none."""
        if self.layout is None:
            return None
        target = Target(self.monoid, self.layout, {}, Cursors, Tree, inputs=inputs, places=PLACES)
        make = compiled if insist else compiled_or_none
        kernel = self.kernels[driver, inputs] = make(driver, target)
        return kernel
