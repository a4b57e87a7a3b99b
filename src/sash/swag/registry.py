"""The registry: every algorithm, a line each; the conformance suite runs over it."""

from __future__ import annotations

from typing import Any

from sash.swag import snapshot
from sash.swag.amta import AMTA
from sash.swag.b_int import BInt
from sash.swag.daba import DABA
from sash.swag.daba_lite import DABALite
from sash.swag.fiba import FiBA
from sash.swag.flat_fit import FlatFIT
from sash.swag.log_mta import LogMTA
from sash.swag.reactive import Reactive
from sash.swag.recalc import Recalc
from sash.swag.subtract_on_evict import SubtractOnEvict
from sash.swag.two_stacks import TwoStacks
from sash.swag.two_stacks_lite import TwoStacksLite
from sash.swag.window import InOrder, Window

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


def restore(blob: bytes, monoid: Any, **options: Any) -> Any:
    """The window that `snapshot()` gave as bytes, over the same monoid (and policy=…)."""
    header, payload = snapshot.read(blob, monoid)
    if header["algorithm"] not in ALGORITHMS:
        raise snapshot.SnapshotError(
            f"a snapshot of algorithm {header['algorithm']!r}, which this version does not have; "
            f"it has {', '.join(ALGORITHMS)}"
        )
    window = ALGORITHMS[header["algorithm"]](monoid, **options)
    window._set_state(header, payload)
    return window
