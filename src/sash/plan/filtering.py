"""Filtering: what a filtered state does with the rows that do not pass its condition.

identity  all rows are read, the condition as a further column, and the state's monoid lifts a row
          that does not pass to the identity. Windows stay those of the frame. Counts count the
          rows that pass.
left out  rows that do not pass are not read, and windows are numbered among the others.
no rows   on a stream, where partials are kept: the partial of a row that does not pass is one of
          no rows.

To number windows among the rows that pass takes longer than a combine with the identity, where a
partial is one or two numbers. Where partials are larger, it takes less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from sash.kernel.layout import Layout
from sash.monoids.monoid import Monoid
from sash.monoids.variants import where_true
from sash.swag.raising import function_may_raise
from sash.windows.frames import Frame, OwnBounds

if TYPE_CHECKING:
    from sash.plan.plan import Options, State

Filtering = Literal["identity", "left out", "no rows"]

FEW = 2
"""Numbers of a partial, up to which rows that do not pass are lifted, too."""


def filtered(state: State, condition: str | None, frame: Frame, options: Options) -> State:
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
    monoid = state.monoid
    numbers = state.kind == "combine" and state.typed and state.slices is None
    if not numbers or isinstance(frame, OwnBounds) or monoid is None or not _lifts_all(monoid):
        return left_out
    own = where_true(monoid, len(state.columns))
    return replace(left_out, monoid=own, filtering="identity")


def _lifts_all(monoid: Monoid) -> bool:
    """Whether rows that do not pass are lifted, too: to the identity."""
    layout = Layout.of(monoid.identity, monoid.dtype)
    if layout is None or layout.length is not None or len(layout.leaves) > FEW:
        return False
    if function_may_raise(monoid.lift):  # is called with all rows
        return False
    return not function_may_raise(monoid.lower)  # at windows in which no row passes
