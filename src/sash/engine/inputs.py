"""Inputs: the values of some columns as states take them, read once however many states do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.engine.bounds import Bounds
from sash.engine.columns import numbers, objects
from sash.engine.pieces import Pieces
from sash.engine.ranks import Ranks
from sash.engine.tape import Tape
from sash.plan.types import number_types


class AnyInputs(Protocol):
    """The values of some columns, by row or by known row."""

    @property
    def values(self) -> Any: ...

    @property
    def base(self) -> int: ...

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch."""

    def known(self, bounds: Bounds | Pieces) -> Any:
        """Windows of rows as windows of values."""

    def empty(self, known: Bounds | Pieces) -> np.ndarray | None:
        """Which windows of values have none that counts; None: all have some."""

    def forget(self, row: int, known: int) -> None:
        """Forget the values before `known`, and what is kept of rows before `row`."""


class Inputs:
    """The rows of some columns in which none of them is null, as numbers."""

    def __init__(self, kinds: list[pa.DataType]) -> None:
        dtypes = number_types(kinds)
        assert dtypes is not None
        self._ranks = Ranks()
        self._tapes = [Tape(dtype) for dtype in dtypes]
        self._block: tuple[Any, Bounds | Pieces] | None = None

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch."""
        columns = all_known(columns)
        ranked = self._ranks.take(columns[0])
        for tape, column in zip(self._tapes, columns, strict=True):
            tape.add(numbers(ranked if column is columns[0] else column.drop_null()))

    def known(self, bounds: Bounds | Pieces) -> Any:
        """The same windows among the rows that are known; kept for the next caller."""
        if self._block is None or self._block[0] is not bounds:
            self._block = (bounds, self._ranks.of(bounds))
        return self._block[1]

    def empty(self, known: Bounds | Pieces) -> np.ndarray | None:
        """Which windows of known rows have none; None: all have some."""
        return known.empty

    @property
    def values(self) -> Any:
        """The known values, from row `base` of them on: an array, or a tuple of arrays."""
        arrays = tuple(tape.values if len(tape) else tape.blank for tape in self._tapes)
        return arrays[0] if len(arrays) == 1 else arrays

    @property
    def base(self) -> int:
        return self._tapes[0].base

    def forget(self, row: int, known: int) -> None:
        """Forget the values before the known row `known`, and what says so of rows before `row`."""
        self._block = None
        for tape in self._tapes:
            tape.forget(known)
        self._ranks.forget(row)


class ObjectInputs:
    """The rows of some columns as Python objects, nulls and all; tuples of several columns."""

    def __init__(self, kinds: list[pa.DataType]) -> None:
        self.values: list[Any] = []
        self.base = 0

    def take(self, columns: list[pa.Array]) -> None:
        """Take the rows of a batch."""
        values = [objects(column) for column in columns]
        self.values += values[0] if len(values) == 1 else list(zip(*values, strict=True))

    def known(self, bounds: Bounds | Pieces) -> Any:
        """The windows as they are: nulls are the monoid's own business."""
        return bounds

    def empty(self, known: Bounds | Pieces) -> np.ndarray | None:
        """Which windows have no rows; None: all have some."""
        return known.empty

    def forget(self, row: int, known: int) -> None:
        """Forget the values before a row."""
        del self.values[: max(0, known - self.base)]
        self.base = max(self.base, known)


class Reader(Protocol):
    """Who reads inputs: `reached` is the first known row that it still needs."""

    @property
    def reached(self) -> int: ...


class SharedInputs:
    """The inputs of all states, one for each set of columns."""

    def __init__(self) -> None:
        self._of: dict[Any, tuple[AnyInputs, list[Reader]]] = {}

    def join(self, own: AnyInputs, columns: tuple[str, ...], reader: Reader) -> AnyInputs:
        """The inputs of these columns that all read; the first reader's own."""
        inputs, readers = self._of.setdefault((columns, type(own)), (own, []))
        readers.append(reader)
        return inputs

    def take(self, columns: Mapping[str, pa.Array]) -> None:
        """Take a batch's rows."""
        for (names, _), (inputs, _) in self._of.items():
            inputs.take([columns[name] for name in names])

    def forget(self, row: int) -> None:
        """No later window reaches rows before this one."""
        for inputs, readers in self._of.values():
            inputs.forget(row, min(reader.reached for reader in readers))


def all_known(columns: list[pa.Array]) -> list[pa.Array]:
    """The columns, null wherever any of them is null."""
    if len(columns) == 1:
        return columns
    valid = pc.is_valid(columns[0])
    for column in columns[1:]:
        valid = pc.and_(valid, pc.is_valid(column))
    if pc.all(valid).as_py() in (True, None):
        return columns
    return [pc.if_else(valid, column, pa.scalar(None, column.type)) for column in columns]
