"""A case: where its dice come from, what it did, and what it says when an answer is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from sash.monoids.compare import alike


class Difference(AssertionError):
    """An answer is not the one that recalculation gives."""


@dataclass
class Case:
    """One case of a part: its dice, and a count of what it did.

    An operation is an item inserted, an item evicted or an answer compared.
    """

    seed: int
    part: str
    number: int
    compiled: bool = True  # whether kernels may be compiled
    operations: int = 0
    kills: int = 0
    dice: Random = field(init=False)

    def __post_init__(self) -> None:
        self.dice = Random(f"{self.seed} {self.part} {self.number}")

    @property
    def replay(self) -> str:
        """The command that does this case again, and no other."""
        plain = "" if self.compiled else " --plain"
        return (
            f"python -m sash.testing.torture --seed {self.seed} "
            f"--only {self.part} --case {self.number}{plain}"
        )

    def same(self, found: Any, expected: Any, what: str) -> None:
        """Compare an answer; sums of floats may differ in their last bits."""
        self.operations += 1
        if not alike(found, expected, 1e-9):
            raise Difference(f"{what}: {found!r}, expected {expected!r}")
