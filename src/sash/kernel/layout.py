"""Layout: how a value made of numbers lies in memory.

A number, a (nested) tuple of numbers, or a fixed-size vector. Everything that
depends on that shape is here: the NumPy dtype of an array of them, the checks
of what a user's function returned, and the source of the functions that read
and write one by its address.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

CHUNK_BYTES = 1 << 15
OBJECTS_A_CHUNK = 512
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


@dataclass(frozen=True)
class Layout:
    """The shape of a state: `kind` is a NumPy dtype, a tuple of layouts, or a vector.

    >>> Layout.of((0, 0.0))
    Layout (int64, float64)
    >>> Layout.of("text") is None
    True
    """

    dtype: np.dtype | None = None
    parts: tuple[Layout, ...] | None = None
    length: int | None = None  # of a vector

    @staticmethod
    def of(value: Any, dtype: Any = None) -> Layout | None:
        """The layout of `value`, or None if it is not made of numbers."""
        if dtype is object or dtype == np.dtype(object):
            return None
        if isinstance(value, tuple):
            kinds = dtype if isinstance(dtype, tuple) else (dtype,) * len(value)
            if len(kinds) != len(value):
                raise TypeError(f"dtype {dtype!r} has another shape than identity {value!r}")
            parts = tuple(Layout.of(v, d) for v, d in zip(value, kinds, strict=True))
            return None if not parts or None in parts else Layout(parts=parts)  # type: ignore[arg-type]
        if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
            return Layout(np.dtype(dtype or value.dtype), length=len(value))
        if isinstance(value, NUMBERS):
            return Layout(np.dtype(dtype) if dtype is not None else _number(value))
        return None

    @cached_property
    def leaves(self) -> tuple[np.dtype, ...]:
        """The dtypes of the numbers, in order."""
        if self.parts is not None:
            return tuple(leaf for part in self.parts for leaf in part.leaves)
        assert self.dtype is not None
        return (self.dtype,)

    @cached_property
    def array_dtype(self) -> np.dtype:
        """The dtype of an array of such values, each at its natural alignment."""
        if self.parts is not None:
            fields = [(f"_{i}", part.array_dtype) for i, part in enumerate(self.parts)]
            return np.dtype(fields, align=True)
        assert self.dtype is not None
        return np.dtype((self.dtype, (self.length,))) if self.length is not None else self.dtype

    @cached_property
    def width(self) -> int:
        """Bytes from one value of an array to the next."""
        return self.array_dtype.itemsize

    @cached_property
    def offsets(self) -> list[int]:
        """Where each leaf lies in a value."""
        if self.parts is None:
            return [0]
        fields = self.array_dtype.fields
        assert fields is not None
        places = [fields[f"_{i}"][1] for i in range(len(self.parts))]
        return [p + x for part, p in zip(self.parts, places, strict=True) for x in part.offsets]

    def expression(self, leaves: list[str]) -> str:
        """Source of a value of this shape, made of one expression per leaf."""
        if self.parts is None:
            return leaves.pop(0)
        return "(" + ", ".join(part.expression(leaves) for part in self.parts) + ",)"

    def paths(self, root: str) -> list[str]:
        """Source of each leaf of the value that `root` names."""
        if self.parts is None:
            return [root]
        return [x for i, part in enumerate(self.parts) for x in part.paths(f"{root}[{i}]")]

    def accepts(self, other: Layout | None) -> bool:
        """Whether a value of layout `other` can be kept in this one without a loss."""
        if other is None:
            return False
        if self.parts is not None or other.parts is not None:
            if self.parts is None or other.parts is None or len(self.parts) != len(other.parts):
                return False
            return all(a.accepts(b) for a, b in zip(self.parts, other.parts, strict=True))
        return self.length == other.length and np.can_cast(
            other.leaves[0], self.leaves[0], "same_kind"
        )

    def check(self, value: Any, what: str) -> None:
        """Raise TypeError, naming both shapes, unless `value` fits."""
        found = Layout.of(value)
        if not self.accepts(found):
            shape = repr(found) if found else f"{type(value).__name__} {value!r}"
            raise TypeError(
                f"{what} gave {shape}, but the state is {self!r}; "
                "make identity, lift and combine agree, or give dtype="
            )

    def __str__(self) -> str:
        if self.parts is not None:
            return "(" + ", ".join(map(str, self.parts)) + ")"
        return f"{self.dtype}[{self.length}]" if self.length is not None else str(self.dtype)

    def __repr__(self) -> str:
        return f"Layout {self}"


def _number(value: Any) -> np.dtype:
    if isinstance(value, np.generic):
        return value.dtype
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if isinstance(value, kind):
            return np.dtype(dtype)
    raise TypeError(f"{value!r} is not a number")


def chunk_shift(layout: Layout | None) -> int:
    """A chunk has 2**shift cells: about CHUNK_BYTES, whatever a partial's size."""
    if layout is None:
        return OBJECTS_A_CHUNK.bit_length() - 1
    return max(4, (CHUNK_BYTES // layout.width).bit_length() - 1)
