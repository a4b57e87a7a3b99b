"""A hash of what a function computes: code, constants, captured values, what it calls.

Functions, classes and objects are walked once each, however they refer to each other; those of
Python's own library and of the packages in `FOREIGN` count by name. Values that a
function captures have to be plain: no hash says whether a table or a logger is still the same.
"""

from __future__ import annotations

import datetime
import enum
import functools
import hashlib
import operator
import pathlib
import re
import sys
import types
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sash.monoids.captured import captured, names_of

MOST = 100_000  # things in one walk
FOREIGN = sys.stdlib_module_names | {
    "llvmlite", "numba", "numpy", "pandas", "polars", "pyarrow", "pyspark", "scipy",
}  # fmt: skip

PLAIN = (bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType)
VALUES = (  # told by their repr
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, Decimal, Fraction,
    uuid.UUID, pathlib.PurePath, range, slice, np.dtype, types.GenericAlias, types.UnionType,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
)  # fmt: skip
NAMED = (  # told by their name
    np.ufunc, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType,
)  # fmt: skip


class NotPlain(TypeError):
    """A captured value whose content cannot be hashed."""

    def __init__(self, function: str, variable: str, reason: str, index: int) -> None:
        super().__init__(
            f"{function} uses {variable}, {reason}: give it numbers, text, tuples, lists, dicts, "
            "NumPy arrays or functions, whose content is known to stay the same"
        )
        self.variable, self.index = variable, index  # index: which argument of `fingerprint`


def fingerprint(*things: Any) -> str:
    """A hash that changes when any of `things`, or what they refer to, changes.

    NotPlain, a TypeError, names a captured variable whose content cannot be hashed.

    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    walk = _Walk()
    for walk.index, thing in enumerate(things):
        walk.feed(thing)
    return walk.digest.hexdigest()[:32]


class _Walk:
    """One walk over things and what they refer to."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.index = self.count = 0
        self._seen: dict[int, tuple[int, Any]] = {}  # kept, or another thing could get its id
        self._path: list[int] = []  # the containers that are being read
        self._functions: list[str] = []  # the functions that are being read
        self._trail: list[str] = []  # from a captured variable to the current place
        self._names: set[str] = set()  # that the functions so far use

    def feed(self, thing: Any) -> None:
        if isinstance(thing, PLAIN):
            self._say(type(thing).__name__, repr(thing))
        elif isinstance(thing, np.ndarray | np.generic):
            self._feed_array(thing)
        elif isinstance(thing, VALUES):
            self._say(type(thing).__name__, repr(thing))
        else:
            self._feed_parts(thing)
        self.count += 1
        if self.count > MOST:
            raise self._not_plain(f"which holds more than {MOST:,} values", "", self._trail[:1])

    def _say(self, *words: object) -> None:
        self.digest.update("\0".join(map(str, words)).encode() + b"\1")

    def _feed_array(self, thing: Any) -> None:
        array = np.asarray(thing)
        self._say("array", array.dtype.descr, array.shape)
        if isinstance(thing, np.ma.MaskedArray):
            self._feed_array(np.ma.getmaskarray(thing))
        if array.dtype.hasobject:  # its bytes are addresses
            self.feed(array.tolist())
        else:
            self._say(array.tobytes().hex())

    def _feed_parts(self, thing: Any) -> None:
        self._say(type(thing).__name__)
        if isinstance(thing, list | tuple | dict | set | frozenset | types.CodeType):
            if id(thing) in self._path:  # the distance says to where
                self._say("again", len(self._path) - self._path.index(id(thing)))
                return
            self._path.append(id(thing))
            self._feed_container(thing)
            self._path.pop()
        elif id(thing) in self._seen:
            self._say("again", self._seen[id(thing)][0])
        else:
            self._seen[id(thing)] = len(self._seen), thing
            self._feed_object(thing)

    def _feed_container(self, thing: Any) -> None:
        if isinstance(thing, types.CodeType):
            code = (thing.co_code, thing.co_names, thing.co_varnames, thing.co_consts)
            self._feed_all(code)
        elif isinstance(thing, dict):
            self._say(len(thing))
            for key, value in thing.items():
                self.feed(key)
                self._feed_item(key, value)
        elif isinstance(thing, set | frozenset):
            self._feed_all(sorted(map(fingerprint, thing)))
        else:
            self._say(len(thing))
            for i, value in enumerate(thing):
                self._feed_item(i, value)

    def _feed_item(self, key: Any, value: Any) -> None:
        if isinstance(value, PLAIN):
            self.feed(value)
        else:
            with self._at(f"[{key!r}]"):
                self.feed(value)

    def _feed_all(self, things: Iterable[Any]) -> None:
        for thing in things:
            self.feed(thing)

    def _feed_object(self, thing: Any) -> None:
        if isinstance(thing, types.FunctionType):
            self._feed_function(thing)
        elif isinstance(thing, types.ModuleType):
            self._say(thing.__name__)
        elif isinstance(thing, types.MethodType):
            self._feed_method(thing)
        elif isinstance(thing, NAMED):
            self._feed_named(thing)
        elif isinstance(thing, type):
            self._feed_class(thing)
        elif hasattr(thing, "py_func"):  # already compiled by numba
            self.feed(thing.py_func)
        elif (inside := _wrapped(thing)) is not None:
            self._feed_all(inside)
        elif callable(thing) and isinstance(getattr(thing, "__name__", None), str):
            self._feed_named(thing)  # a function that is not Python's: of Cython, of NumPy
        else:
            self._feed_instance(thing)

    def _feed_named(self, thing: Any) -> None:
        self._say(getattr(thing, "__module__", None), thing.__name__)
        owner = getattr(thing, "__self__", None)
        if not isinstance(owner, types.ModuleType):  # a method of a list, say
            self.feed(owner)

    def _feed_method(self, method: types.MethodType) -> None:
        self.feed(method.__func__)
        self._functions.append(method.__qualname__)
        before, self._trail = self._trail, []
        with self._at("self"):
            self.feed(method.__self__)
        self._trail = before
        self._functions.pop()

    def _feed_function(self, function: types.FunctionType) -> None:
        if _is_foreign(function):
            self._say(function.__module__, function.__qualname__)
            return
        code = function.__code__
        self._names |= names_of(code)
        self._functions.append(function.__qualname__)
        before, self._trail = self._trail, []
        self.feed(code)
        for name, value in captured(function):
            self._say(name)
            with self._at(name):
                self.feed(value)
        self._trail = []
        self._feed_attributes({k: v for k, v in vars(function).items() if k != "__wrapped__"})
        self._trail = before
        self._functions.pop()

    def _feed_class(self, thing: type) -> None:
        self._say(thing.__module__, thing.__qualname__)
        if _is_foreign(thing):
            return
        if issubclass(thing, enum.Enum):
            self._feed_all((member.name, member.value) for member in thing)
            return
        self._feed_all(thing.__bases__)
        own = {k: v for k, v in vars(thing).items() if not k.startswith("__") or k == "__call__"}
        for value in own.values():
            for method in _wrapped(value) or (value,):
                if isinstance(method, types.FunctionType):
                    self._names |= names_of(method.__code__)
        self._feed_attributes({k: v for k, v in own.items() if not _is_opaque_descriptor(v)})

    def _feed_instance(self, thing: Any) -> None:
        state = None if _is_foreign(type(thing)) else _state(thing)
        if isinstance(thing, enum.Enum):
            self._feed_all((type(thing), thing.name, thing.value))
        elif state is None:
            if self._trail:
                kind = f"{type(thing).__module__.partition('.')[0]} {type(thing).__name__}"
                raise self._not_plain("a", kind, self._trail)
        else:
            self.feed(type(thing))
            self._feed_attributes(state)

    def _feed_attributes(self, attributes: dict[str, Any]) -> None:
        """A value that is not plain matters only where a function uses an attribute of its name."""
        before = self._trail
        for name, value in attributes.items():
            self._say(name)
            self._trail = [*before, f".{name}"] if before and name in self._names else []
            self.feed(value)
        self._trail = before

    @contextmanager
    def _at(self, step: str) -> Iterator[None]:
        """In what a function captures, at one step further; elsewhere nothing has to be plain."""
        before = self._trail
        if self._functions and (before or not step.startswith("[")):
            self._trail = [*before, step]
        yield
        self._trail = before

    def _not_plain(self, reason: str, kind: str, trail: list[str]) -> NotPlain:
        function = self._functions[-1] if self._functions else "it"
        return NotPlain(function, "".join(trail), f"{reason} {kind}".strip(), self.index)


def _state(thing: Any) -> dict[str, Any] | None:
    """The attributes of an object; None of one that Python cannot look into."""
    slots: list[str] = []
    for cls in type(thing).__mro__:
        own = vars(cls).get("__slots__", ())
        slots += [own] if isinstance(own, str) else own
    found = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    if hasattr(thing, "__dict__"):
        return {**found, **vars(thing)}
    return found or None


def _wrapped(thing: Any) -> tuple[Any, ...] | None:
    """The function inside a wrapper or a descriptor; None of anything else."""
    if isinstance(thing, functools.partial):
        return (thing.func, thing.args, thing.keywords)
    if isinstance(thing, staticmethod | classmethod):
        return (thing.__func__,)
    if isinstance(thing, property):
        return (thing.fget, thing.fset)
    if isinstance(thing, functools.cached_property):
        return (thing.func,)
    if isinstance(thing, re.Pattern):
        return (thing.pattern, int(thing.flags))
    if isinstance(thing, types.SimpleNamespace | types.MappingProxyType):
        return (dict(vars(thing) if isinstance(thing, types.SimpleNamespace) else thing),)
    return (thing.__wrapped__,) if isinstance(thing, functools._lru_cache_wrapper) else None


def _is_opaque_descriptor(thing: Any) -> bool:
    """Whether it is one such as a named tuple has for its fields: no content of its own."""
    plain = isinstance(thing, types.FunctionType | type) or _wrapped(thing) is not None
    return hasattr(type(thing), "__get__") and not plain


def _is_foreign(thing: Any) -> bool:
    return (thing.__module__ or "").partition(".")[0] in FOREIGN
