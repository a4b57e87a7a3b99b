"""Any Python function over the values of a window: called for each row, O(window) each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.bounds import Bounds
from sash.engine.columns import answers_as
from sash.engine.inputs import Inputs, ObjectInputs
from sash.engine.pieces import Pieces
from sash.kernel.calls import Loop, compiled_calls
from sash.plan.plan import Plan, State
from sash.plan.types import number_types

WORTH_COMPILING = 1 << 20
"""Values that a function is called with from which on compiling it is worth a try."""


class WindowFunction:
    """Calls a function with the values that are not null, as arrays, from older to younger."""

    def __init__(self, plan: Plan, state: State) -> None:
        [asked] = state.asked
        assert asked.function is not None
        kinds = [plan.schema.field(name).type for name in state.columns]
        self._function, self._result = asked.function, asked.result(kinds)
        self._dtypes = number_types(kinds)
        self._inputs: Any = (ObjectInputs if self._dtypes is None else Inputs)(kinds)
        self._loop: Loop | None = None
        self._tried = self._dtypes is None or self._result != pa.float64()
        self._reached = 0

    def take(self, columns: list[pa.Array]) -> None:
        self._inputs.take(columns)

    def answer(self, bounds: Bounds | Pieces) -> list[pa.Array]:
        known = self._inputs.known(bounds)
        self._reached = int(known.lo[-1])
        if not self._tried and int(known.sizes.sum()) >= WORTH_COMPILING:
            assert self._dtypes is not None
            self._loop, self._tried = compiled_calls(self._function, self._dtypes), True
        if self._loop is not None and isinstance(known, Bounds):
            return [self._compiled(self._loop, known)]
        return [answers_as(self._called(known), None, self._result)]

    def _compiled(self, loop: Loop, known: Bounds) -> pa.Array:
        out, base = np.zeros(len(known.lo)), self._inputs.base
        arrays = [np.ascontiguousarray(a) for a in self._arrays()]
        loop(*arrays, known.lo - base, known.hi - base, out)
        return pa.array(out, mask=known.sizes == 0)

    def _called(self, known: Bounds | Pieces) -> list[Any]:
        parts = known.parts if isinstance(known, Pieces) else (known,)
        arrays, base = self._arrays(), self._inputs.base
        found: list[Any] = []
        for i, size in enumerate(known.sizes.tolist()):
            if not size:
                found.append(None)
                continue
            rows = np.concatenate([np.arange(p.lo[i], p.hi[i]) for p in parts]) - base
            one = len(parts) == 1
            where: Any = slice(int(rows[0]), int(rows[-1]) + 1) if one else rows
            answer = self._function(*(array[where] for array in arrays))
            found.append(answer.item() if isinstance(answer, np.generic) else answer)
        return found

    def _arrays(self) -> tuple[np.ndarray, ...]:
        """The columns as arrays: of numbers, or of objects."""
        values = self._inputs.values
        if not isinstance(values, list):
            return values if isinstance(values, tuple) else (values,)
        columns = zip(*values, strict=True) if values and isinstance(values[0], tuple) else [values]
        arrays = []
        for column in columns:
            array = np.empty(len(values), object)
            array[:] = column
            arrays.append(array)
        return tuple(arrays)

    def forget(self, row: int) -> None:
        self._inputs.forget(row, self._reached)
