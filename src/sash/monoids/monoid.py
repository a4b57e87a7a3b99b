"""`Monoid`: what is combined, as a frozen record of plain functions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from sash.monoids.fingerprint import NotPlain, fingerprint
from sash.monoids.recipe import Recipe


def same(x: Any) -> Any:
    """Return `x`: the `lower` of a monoid whose state is its answer."""
    return x


@dataclass(frozen=True, eq=False)
class Monoid:
    """An associative aggregation: `lower(combine(lift(x1), lift(x2), …))`.

    `combine` takes the older partial first. A state that is a number, a
    (nested) tuple of numbers or a fixed-size vector compiles; any other runs as
    plain Python. `dtype` overrides what is inferred from `identity`.

    `inverse(total, old)` gives `total` without its older part; give it only for
    exact states, never for floats. `fill(out, x)` replaces `lift` where the state
    is a NumPy vector: it writes `x` into a vector that holds the identity, and
    `combine` works element by element. `typed(dtype)` gives the variant whose
    state is numbers, for inputs of that NumPy dtype (a tuple of dtypes for
    inputs that are tuples), or None where there is none. `recipe` is set by the
    catalogue: the call that makes this monoid again, by which it pickles.

    >>> longest = Monoid("longest", 0, len, max)
    >>> longest.lower(longest.combine(longest.lift("ab"), longest.lift("c")))
    2
    """

    name: str
    identity: Any
    lift: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any] = same
    inverse: Callable[[Any, Any], Any] | None = None
    commutative: bool = False
    dtype: Any = None
    version: int = 1
    fill: Callable[[Any, Any], None] | None = None
    typed: Callable[[Any], Monoid | None] | None = None
    recipe: Recipe | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"a monoid's name must be a non-empty string, not {self.name!r}")
        for role in ("lift", "combine", "lower", "inverse", "fill", "typed"):
            function = getattr(self, role)
            optional = role in ("inverse", "fill", "typed")
            if not callable(function) and not (optional and function is None):
                raise TypeError(f"{role} of monoid {self.name!r} must be a function")

    def of(self, dtype: Any) -> Monoid:
        """The variant for inputs of `dtype`; the monoid itself where there is none."""
        found = self.typed(dtype) if self.typed is not None else None
        return self if found is None else found

    def with_(self, **changes: Any) -> Monoid:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @property
    def nothing(self) -> Any:
        """The answer over no rows: the identity, lowered; None (null) where `lower` raises."""
        try:
            return self.lower(copy.deepcopy(self.identity))
        except Exception:  # of a user's function: a mean over no rows divides by zero, say
            return None

    @cached_property
    def digest(self) -> str:
        """A hash of all that the monoid computes: code, constants, captured values."""
        parts = (self.name, self.version, self.identity, self.dtype)
        roles = ("lift", "combine", "lower", "inverse", "fill")
        try:
            return fingerprint(parts, *(getattr(self, role) for role in roles))
        except NotPlain as problem:
            problem.args = (f"{roles[problem.index - 1]} of monoid {self.name!r}: {problem}",)
            raise

    @cached_property
    def state_digest(self) -> str:
        """A hash of all that makes a partial: monoids that share it differ in `lower` alone."""
        parts = (self.identity, self.dtype)
        return fingerprint(parts, self.lift, self.combine, self.fill)

    def __getstate__(self) -> dict[str, Any]:
        cached = ("digest", "state_digest")  # of this version of Python
        return {k: v for k, v in self.__dict__.items() if k not in cached}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Monoid) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Monoid({self.name!r})" if self.recipe is None else repr(self.recipe)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.recipe is not None:
            return self.recipe.__reduce__()
        return super().__reduce_ex__(protocol)

    @classmethod
    def vector(
        cls,
        name: str,
        identity: np.ndarray,
        fill: Callable[[Any, Any], None],
        combine: Callable[[Any, Any], Any],
        lower: Callable[[Any], Any] = same,
        **options: Any,
    ) -> Monoid:
        """A monoid whose state is a fixed-size vector, combined element by element."""
        zero = np.array(identity)
        zero.setflags(write=False)

        def lift(x: Any) -> np.ndarray:
            out = zero.copy()
            fill(out, x)
            return out

        return cls(name, zero, lift, combine, lower, fill=fill, **options)


def as_monoid(thing: Any) -> Monoid:
    """A `Monoid` as it is; an object with Spark's aggregator protocol as one.

    The protocol is `zero`, `reduce(buffer, x)`, `merge(a, b)`, `finish(buffer)`.

    >>> class Total:
    ...     zero = 0
    ...     def reduce(self, buffer, x): return buffer + x
    ...     def merge(self, a, b): return a + b
    ...     def finish(self, buffer): return buffer
    >>> as_monoid(Total()).lift(3)
    3
    """
    if isinstance(thing, Monoid):
        return thing
    if not all(hasattr(thing, part) for part in ("zero", "reduce", "merge", "finish")):
        raise TypeError(
            f"{thing!r} is not a Monoid and has no zero, reduce, merge and finish; "
            "did you mean to call it, as in m.Max()?"
        )
    zero = thing.zero() if callable(thing.zero) else thing.zero
    reduce = thing.reduce

    def lift(x: Any) -> Any:
        return reduce(zero, x)

    name = thing.__name__ if isinstance(thing, type) else type(thing).__name__
    return Monoid(name, zero, lift, thing.merge, thing.finish)
