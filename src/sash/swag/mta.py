"""MTA: what Log MTA and Amortized MTA share, a tree kept as levels and a slide policy.

Paper   Constant-Time Sliding Window Framework with Reduced Memory Footprint and Efficient
        Bulk Evictions, 2018, section 4.
Legend  f..e is the window. Level 0 has its items; node j of level l stands for items
        j << l up to (j + 1) << l, so nodes 2 j and 2 j + 1 of the level below are its
        children (the paper's theorem 1): they are a pair if both are in the window.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from sash.kernel import words
from sash.kernel.bind import bind_plain
from sash.kernel.words import LIFTED, Partial, combine, get, hold
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid
from sash.swag.snapshot import SnapshotError
from sash.swag.window import WORTH_COMPILING, InOrder, is_numeric

FOREVER = 1 << 62
PIECE = 1 << 14

Policy = Callable[[Any, Any], bool]


def cell(q: Any, level: int, j: int) -> int:
    """Where node j of a level lies: each level is a ring, half as long as the one below."""
    s = q.cap[0] >> level
    return s + (j & (s - 1))


def node(q: Any, level: int, j: int) -> Partial:
    """Node j of a level."""
    return get(q.part, cell(q, level, j))


def older(q: Any, is_first: bool, old: Partial, v: Partial) -> Partial:
    """What the policy is asked about: old, and v behind it. Held where lift held its item."""
    if is_first:
        return hold(q, LIFTED, v)
    return hold(q, LIFTED, combine(old, v))


class MTA(InOrder):
    """A window kept as a tree in levels; bulk evictions cost O(log n), as single ones do.

    `policy(total, old)`, of partials, says whether the oldest items, combined into `old`,
    are to be evicted from a window that is `total` in all. After each insertion the most
    that it is true of are evicted, maybe all. It must be monotone: true of some oldest
    items, it is true of fewer. If it is not, some are evicted that it is true of and with
    one more is not. It compiles as the monoid does; of the catalogue's monoids it sees the
    partials of the variant for the inputs, `monoid.of(dtype)`.
    """

    scratch = 1
    bulk: ClassVar[Callable[..., Any]]  # bulk(q, at, k): evict k items
    enforced: ClassVar[Callable[..., Any]]  # insert(q, at, v), and enforce the policy

    def __init__(
        self, monoid: Any, policy: Policy | None = None, *, compiled: bool | None = None
    ) -> None:
        if policy is not None and not callable(policy):
            raise TypeError(f"policy must be a function of (total, old), not {policy!r}")
        self.policy = policy
        super().__init__(monoid, compiled=compiled)

    def _adopt(self, monoid: Monoid, inputs: Any) -> None:
        super()._adopt(monoid, inputs)
        if self.policy is not None:
            insert = type(self).enforced
            self._words = {
                words.policy: as_function(self.policy), **self._words, words.insert: insert,
            }  # fmt: skip
            self._plain = bind_plain(monoid, self._words)
            self._insert = self._plain(insert)
        self._bulk = self._plain(type(self).bulk)

    def evict(self) -> None:
        """Remove the oldest item; IndexError if there is none."""
        super().evict()
        self._room.release(self._at)

    def evict_many(self, k: int) -> None:
        """Remove the `k` oldest items; IndexError, with nothing changed, if there are fewer.

        O(log n) combines, whatever `k` is.
        """
        if not 0 <= k <= len(self):
            raise IndexError(f"evict {k} items from a window of {len(self)}")
        if k > 0:
            self._at = self._bulk(self._q, self._at, k)
            self._room.release(self._at)

    def insert(self, x: Any) -> None:
        """Add `x` as the youngest item, then enforce the policy."""
        super().insert(x)
        if self.policy is not None:
            self._room.release(self._at)

    def insert_many(self, xs: Any) -> None:
        """Add each of `xs` in turn, each time enforcing the policy."""
        if self.policy is None:
            super().insert_many(xs)
            return
        for piece, _ in self._pieces(xs):
            super().insert_many(piece)
            self._room.release(self._at)

    def slide(self, xs: Any, size: int | None = None, out: np.ndarray | None = None) -> Any:
        """Insert each of `xs` in turn; after each, the answer over what the policy leaves.

        With `size`, over the last `size` items of it at most.
        """
        if size is None and self.policy is None:
            raise ValueError("slide needs a size, or a window with a policy")
        most = FOREVER if size is None else size
        pieces = self._pieces(xs) if self.policy is not None else [(xs, slice(None))]
        answers = []
        for piece, where in pieces:
            answers.append(super().slide(piece, most, None if out is None else out[where]))
            self._room.release(self._at)
        found = joined(answers, out)
        return found.tolist() if isinstance(xs, list) and isinstance(found, np.ndarray) else found

    def _make_room_to_slide(self, n: int, most: int) -> None:
        self._room.reserve_ring(self._at, max(most, len(self)) + (self.policy is not None))

    def _pieces(self, xs: Any) -> Iterator[tuple[Any, slice]]:
        """Arrays in pieces, as long as the window is then: room need not be made for all."""
        if isinstance(xs, list) and len(xs) >= WORTH_COMPILING and is_numeric(xs):
            xs = np.array(xs)
        is_table = isinstance(xs, tuple) and is_numeric(xs)
        if not is_table and not isinstance(xs, np.ndarray):
            yield xs, slice(None)
            return
        n, start = len(xs[0]) if is_table else len(xs), 0
        while start < n:
            where = slice(start, start + max(PIECE, len(self)))
            yield (tuple(c[where] for c in xs) if is_table else xs[where]), where
            start = where.stop

    def _state(self) -> tuple[dict[str, Any], bytes]:
        header, payload = super()._state()
        policy = None if self.policy is None else fingerprint(self.policy)
        return {**header, "policy": policy}, payload

    def _set_state(self, header: dict[str, Any], payload: bytes) -> None:
        found = header["policy"]
        if (found is None) != (self.policy is None):
            has = "no policy" if found is None else "a policy: give restore the same policy="
            raise SnapshotError(f"a snapshot of a window with {has}")
        if found is not None and found != fingerprint(self.policy):
            raise SnapshotError("a snapshot of a window with another policy: its code differs")
        super()._set_state(header, payload)


def as_function(policy: Policy) -> Policy:
    """A policy that is not a plain function (an object that can be called) as one."""
    return policy if inspect.isfunction(policy) else lambda total, old: policy(total, old)


def joined(answers: list[Any], out: np.ndarray | None) -> Any:
    """The answers of several pieces as one: `out` where they are in it, an array, or a list."""
    if len(answers) == 1:
        return answers[0]
    if answers and all(isinstance(part, np.ndarray) for part in answers):
        is_out = out is not None and np.may_share_memory(answers[0], out)
        if is_out:
            return out
        values = np.concatenate([np.asarray(part) for part in answers])
        if not any(isinstance(part, np.ma.MaskedArray) for part in answers):
            return values
        return np.ma.array(values, mask=np.concatenate([np.ma.getmaskarray(p) for p in answers]))
    return [x for part in answers for x in (part.tolist() if hasattr(part, "tolist") else part)]
