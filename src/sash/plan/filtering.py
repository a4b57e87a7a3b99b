"""Filtering: what a filtered state does with the rows that do not pass its condition.

identity  all rows are read, the condition as a further column, and the partial of a row that does
          not pass is the identity. Windows stay those of the frame. Counts count the rows that
          pass.
left out  rows that do not pass are not read, and windows are numbered among the others.
no rows   on a stream, where partials are kept: the partial of a row that does not pass is one of
          no rows.

To number windows among the rows that pass takes longer than a combine with the identity, where a
partial is one or two numbers, or three that are added. Where partials are larger, it takes less.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from sash.kernel.layout import Layout
from sash.monoids.captured import divides
from sash.monoids.monoid import Monoid
from sash.monoids.variants import where_true
from sash.plan.types import number_types
from sash.swag.raising import function_may_raise, returns
from sash.windows.frames import Frame, OwnBounds

if TYPE_CHECKING:
    from sash.plan.plan import Options, State

Filtering = Literal["identity", "left out", "no rows"]

FEW = 2
"""Numbers of a partial, up to which rows that do not pass count as the identity; one more where
`combine` does not divide, which takes longer than to number windows."""


def filtered(
    state: State, condition: str | None, frame: Frame, options: Options, schema: pa.Schema
) -> State:
    """The state of the rows for which a condition is true; of all rows, where there is none.

    A stream keeps partials under the names of their columns and monoids: they stay what they are.
    """
    if condition is None:
        return state
    left_out = replace(state, condition=condition, filtering="left out")
    if options.rows == "stream":
        return left_out
    if state.kind in ("count", "known"):
        return replace(left_out, kind="known", filtering="identity")
    dtypes = number_types([schema.field(name).type for name in state.columns])
    numbers = state.kind == "combine" and state.typed and state.slices is None
    if not numbers or isinstance(frame, OwnBounds) or state.monoid is None or dtypes is None:
        return left_out
    whole = options.rows == "whole" and state.pieces == 1
    own = _with_nothing(state.monoid, dtypes, whole)
    return left_out if own is None else replace(left_out, monoid=own, filtering="identity")


@functools.lru_cache(maxsize=256)
def _with_nothing(monoid: Monoid, dtypes: tuple[np.dtype, ...], whole: bool) -> Monoid | None:
    """The monoid over all rows, with those that do not pass; None: it has to be left alone.

    `whole`: whether windows in which no row passes can be left out, as no row is to be forgotten.
    """
    layout = Layout.of(monoid.identity, monoid.dtype)
    if layout is None or layout.length is not None or len(layout.leaves) > FEW + 1:
        return None
    if len(layout.leaves) > FEW and divides(monoid.combine):
        return None
    if function_may_raise(monoid.lower) and not whole:
        return None
    if function_may_raise(monoid.combine) and not returns(monoid.combine, *[monoid.identity] * 2):
        return None
    instead = None
    if function_may_raise(monoid.lift):  # is called with an item in the place of one left out
        instead = next((x for x in (1, 0) if returns(monoid.lift, _item(x, dtypes))), None)
        if instead is None:
            return None
    return where_true(monoid, len(dtypes), instead)


def _item(x: int, dtypes: tuple[np.dtype, ...]) -> Any:
    """An item of columns of numbers, all of them `x`."""
    parts = tuple({"b": bool, "f": float}.get(dtype.kind, int)(x) for dtype in dtypes)
    return parts[0] if len(parts) == 1 else parts
