"""Loops over many items, entered once per batch; the same source, plain or compiled."""

from __future__ import annotations

from typing import Any

from sash.kernel.words import (
    ANSWER,
    IN_STEP,
    Cursors,
    InputColumns,
    Memory,
    Outputs,
    Pair,
    Windows,
    attach,
    evict,
    give,
    hold,
    insert,
    item,
    lift,
    lower,
    numbers,
    query,
    size,
    start,
)


def insert_many(memory: Memory, at: Cursors, xs: InputColumns, n: int) -> Any:
    """Insert items 0 to n - 1."""
    q = attach(memory)
    for i in range(n):
        at = insert(q, at, lift(q, item(xs, i)))
    return at


def evict_many(memory: Memory, at: Cursors, n: int) -> Any:
    """Evict the n oldest items."""
    q = attach(memory)
    for _ in range(n):
        at = evict(q, at)
    return at


def slide(memory: Memory, at: Cursors, xs: InputColumns, n: int, most: int, out: Outputs) -> Any:
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


def follow(
    memory: Memory,
    at: Cursors,
    shift: int,
    xs: InputColumns,
    windows: Windows,
    ahead: Pair,
    out: Outputs,
) -> Any:
    """For each of some windows the answer over its items.

    The window's own item 0 is number `shift`. A window without rows is left as it is. Gives the
    cursors and shift.
    `ahead` is for algorithms that prepare partials of the rows to come; this one does not.
    """
    q = attach(memory)
    begins, ends, in_step = numbers(windows.lo), numbers(windows.hi), windows.shape == IN_STEP
    for i in range(windows.n):
        begin, end = row_at(windows.lo, begins, i, in_step), row_at(windows.hi, ends, i, in_step)
        if begin < end:
            if begin - shift >= at.e:  # nothing of the last window is in this one
                at = start(q)
                shift = begin
            while at.f < begin - shift:
                at = evict(q, at)
            while at.e < end - shift:
                at = insert(q, at, lift(q, item(xs, at.e + shift - windows.base)))
            give(out, i, lower(hold(q, ANSWER, query(q, at))))
    return at, shift


def row_at(first: Any, rows: Any, i: int, in_step: bool) -> int:
    """An end of window i: of windows in step, so many rows after that of the `first`."""
    return first + i if in_step else rows[i]
