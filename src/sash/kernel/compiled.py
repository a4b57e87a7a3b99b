"""Compile: a driver loop over an algorithm and a monoid, as cached machine code."""

from __future__ import annotations

import functools
import inspect
import pkgutil
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from sash.kernel import cache, source, words
from sash.kernel.bind import Binder
from sash.kernel.layout import Layout
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid


class CannotCompile(TypeError):
    """A user's function that numba can not compile, with the reason in one line."""


@dataclass(frozen=True)
class Answer:
    """What `lower` gives, compiled: its layout, which leaves can be null, field names."""

    layout: Layout
    nullable: tuple[bool, ...]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Target:
    """All that a kernel is made from, apart from its driver."""

    monoid: Monoid
    layout: Layout
    steps: Mapping[Any, Callable[..., Any]]  # word -> the algorithm's function
    cursors: type  # the NamedTuple of cursors
    store: type  # the NamedTuple of the store's fields, `held` last
    chunked: bool = False
    inputs: tuple[np.dtype, ...] = ()
    places: int = words.FIRST_FREE

    def key(self) -> str:
        """A hash of everything that the machine code depends on."""
        return fingerprint(
            self.monoid.digest,
            repr(self.layout),
            _algorithm_key(tuple(self.steps.items()), self.cursors, self.store),
            self.chunked,
            [str(d) for d in self.inputs],
            self.places,
            _versions(),
        )


# What a kernel's machine code is made by, besides its driver, its algorithm and its monoid.
MAKERS = (
    "arithmetic",
    "bind",
    "cells",
    "code",
    "compiled",
    "layout",
    "machine",
    "source",
    "typing",
    "words",
)


@functools.cache
def _versions() -> tuple[str, ...]:
    """What machine code depends on besides what it is compiled from.

    Of NumPy only its major version: it is numba that brings the code of its functions.
    """
    makers = [pkgutil.get_data(__package__, f"{maker}.py") for maker in MAKERS]
    packages = [version(package) for package in ("numba", "llvmlite")]
    return (fingerprint(makers), sys.implementation.cache_tag, *packages, np.__version__[:2])


@functools.cache
def _algorithm_key(steps: tuple[tuple[Any, Any], ...], cursors: type, store: type) -> str:
    annotations = [str(inspect.get_annotations(cls)) for cls in (cursors, store)]
    return fingerprint([(word.__name__, step) for word, step in steps], annotations)


@functools.cache
def _driver_key(driver: Callable[..., Any]) -> str:
    return fingerprint(driver)


_kernels: dict[tuple[str, str], Any] = {}
_warned: set[str] = set()


def compiled(driver: Callable[..., Any], target: Target) -> Any:
    """The driver as machine code: a `Kernel`. CannotCompile names what stands in the way."""
    name = fingerprint(_driver_key(driver), target.key())
    found = _kernels.get((driver.__name__, name))
    if found is None:
        found = _kernels[driver.__name__, name] = _make(driver, target, name)
    return found


def compiled_or_none(driver: Callable[..., Any], target: Target) -> Any:
    """As `compiled`; where that can not be, one warning a monoid and None."""
    try:
        return compiled(driver, target)
    except CannotCompile as problem:
        if target.monoid.digest not in _warned:
            _warned.add(target.monoid.digest)
            warnings.warn(f"{problem}; going on in plain Python", RuntimeWarning, stacklevel=4)
        return None


@dataclass(frozen=True)
class Kernel:
    """A compiled driver, and what its answers look like."""

    run: Callable[..., Any]
    answer: Answer | None


def _make(driver: Callable[..., Any], target: Target, name: str) -> Kernel:
    """A kernel from the cache; else compiled, while other processes wait for it."""
    from sash.kernel import code

    file = f"{driver.__name__}_{name}_{code.processor_key()}"
    found = _cached(driver, file)
    if found is None:
        with cache.locked(file):
            found = _cached(driver, file) or _compile(driver, target, name, file)
    return found


def _cached(driver: Callable[..., Any], file: str) -> Kernel | None:
    from sash.kernel import code

    entry = cache.read(file)
    if entry is None:
        return None
    try:
        return Kernel(code.load(entry.code), _answer(driver, entry.notes))
    except Exception as problem:  # the file is whole: it was written by what we do not know
        cache.warn(f"{file} cannot be loaded ({problem!r}); compiling instead")
        return None


def _compile(driver: Callable[..., Any], target: Target, name: str, file: str) -> Kernel:
    from sash.kernel import code

    notes = _notes(target) if _gives(driver) or target.inputs else {}
    answer = _answer(driver, notes)
    scope = _scope(driver, target, answer, name)
    made = code.compile_driver(driver, scope, name, _signature(driver, target))
    blob = code.dump(made)
    if blob is not None:
        cache.write(file, cache.Entry(notes, blob))
    return Kernel(made.entry_point, answer)


def _gives(driver: Callable[..., Any]) -> bool:
    return words.give.__name__ in driver.__code__.co_names


def _scope(driver: Any, target: Target, answer: Answer | None, name: str) -> dict[str, Any]:
    """The globals of a driver: words, steps and the user's functions, jitted.

    Each has the kernel's `name` in its own: machine code from the cache is linked by
    name, and two kernels from two processes may have a function in common but for that.
    """
    from sash.kernel.machine import inner

    def jit(copy: Any, original: Any) -> Any:
        copy.__name__ = copy.__qualname__ = f"{original.__name__}_{name}"
        inline = not getattr(original, "__outlined__", False)
        return inner(copy, inline, **rules(copy, original, target.monoid))

    binder = Binder(_meanings(target, answer, jit), follow=_compiles, wrap=jit)
    for word, step in target.steps.items():
        if word is not words.policy:
            binder._done[word] = binder(step)
    return binder.scope(driver)


def rules(copy: Any, original: Any, monoid: Monoid) -> dict[str, Any]:
    """Options for numba: a user's function follows Python where integers overflow and where
    a divisor is zero; one of ours only if it says what it raises then (`__overflow__`).
    """
    from sash.kernel.arithmetic import follows_python

    message = getattr(original, "__overflow__", None)
    if message is None and not (original.__module__ or "").startswith("sash."):
        message = (
            f"{{operation}} in {original.__qualname__} of monoid {monoid.name!r} does not fit in "
            "64 bits; keep floats in the state, or give the monoid dtype=object: plain Python "
            "has integers of any size"
        )
    return {} if message is None else follows_python(copy, message)


def _compiles(function: Any) -> bool:
    """Whether a function is to be compiled too: all but those numba knows by itself."""
    return not (function.__module__ or "").startswith(("numpy", "numba", "math"))


def _meanings(target: Target, answer: Answer | None, jit: Any) -> dict[Any, Any]:
    from sash.kernel import machine

    layout, monoid = target.layout, target.monoid
    users = user_functions(monoid, jit, target.steps.get(words.policy))
    fields = {n: t for n, t in inspect.get_annotations(target.store).items() if n != "held"}
    dtypes = {n: words.dtype_of(t) for n, t in fields.items()}
    scope: dict[str, Any] = {
        "np": np, "load": machine.load, "store": machine.store, "pointer": machine.pointer,
        "known": machine.known, "move_cells": machine.mover(layout.width),
        "prefetch_cell": machine.prefetcher(layout.width),
        "int0": np.int64(0), "yes": np.uint8(1), "Store": target.store,
        "identity": _cast(monoid.identity, layout),
        **{f"user_{role}": function for role, function in users.items()},
        **source.constants(layout, "L", "T"), **_casts(layout, monoid.name),
        **{f"X{c}": dtype.type(0) for c, dtype in enumerate(target.inputs)},
        **{f"F{i}": d.type(0) for i, d in enumerate(dtypes.values()) if d is not None},
    }  # fmt: skip
    text = source.cell_source(layout, target.chunked) + source.attach_source(dtypes)
    if layout.length is None:
        text += source.number_source(layout)
    else:
        assert layout.dtype is not None
        scope["element"] = machine.vector_element(
            users["combine"], layout.dtype.type(0), layout.dtype.itemsize
        )
        text += source.vector_source(layout, target.places)
    if users["policy"] is not None:
        text += source.policy_source(layout)
    if target.inputs:
        text += source.item_source(target.inputs)
    if answer is not None:
        scope.update(source.constants(answer.layout, "Z", "Y"))
        text += source.give_source(answer.layout, answer.nullable)
    return {**_compile_words(text, scope, jit), words.cycles: machine.cycles}


def _casts(layout: Layout, name: str) -> dict[str, Any]:
    """What makes an integer of a function's result one of the state: it must fit."""
    from numba.np.numpy_support import from_dtype

    from sash.kernel.arithmetic import fitting

    message = (
        "a result does not fit in the state of monoid {!r}, which is {}; give it a wider dtype="
    )
    return {
        f"T{i}": fitting(from_dtype(leaf), message.format(name, leaf))
        for i, leaf in enumerate(layout.leaves)
        if leaf.kind in "iu"
    }


def _compile_words(text: str, scope: dict[str, Any], jit: Any) -> dict[Any, Any]:
    scope["__name__"] = __name__
    before = set(scope)
    exec(compile(text, "<sash.kernel.source>", "exec"), scope)
    made = [name for name in scope if name not in before and name != "__builtins__"]
    for name in made:
        scope[name] = jit(scope[name], scope[name])
    return {getattr(words, name): scope[name] for name in made if hasattr(words, name)}


def user_functions(monoid: Monoid, jit: Any, policy: Any = None) -> dict[str, Any]:
    """The monoid's own functions, the slide policy, and what they call, jitted."""
    binder = Binder({}, follow=_compiles, wrap=jit)
    roles = ("lift", "combine", "lower", "inverse", "fill")
    functions = {**{role: getattr(monoid, role) for role in roles}, "policy": policy}
    made = {}
    for role, function in functions.items():
        if function is None or hasattr(function, "py_func"):
            made[role] = function
        elif inspect.isfunction(function):
            made[role] = binder(function)
        elif inspect.isbuiltin(function) or isinstance(function, type):
            made[role] = binder(_call_of(function, 1 if role in ("lift", "lower") else 2))
        else:
            made[role] = function
    return made


def _call_of(builtin: Any, arity: int) -> Any:
    """A function that calls a built-in such as `max` or `float`, which numba knows."""
    args = ", ".join("ab"[:arity])
    scope: dict[str, Any] = {"builtin": builtin}
    exec(f"def call({args}):\n    return builtin({args})\n", scope)
    scope["call"].__qualname__ = builtin.__name__
    return scope["call"]


def _cast(value: Any, layout: Layout) -> Any:
    if layout.parts is not None:
        return tuple(_cast(v, part) for v, part in zip(value, layout.parts, strict=True))
    assert layout.dtype is not None
    return layout.dtype.type(value) if layout.length is None else 0


def _signature(driver: Any, target: Target) -> tuple[Any, ...]:
    from numba import types

    from sash.kernel.typing import cursor_type

    fields = len(inspect.get_annotations(target.store)) - 1
    by_name = {
        "memory": types.UniTuple(types.int64, 2 * fields + 1),
        "at": cursor_type(target.cursors, target.layout),
        "xs": types.UniTuple(types.int64, max(1, len(target.inputs))),
        "out": types.UniTuple(types.int64, 2),
        "ahead": types.UniTuple(types.int64, 2),
    }
    return tuple(by_name.get(p, types.int64) for p in inspect.signature(driver).parameters)


def _notes(target: Target) -> dict[str, Any]:
    from sash.kernel.typing import user_types

    return user_types(target)


def _answer(driver: Callable[..., Any], notes: Mapping[str, Any]) -> Answer | None:
    """What a driver gives, as its notes describe it; None if it gives nothing."""
    if not _gives(driver):
        return None

    def layout(described: Any) -> Layout:
        if isinstance(described, str):
            return Layout(np.dtype(described))
        if isinstance(described, dict):
            return Layout(np.dtype(described["of"]), length=described["length"])
        return Layout(parts=tuple(layout(part) for part in described))

    names = notes.get("names")
    return Answer(
        layout(notes["answer"]), tuple(notes["nullable"]), tuple(names) if names else None
    )
