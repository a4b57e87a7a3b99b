"""The source of what depends on a layout: reading and writing values by address."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.kernel.layout import Layout, chunk_shift


def read_value(layout: Layout, base: str, offset: str, like: str, load: str = "load_cell") -> str:
    """Source of a value read `offset` bytes from `base`; `like` names constants of the types."""
    places = layout.offsets
    leaves = [f"{load}({base}, {offset} + {place}, {like}{i})" for i, place in enumerate(places)]
    return layout.expression(leaves)


def magnitude_of(layout: Layout, value: str) -> str:
    """Source of the bits that some integer of `value` has, or would have if it were positive."""
    leaves = zip(layout.leaves, layout.paths(value), strict=True)
    integers = [path for leaf, path in leaves if leaf == np.int64]
    return " | ".join(["int0", *(f"({x} ^ ({x} >> 63))" for x in integers)])


def write_value(layout: Layout, base: str, offset: str, value: str, cast: str) -> list[str]:
    """Lines that write `value` `offset` bytes from `base`; `cast` names the leaf types."""
    pairs = enumerate(zip(layout.offsets, layout.paths(value), strict=True))
    return [f"store_cell({base}, {offset} + {at}, {cast}{i}({leaf}))" for i, (at, leaf) in pairs]


def cast_value(layout: Layout, value: str, cast: str) -> str:
    """Source of `value` with each leaf cast to the layout's type."""
    return layout.expression([f"{cast}{i}({x})" for i, x in enumerate(layout.paths(value))])


def constants(layout: Layout, like: str, cast: str) -> dict[str, Any]:
    """The values of the names `like0`, `cast0`, …."""
    names: dict[str, Any] = {}
    for i, leaf in enumerate(layout.leaves):
        names[f"{like}{i}"], names[f"{cast}{i}"] = leaf.type(0), leaf.type
    return names


def cell_source(layout: Layout, chunked: bool) -> str:
    """`base(part, i)` and `offset(part, i)`: where cell i lies; `cell(part, i)`: its address."""
    if chunked:
        shift = chunk_shift(layout)
        base = f"load(part[0], ((i >> {shift}) & part[1]) * 8, int0)"
        offset = f"(i & {(1 << shift) - 1}) * {layout.width}"
    else:
        base, offset = "part[0]", f"(i & part[1]) * {layout.width}"
    text = (
        f"def base(part, i):\n    return {base}\n"
        f"def offset(part, i):\n    return {offset}\n"
        "def cell(part, i):\n    return base(part, i) + offset(part, i)\n"
    )
    if chunked:
        return text
    return text + (
        "def straight(part, i):\n    return (cell(part, i), -1)\n"
        "def straight_run(part, i):\n    return part[1] + 1 - (i & part[1])\n"
    )


def number_source(layout: Layout) -> str:
    """The words for a state that is a number or a tuple of numbers."""
    put = "\n    ".join(write_value(layout, "p", "at", "v", "T"))
    return (
        "def get(part, i):\n"
        "    p, at = base(part, i), offset(part, i)\n"
        f"    return {read_value(layout, 'p', 'at', 'L')}\n"
        "def get_small(part, i):\n"
        "    p, at = base(part, i), offset(part, i)\n"
        f"    return {read_value(layout, 'p', 'at', 'L', 'load_small')}\n"
        f"def magnitude(v):\n    return {magnitude_of(layout, 'v')}\n"
        "def put(part, i, v):\n"
        "    p, at = base(part, i), offset(part, i)\n"
        f"    {put}\n"
        "    return v\n"
        "def hold(q, place, v):\n    return v\n"
        "def one(q):\n    return identity\n"
        f"def combine(a, b):\n    s = user_combine(a, b)\n"
        f"    return {cast_value(layout, 's', 'T')}\n"
        f"def inverse(total, old):\n    s = user_inverse(total, old)\n"
        f"    return {cast_value(layout, 's', 'T')}\n"
        "def lift(q, x):\n    s = user_lift(x)\n"
        f"    return {cast_value(layout, 's', 'T')}\n"
        "def lower(v):\n    return user_lower(v)\n"
    )


def vector_source(layout: Layout, places: int) -> str:
    """The words for a state that is a vector: handles are addresses, pairs are lazy."""
    assert layout.dtype is not None
    step, length = layout.dtype.itemsize, layout.length
    return (
        "def write(p, v):\n"
        f"    for k in range({length}):\n"
        f"        store(p, k * {step}, T0(element(v, k)))\n"
        "    return p\n"
        "def get(part, i):\n    return cell(part, i)\n"
        "def get_small(part, i):\n    return cell(part, i)\n"
        "def magnitude(v):\n    return int0\n"
        "def put(part, i, v):\n    return write(cell(part, i), v)\n"
        f"def one(q):\n    return q.held + {places * layout.width}\n"
        f"def hold(q, place, v):\n    return write(q.held + place * {layout.width}, v)\n"
        "def combine(a, b):\n    return (a, b)\n"
        "def lift(q, x):\n"
        "    p = hold(q, 0, one(q))\n"
        "    user_fill(pointer(p, L0), x)\n"
        "    return p\n"
        "def lower(v):\n    return user_lower(pointer(v, L0))\n"
    )


def policy_source(layout: Layout) -> str:
    """`policy(total, old)`: the user's, of vectors by their pointers."""
    total, old = "total", "old"
    if layout.length is not None:
        total, old = "pointer(total, L0)", "pointer(old, L0)"
    return f"def policy(total, old):\n    return user_policy({total}, {old})\n"


def item_source(inputs: tuple[np.dtype, ...]) -> str:
    """`item(xs, i)`: a number, or a tuple of one from each column."""
    reads = [f"load(xs[{c}], i * {d.itemsize}, X{c})" for c, d in enumerate(inputs)]
    value = reads[0] if len(reads) == 1 else "(" + ", ".join(reads) + ",)"
    return f"def item(xs, i):\n    return {value}\n"


def give_source(layout: Layout, nullable: tuple[bool, ...]) -> str:
    """`give(out, i, answer)`: number k of an answer goes to out[2k], in steps of out[2k + 1]
    bytes; out[-1] has a byte per number of an answer, whether it is null."""
    if layout.length is not None:
        assert layout.dtype is not None
        step = layout.dtype.itemsize
        return (
            "def give(out, i, answer):\n"
            f"    for k in range({layout.length}):\n"
            f"        store(out[0], i * {layout.width} + k * {step}, Y0(answer[k]))\n"
        )
    paths, lines = layout.paths("answer"), []
    for k, path in enumerate(paths):
        apart = f"out[{2 * k + 1}]" if len(paths) > 1 else layout.width
        write = f"store_answer(out[{2 * k}], i * {apart}, Y{k}({{}}))"
        if nullable[k]:
            marks = f"out[{2 * len(paths)}], i * {len(paths)} + {k}"
            lines += [f"store_answer({marks}, is_null({path}))", write.format(f"known({path})")]
        else:
            lines.append(write.format(path))
    return "def give(out, i, answer):\n" + "".join(f"    {line}\n" for line in lines)


def attach_source(fields: dict[str, np.dtype | None]) -> str:
    """`attach(memory)`: the columns, from two numbers each and the held rows."""
    made = []
    for i, (_, dtype) in enumerate(fields.items()):
        pair = f"(memory[{2 * i}], memory[{2 * i + 1}])"
        made.append(pair if dtype is None else f"pointer(memory[{2 * i}], F{i})")
    return (
        f"def attach(memory):\n    return Columns({', '.join(made)}, memory[{2 * len(fields)}])\n"
        "def numbers(address):\n    return pointer(address, int0)\n"
        "def move(column, to, start, n):\n    move_cells(column, to, start, n)\n"
        "def prefetch(column, i):\n    prefetch_cell(column, i)\n"
        "def below(column, i, x):\n    return count_below(cell(column, i), x)\n"
        "def pick(mask, a, b):\n    return pick_partial(mask, a, b)\n"
        "def lowest_bit(x):\n    return zeros_below(x)\n"
        "def highest_bit(x):\n    return 63 - zeros_above(x)\n"
    )
