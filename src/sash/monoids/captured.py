"""The variables that a function captures, and the names that its code uses."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any


def captured(function: types.FunctionType) -> list[tuple[str, Any]]:
    """The variables that a function captures: defaults, of functions around it, globals."""
    defaults = function.__defaults__ or ()
    code = function.__code__
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    found = [*zip(names, defaults), *(function.__kwdefaults__ or {}).items()]
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            found.append((name, cell.cell_contents))
        except ValueError:  # not filled yet
            continue
    around = function.__globals__
    used = [(name, around[name]) for name in globals_of(code) if name in around]
    for name, value in used:  # module.function(…): follow the functions of modules
        found.append((name, value))
        if isinstance(value, types.ModuleType):
            members = [
                vars(value).get(name) for name in sorted(names_of(code))
            ]  # getattr may import
            found += [(name, m) for m in members if isinstance(m, types.FunctionType)]
    return found


@functools.lru_cache(maxsize=4096)
def globals_of(code: types.CodeType) -> tuple[str, ...]:
    """The global names that a function's code uses, inner functions' too, sorted."""
    names = {
        i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(globals_of(constant))
    return tuple(sorted(names))


@functools.lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> frozenset[str]:
    """The global and attribute names that a function's code uses, inner ones too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_of(constant)
    return frozenset(names)


def functions_of(function: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """A function, and those that it calls."""
    seen = set() if seen is None else seen
    function = getattr(function, "py_func", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    yield function
    if isinstance(function, types.FunctionType):
        used = [function.__globals__.get(name) for name in names_of(function.__code__)]
        used += [cell.cell_contents for cell in function.__closure__ or ()]
        for other in used:
            yield from functions_of(other, seen)


def divides(function: Any) -> bool:
    """Whether a function divides, or one that it calls: that takes longer than other arithmetic."""
    return any(
        step.argrepr in ("/", "//", "%", "**", "/=", "//=", "%=", "**=")
        for each in functions_of(function)
        if isinstance(each, types.FunctionType)
        for step in dis.get_instructions(each)
    )
