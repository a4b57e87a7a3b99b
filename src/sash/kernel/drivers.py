"""Loops over many items, entered once a batch; the same source, plain or compiled."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    attach,
    evict,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    query,
    size,
)


def insert_many(memory: Any, at: Any, xs: Any, n: int) -> Any:
    """Insert items 0 to n - 1."""
    q = attach(memory)
    for i in range(n):
        at = insert(q, at, lift(q, item(xs, i)))
    return at


def evict_many(memory: Any, at: Any, n: int) -> Any:
    """Evict the n oldest items."""
    q = attach(memory)
    for _ in range(n):
        at = evict(q, at)
    return at


def slide(memory: Any, at: Any, xs: Any, n: int, most: int, out: Any) -> Any:
    """Insert items 0 to n - 1; after each, answer for the last `most` items."""
    q = attach(memory)
    while size(at) > most:
        at = evict(q, at)
    for i in range(n):
        if size(at) == most:
            at = evict(q, at)
        at = insert(q, at, lift(q, item(xs, i)))
        give(out, i, lower(hold(q, ANSWER, query(q, at))))
    return at
