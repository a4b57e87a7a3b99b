"""The registry: one line per algorithm; the conformance suite runs over it."""

from __future__ import annotations

from typing import Any

from sash.swag import snapshot
from sash.swag.amta import AMTA
from sash.swag.b_int import BInt
from sash.swag.daba import DABA
from sash.swag.daba_lite import DABALite
from sash.swag.fiba import FiBA
from sash.swag.flat_fit import FlatFIT
from sash.swag.in_order import InOrder
from sash.swag.log_mta import LogMTA
from sash.swag.reactive import Reactive
from sash.swag.recalc import Recalc
from sash.swag.subtract_on_evict import SubtractOnEvict
from sash.swag.two_stacks import TwoStacks
from sash.swag.two_stacks_lite import TwoStacksLite
from sash.swag.window import Window

IN_ORDER: tuple[type[InOrder], ...] = (
    Recalc,
    SubtractOnEvict,
    TwoStacks,
    TwoStacksLite,
    DABA,
    DABALite,
    Reactive,
    BInt,
    FlatFIT,
    LogMTA,
    AMTA,
)

ANY_ORDER: tuple[type[Window], ...] = (FiBA,)

ALGORITHMS: dict[str, type[Window]] = {
    **{cls.__name__: cls for cls in IN_ORDER},
    **{cls.__name__: cls for cls in ANY_ORDER},
}


def restore(blob: bytes, monoid: Any, *, allow_pickle: bool = False, **options: Any) -> Any:
    """The window that `snapshot()` gave as bytes, over the same monoid (and policy=…).

    `SnapshotError` if the bytes are damaged, or a snapshot of something else. Numbers, text and
    collections of them are read as data, and nothing is run. Partials of other types are
    pickled, and a pickle can run any code: they are read only with `allow_pickle=True`, which is
    for snapshots from a place that you trust (`sash.stores.PickledState` without it).

    >>> from sash import monoids as m, swag
    >>> w = swag.DABALite(m.Max())
    >>> w.insert_many([3, 1, 2])
    >>> swag.restore(w.snapshot(), m.Max()).query()
    3
    """
    state = snapshot.read(blob, monoid, allow_pickle)
    algorithm = state.get("algorithm")
    if algorithm not in ALGORITHMS:
        raise snapshot.SnapshotError(
            f"a snapshot of algorithm {algorithm!r}, which this version does not have; "
            f"it has {', '.join(ALGORITHMS)}"
        )
    window = ALGORITHMS[algorithm](monoid, **options)
    window.load(state)
    return window
