"""A hash of what a function computes: code, constants, captured values, what it calls."""

from __future__ import annotations

import functools
import hashlib
import types
from typing import Any

import numpy as np


def fingerprint(*things: Any) -> str:
    """A hash that changes when any of `things`, or what they refer to, changes.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    digest = hashlib.sha256()
    for thing in things:
        _feed(digest, thing, [])
    return digest.hexdigest()[:32]


def _feed(digest: Any, thing: Any, path: list[int]) -> None:
    def say(*words: object) -> None:
        digest.update("\0".join(map(str, words)).encode() + b"\1")

    if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
        say(type(thing).__name__, repr(thing))
        return
    if isinstance(thing, np.ndarray | np.generic):
        array = np.asarray(thing)
        say("array", array.dtype.descr, array.shape, array.tobytes().hex())
        return
    if id(thing) in path:  # recursion: the distance says to where
        say("again", len(path) - path.index(id(thing)))
        return
    say(type(thing).__name__)
    path.append(id(thing))
    for part in _parts(thing):
        _feed(digest, part, path)
    path.pop()


def _parts(thing: Any) -> list[Any]:
    """What makes up a thing that is not a plain value."""
    if isinstance(thing, types.CodeType):
        return [thing.co_code, thing.co_names, thing.co_varnames, list(thing.co_consts)]
    if isinstance(thing, types.FunctionType):
        return _function_parts(thing)
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, types.BuiltinFunctionType | types.ModuleType | np.ufunc):
        return [getattr(thing, "__module__", None), thing.__name__]
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, type):
        own = {k: v for k, v in vars(thing).items() if not k.startswith("__") or k == "__call__"}
        return [thing.__module__, thing.__qualname__, own if _is_users(thing) else {}]
    if isinstance(thing, dict):
        return [x for pair in thing.items() for x in pair]
    if isinstance(thing, list | tuple):
        return [len(thing), *thing]
    if isinstance(thing, set | frozenset):
        return sorted(map(repr, thing))
    if hasattr(thing, "py_func"):  # already compiled by numba
        return [thing.py_func]
    state = getattr(thing, "__dict__", None)
    return [type(thing), state if state else repr(thing) if "0x" not in repr(thing) else ""]


def _is_users(cls: type) -> bool:
    return cls.__module__ not in ("builtins", "numpy", "typing")


def _function_parts(function: types.FunctionType) -> list[Any]:
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    names = sorted(names_of(function.__code__))
    used = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    inside = []
    for _, value in used:  # module.function(…): follow the functions of our own modules
        if isinstance(value, types.ModuleType):
            members = [vars(value).get(name) for name in names]  # getattr may warn or import
            inside += [m for m in members if isinstance(m, types.FunctionType)]
    own = {k: v for k, v in function.__dict__.items() if k != "__wrapped__"}
    parts = [function.__code__, function.__defaults__, function.__kwdefaults__, own]
    return [*parts, cells, used, inside]


def _filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def names_of(code: types.CodeType) -> set[str]:
    """The global and attribute names that a function's code uses, inner ones too."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_of(constant)
    return names
