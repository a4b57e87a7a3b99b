"""Pictures: see a window move, step by step.

    sash.show(swag.DABALite(m.Max()), [3, 1, 4, 1, 5, 9, 2, 6], size=4)

A picture is a recording of the real algorithm over partials that know their rows (`trace.py`),
drawn by a script in the page itself (`layout.js`, `draw.js`, `export.js`, `picture.js`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sash.monoids.recipe import whole
from sash.pictures.picture import Picture
from sash.pictures.recording import Recorder
from sash.plan.expressions import Expression
from sash.swag.fiba import FiBA
from sash.swag.window import Window

__all__ = ["Picture", "show"]

ROWS = 40


def show(
    what: Any,
    values: Sequence[Any] | None = None,
    *,
    size: int | None = None,
    times: Sequence[Any] | None = None,
    rows: int = ROWS,
    **aggregations: Expression,
) -> Picture:
    """A window that moves, as a picture to step through: rows, what is kept, what is combined.

    `what` is an empty window of `sash.swag`. Each of `values` is inserted (for FiBA at its one of
    `times`), the window is cut down to the last `size` items, and asked. Without values the
    picture is empty, and its calls are recorded: it has the window's own methods.

    `what` may be `sash.windowed(…)` too, with aggregations as `agg` takes them. Then it shows the
    first `rows` rows of the first key: the window of each row, and the algorithm that the plan has
    chosen; after `every`, the slices that windows share.

    >>> from sash import monoids as m, swag
    >>> show(swag.DABALite(m.Max()), [3, 1, 4, 1, 5], size=3)
    <picture of DABALite of Max, 12 steps: .save('window.html')>
    >>> picture = show(swag.FiBA(m.Sum(), min_arity=2))
    >>> picture.bulk_insert([1, 4, 2], [10, 40, 20]); picture.bulk_evict(1); picture.query()
    60
    """
    if isinstance(what, Window):
        if aggregations:
            raise TypeError(f"show: {', '.join(aggregations)} are for sash.windowed(…)")
        return _of_window(what, values, size, times)
    from sash.pictures.frames import of_states
    from sash.pictures.rows import Shown
    from sash.pictures.slices import of_slices
    from sash.tables import Windowed

    if not isinstance(what, Windowed):
        raise TypeError(
            "show takes an empty window of sash.swag, as in swag.DABALite(m.Max()), or "
            f"sash.windowed(…), not {type(what).__name__}"
        )
    if values is not None or size is not None or times is not None:
        raise TypeError("show: values, size and times are for windows of sash.swag")
    shown = Shown(what, aggregations, rows)
    return Picture(of_states(shown) if shown.query.every is None else of_slices(shown))


def _of_window(window: Any, values: Any, size: int | None, times: Any) -> Picture:
    if values is None:
        recorder = Recorder(window)
        return Picture([recorder.recording], recorder)
    values = list(values)
    size = None if size is None else whole("show", "size", size, 1)
    if isinstance(window, FiBA) and times is None:
        times = range(len(values))
    if times is not None:
        times = list(times)
        if not isinstance(window, FiBA):
            raise TypeError("show: times are for FiBA, the only algorithm for rows out of order")
        if len(times) != len(values):
            raise ValueError(f"show: {len(times)} times for {len(values)} values")
    lead = f"{len(values)} values" + (f", the last {size} in the window" if size else "")
    recorder = Recorder(_typed(window, values), lead)
    recorder.slide(values, size, times)
    return Picture([recorder.recording], recorder)


def _typed(window: Any, values: list[Any]) -> Any:
    """A window that needs an inverse, over the variant of its monoid for whole numbers."""
    monoid = getattr(window, "monoid", None)
    if monoid is None or monoid.inverse is not None or not values:
        return window
    typed = monoid.of(np.asarray(values).dtype)
    needs = type(window).__name__ == "SubtractOnEvict"
    return type(window)(typed, **window.options) if needs else window
