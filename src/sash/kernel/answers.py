"""Answers: what compiled code writes, one for each item."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sash.kernel.compiled import Answer
from sash.kernel.layout import Layout

Allocate = Callable[[np.dtype, int], "np.ndarray | Sequence[np.ndarray]"]
"""Gives memory for n answers of a dtype: an array, or one for each part of a tuple."""


def new_array(dtype: np.dtype, n: int) -> np.ndarray:
    """An array for n answers."""
    return np.empty(n, dtype)


class Answers:
    """Memory for `n` answers, and which of their numbers are null.

    `out`: an array for them; or, for tuples, an array for each part.
    """

    def __init__(
        self, answer: Answer | None, n: int, out: np.ndarray | Sequence[np.ndarray] | None = None
    ) -> None:
        assert answer is not None
        self._answer = answer
        self.values: Any = np.empty(n, answer.layout.array_dtype) if out is None else out
        if isinstance(self.values, np.ndarray):
            self._steps = tuple(_places(answer.layout, self.values, n))
        else:
            pairs = zip(answer.layout.parts or (), self.values, strict=True)
            self._steps = tuple(step for part, values in pairs for step in _places(part, values, n))
        self.nulls = np.zeros((n if any(answer.nullable) else 0, len(answer.nullable)), np.uint8)

    @property
    def address(self) -> tuple[int, ...]:
        """As compiled code takes it: `sash.kernel.words.Outputs`."""
        return *self._steps, self.nulls.ctypes.data

    def result(self) -> Any:
        """An array, with a name per field for tuples; masked where some are null."""
        assert isinstance(self.values, np.ndarray)
        if not self.nulls.any():
            return self._named(self.values)
        if self._answer.layout.parts is None:
            return np.ma.array(self.values, mask=self.nulls[:, 0].view(np.bool_))
        return [_with_nulls(x, iter(null)) for x, null in zip(self.values.tolist(), self.nulls)]

    def arrays(self) -> tuple[Any, np.ndarray | None]:
        """The values, and a column of nulls per number, if there are any.

        For tuples, an array with a name per field, or an array for each part, as `out` was.
        """
        nulls = self.nulls.view(np.bool_)
        return self._named(self.values), nulls if nulls.any() else None

    def _named(self, values: Any) -> Any:
        is_tuple = isinstance(values, np.ndarray) and values.dtype.names is not None
        if self._answer.names is None or not is_tuple:
            return values
        dtype = values.dtype
        fields = [dtype.fields[name] for name in dtype.names]
        return values.view(
            {
                "names": list(self._answer.names),
                "formats": [f[0] for f in fields],
                "offsets": [f[1] for f in fields],
                "itemsize": dtype.itemsize,
            }
        )


def _places(layout: Layout, values: np.ndarray, n: int) -> Iterator[int]:
    """Where the first of each number of n values is, and the step from one to the next."""
    dtype = layout.array_dtype
    fits = values.dtype == dtype.base and values.shape == (n, *dtype.shape)
    if not (fits and values.flags.c_contiguous and values.flags.writeable):
        raise TypeError(f"out must be a contiguous array of {n} {dtype} that can be written to")
    begin, width = values.ctypes.data, layout.width
    for offset in layout.offsets:
        yield begin + offset
        yield width


def _with_nulls(value: Any, nulls: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_with_nulls(v, nulls) for v in value)
    return None if next(nulls) else value
