"""Answers: what compiled code writes, one for each item."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernel.compiled import Answer


class Answers:
    """Room for `n` answers, and which of their numbers are null."""

    def __init__(self, answer: Answer | None, n: int, out: np.ndarray | None = None) -> None:
        assert answer is not None
        self._answer = answer
        dtype = answer.layout.array_dtype
        self.values = np.empty(n, dtype) if out is None else out
        fits = self.values.dtype == dtype.base and self.values.shape == (n, *dtype.shape)
        flags = self.values.flags
        if not (fits and flags.c_contiguous and flags.writeable):
            raise TypeError(f"out must be a contiguous array of {n} {dtype} that can be written to")
        self.nulls = np.zeros((n if any(answer.nullable) else 0, len(answer.nullable)), np.uint8)

    @property
    def address(self) -> tuple[int, int]:
        return self.values.ctypes.data, self.nulls.ctypes.data

    def result(self) -> Any:
        """An array, with a name a field for tuples; masked where some are null."""
        if not self.nulls.any():
            return self._named(self.values)
        if self._answer.layout.parts is None:
            return np.ma.array(self.values, mask=self.nulls[:, 0].view(np.bool_))
        return [_with_nulls(x, iter(null)) for x, null in zip(self.values.tolist(), self.nulls)]

    def arrays(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The values, with a name a field for tuples, and a column of nulls a number, if any."""
        nulls = self.nulls.view(np.bool_)
        return self._named(self.values), nulls if nulls.any() else None

    def _named(self, values: np.ndarray) -> np.ndarray:
        if self._answer.names is None or values.dtype.names is None:
            return values
        dtype = values.dtype
        fields = [dtype.fields[name] for name in dtype.names or ()]  # type: ignore[index]
        return values.view(
            {
                "names": list(self._answer.names),
                "formats": [f[0] for f in fields],
                "offsets": [f[1] for f in fields],
                "itemsize": dtype.itemsize,
            }
        )


def _with_nulls(value: Any, nulls: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_with_nulls(v, nulls) for v in value)
    return None if next(nulls) else value
