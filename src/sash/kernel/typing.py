"""Types: what numba finds that a user's functions take and give."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.np.numpy_support import as_dtype, from_dtype

from sash.kernel.compiled import CannotCompile, Target
from sash.kernel.layout import Layout


def numba_type(layout: Layout) -> Any:
    """The numba type of a partial: a vector is held by its address."""
    if layout.parts is not None:
        return types.BaseTuple.from_types([numba_type(part) for part in layout.parts])
    return types.int64 if layout.length is not None else from_dtype(layout.dtype)


def record_type(record: type, layout: Layout) -> Any:
    """The numba type of a named tuple, such as an algorithm's cursors: integers and partials."""
    annotations = inspect.get_annotations(record)
    kinds = [
        numba_type(layout) if "Partial" in str(kind) else types.int64
        for kind in annotations.values()
    ]
    if len(set(kinds)) == 1:
        return types.NamedUniTuple(kinds[0], len(kinds), record)
    return types.NamedTuple(kinds, record)


def user_types(target: Target, functions: dict[str, Any]) -> dict[str, Any]:
    """Check lift, combine and lower; describe the answer. Raises TypeError, CannotCompile.

    `functions`: those of the monoid and the policy, jitted.
    """
    monoid, layout = target.monoid, target.layout
    vector = layout.length is not None
    state = types.CPointer(from_dtype(layout.dtype)) if vector else numba_type(layout)
    element = from_dtype(layout.dtype) if vector else state
    columns = [from_dtype(d) for d in target.inputs]
    x = columns[0] if len(columns) == 1 else types.BaseTuple.from_types(columns)
    if columns and vector:
        _returned(functions["fill"], (state, x), monoid, "fill")
    elif columns:
        _fits(_returned(functions["lift"], (x,), monoid, "lift"), layout, monoid, "lift")
    combined = _returned(functions["combine"], (element, element), monoid, "combine")
    _fits(combined, Layout(layout.dtype) if vector else layout, monoid, "combine")
    if functions["policy"] is not None:
        _says(_returned(functions["policy"], (state, state), monoid, "policy"), monoid)
    given = _returned(functions["lower"], (state,), monoid, "lower")
    return _describe(given, layout, monoid)


def _returned(function: Any, args: tuple[Any, ...], monoid: Any, role: str) -> Any:
    try:
        function.compile(args)
    except NumbaError as problem:
        raise _cannot(monoid, role, _reason(problem)) from problem
    except Exception as problem:  # numba fails in many ways; each means the same here
        raise _cannot(monoid, role, str(problem) or type(problem).__name__) from problem
    return function.overloads[args].signature.return_type


def _says(kind: Any, monoid: Any) -> None:
    if not isinstance(kind, types.Boolean | types.Number):
        raise TypeError(f"the policy over monoid {monoid.name!r} gives {kind}, not True or False")


def _cannot(monoid: Any, role: str, reason: str) -> CannotCompile:
    function = getattr(monoid, role, role)
    name = getattr(function, "__qualname__", repr(function))
    return CannotCompile(
        f"numba cannot compile {role} of monoid {monoid.name!r} ({name}): {reason}"
    )


def _reason(problem: Exception) -> str:
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Failed in nopython mode")]
    return lines[0][:200] if lines else type(problem).__name__


def _fits(kind: Any, layout: Layout, monoid: Any, role: str) -> None:
    found, _, _ = _layout(kind)
    if not layout.accepts(found):
        raise TypeError(
            f"{role} of monoid {monoid.name!r} gives {found or kind}, but its state is {layout}; "
            "make identity, lift and combine agree, or give dtype="
        )


def _describe(kind: Any, state: Layout, monoid: Any) -> dict[str, Any]:
    if isinstance(kind, types.CPointer):  # lower gave the vector itself
        return {"answer": {"of": state.leaves[0].str, "length": state.length}, "nullable": [False]}
    found, nullable, names = _layout(kind)
    if found is None:
        raise _cannot(monoid, "lower", f"its answer, {kind}, is not made of numbers")

    def described(layout: Layout) -> Any:
        if layout.parts is not None:
            return [described(part) for part in layout.parts]
        return layout.leaves[0].str

    return {"answer": described(found), "nullable": nullable, "names": names}


def _layout(kind: Any) -> tuple[Layout | None, list[bool], list[str] | None]:
    """The layout of a numba type, which of its leaves can be None, its field names."""
    if isinstance(kind, types.Optional):
        inner, _, names = _layout(kind.type)
        plain = inner is not None and inner.parts is None
        return (inner, [True], names) if plain else (None, [], None)
    if kind == types.none:
        return Layout(np.dtype(np.float64)), [True], None
    if isinstance(kind, types.BaseTuple):
        parts = [_layout(t) for t in kind]
        if any(part[0] is None for part in parts):
            return None, [], None
        names = list(kind.fields) if isinstance(kind, types.BaseNamedTuple) else None
        layouts = tuple(part[0] for part in parts)
        return Layout(parts=layouts), [n for p in parts for n in p[1]], names  # type: ignore[arg-type]
    if isinstance(kind, types.Integer | types.Float | types.Boolean):
        return Layout(as_dtype(kind)), [False], None
    return None, [], None
