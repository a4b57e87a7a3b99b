"""The words that algorithms are written in; `sash.kernel.bind` gives them meaning.

A *partial* is a value of the monoid's state. Compiled, a number or a tuple of
numbers is held in registers, and a vector is held by its address: its combines
are done element by element where the result is put, so nothing is allocated.
That is why a partial that outlives a step is put in a cell (`put`) or held in a
numbered place of its own (`hold`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

Partial = Any
"""Annotation of a partial aggregate, in the cursors of an algorithm."""

Partials = Any
"""Annotation of a column that holds partials, for `get` and `put`."""

Int64 = Any
"""Annotation of a column that holds numbers, indexed as they are; so are Int32, …"""

Int32 = Any
Int8 = Any
Float64 = Any

Memory = Any
"""Annotation of a driver's parameter: the addresses of all columns, for `attach`."""

Cursors = Any
"""Of another: the cursors of any algorithm; a driver for one algorithm names its own class."""

InputColumns = Any
"""Of another: the addresses of the input columns, for `item`."""

Outputs = Any
"""Of another: for `give`, the address and the step from one answer to the next of each number
of an answer, and the address of the marks of nulls."""

Pair = Any
"""Of another: two integers."""

Address = Any
"""Of another: where some 64-bit integers lie, for `numbers`; all others are `int`."""


class Windows(NamedTuple):
    """Annotation of a driver's parameter: n windows, rows lo to hi - 1 each, both growing.

    Items are numbered as rows are; item `base` is the first input. Any named tuple of integers
    and addresses can be such a record.
    """

    base: int
    n: int
    lo: Address
    hi: Address
    shape: int = 0  # what is known of all of them


EVEN, IN_STEP = 1, 2
"""Shapes. EVEN: from a window to the next that it overlaps, neither end moves by two rows. IN_STEP:
each is one row after the last, none is empty, and lo and hi are those of the first."""


COLUMNS = {name: np.dtype(name.lower()) for name in ("Int64", "Int32", "Int8", "Float64")}


def dtype_of(annotation: Any) -> np.dtype | None:
    """The dtype of a column that holds numbers; None of one that holds partials."""
    name = getattr(annotation, "__forward_arg__", annotation)  # a NamedTuple wraps strings
    return COLUMNS.get(str(name))


F = TypeVar("F", bound=Callable[..., Any])


def word(name: str, meaning: str) -> Callable[..., Any]:
    """A new word; `bind` replaces it by a function wherever steps call it."""

    def unbound(*_: Any) -> Any:
        raise RuntimeError(f"{name}: {meaning}; it has no meaning before kernel.bind")

    unbound.__name__ = unbound.__qualname__ = name
    unbound.__doc__ = meaning
    return unbound


class Fact(NamedTuple):
    """Something that is known when a kernel is made; `bind` replaces it by its value.

    numba does not compile what a test that begins with it leaves out: `if FACT and …:`.
    """

    name: str
    meaning: str


WIDE = Fact("WIDE", "whether a partial has more than two numbers; a vector is one")
DIVIDES = Fact("DIVIDES", "whether combine divides, which takes longer than a branch guessed wrong")

combine = word("combine", "combine(older, younger): the monoid's operator")
inverse = word("inverse", "inverse(total, old): total without its older part")
one = word("one", "one(q): the monoid's identity")
get = word("get", "get(q.part, i): the partial in cell i")
straight = word(
    "straight",
    "straight(q.part, i): the cells from i on, as many as `straight_run` says, as 0, 1, 2, …",
)
straight_run = word(
    "straight_run", "straight_run(q.part, i): how many cells from i on lie one after the other"
)
magnitude = word(
    "magnitude", "magnitude(v): less than SMALL where all integers of a partial are small"
)
get_small = word(
    "get_small", "get_small(q.part, i): the partial in cell i, all of whose integers are small"
)
put = word("put", "put(q.part, i, v): put a partial in cell i, and give it back")
hold = word("hold", "hold(q, place, v): keep a partial in a place of its own")
pick = word("pick", "pick(mask, a, b): partial a where the mask is -1, b where it is 0; no branch")
lift = word("lift", "lift(q, x): the partial of one input item")
lower = word("lower", "lower(v): the answer of a partial")
policy = word("policy", "policy(total, old): whether the oldest items, old, are to be evicted")
move = word("move", "move(column, to, start, n): copy n cells of a tree's column; may overlap")
prefetch = word("prefetch", "prefetch(column, i): ask for a cell of a tree's column ahead of time")
below = word("below", "below(column, i, x): of cells i to i + BELOW - 1, how many are less than x")
lowest_bit = word("lowest_bit", "lowest_bit(x): the place of the lowest bit of x, which is not 0")
highest_bit = word(
    "highest_bit", "highest_bit(x): the place of the highest bit of x, which is not 0"
)
numbers = word("numbers", "numbers(address): the 64-bit integers there, indexed as they are")
item = word("item", "item(xs, i): input item i")
cycles = word("cycles", "cycles(): the processor's cycle counter")
give = word("give", "give(out, i, answer): write answer i")

attach = word("attach", "attach(memory): the columns, from what a driver was given")
start = word("start", "start(q): the algorithm's empty window")
insert = word("insert", "insert(q, at, v): the algorithm's insert")
evict = word("evict", "evict(q, at): the algorithm's evict")
query = word("query", "query(q, at): the algorithm's query, a partial")
size = word("size", "size(at): how many items are in the window")

BELOW = 8
"""Cells that `below` compares at once; a processor does it in two instructions, or one."""

SMALL = 1 << 61
"""Integers from -SMALL to SMALL - 1 are small: two of them can be added in 64 bits."""

LIFTED, ANSWER, FIRST_FREE = 0, 1, 2
"""Places of `hold` that drivers use; an algorithm's own start at FIRST_FREE."""


def outlined(function: F) -> F:
    """Mark a step that is rare and large: compiled as a call, not inlined."""
    function.__outlined__ = True  # type: ignore[attr-defined]
    return function
