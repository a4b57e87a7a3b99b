"""Build: a kernel from the cache, or compiled from a driver, an algorithm and a monoid.

Words, the algorithm's steps and the user's functions become functions of numba's that only
compiled code calls, inlined into the driver's loop. Importing this file imports numba.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from sash.kernel import cache, choices, code, machine, sent, source, words
from sash.kernel.arithmetic import fitting, follows_python
from sash.kernel.bind import Binder, is_ours
from sash.kernel.compiled import Answer, Kernel, Target, records_of
from sash.kernel.inner import inner
from sash.kernel.layout import Layout
from sash.kernel.typing import record_type, user_types
from sash.monoids.captured import divides, names_of
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid
from sash.monoids.variants import lift_if

Jit = Callable[[Any, Any], Any]  # a copy of a function, and the function: the copy, jitted

WORTH_A_WORD = 1.0  # seconds
log = logging.getLogger("sash")


def kernel(driver: Callable[..., Any], target: Target, name: str) -> Kernel:
    """A kernel that came with Sash, that was sent, from the user's cache, or compiled while others
    wait for it."""
    shipped = f"{driver.__name__}_{name}"
    found = _loaded(driver, cache.shipped(shipped))
    if found is not None:
        return found
    own = f"{shipped}_{fingerprint(code.processor())[:8]}"
    found = _loaded(driver, sent.received(own)) or _loaded(driver, cache.read(own))
    if found is None:
        with cache.locked(own), _without_collection():
            found = _loaded(driver, cache.read(own)) or _compiled(driver, target, name, own)
    return replace(found, name=own)


def _loaded(driver: Callable[..., Any], entry: cache.Entry | None) -> Kernel | None:
    if entry is None:
        return None
    try:
        if not code.runs_here(entry.notes["processor"]):
            return None
        return Kernel(code.load(entry.code), _answer(driver, entry.notes))
    except Exception as problem:  # the file is whole: some other version wrote it
        cache.warn(f"{driver.__name__} cannot be loaded ({problem!r}); compiling instead")
        return None


def _compiled(driver: Callable[..., Any], target: Target, name: str, file: str) -> Kernel:
    start = time.perf_counter()
    jit = _jit(target.monoid, name)
    users = _user_functions(target.monoid, jit, target.steps.get(words.policy))
    notes = user_types(target, users) if _gives(driver) or target.inputs else {}
    answer = _answer(driver, notes)
    scope = _scope(driver, target, answer, users, jit)
    made = code.compile_driver(driver, scope, name, _signature(driver, target, answer))
    blob = code.dump(made)
    if blob is not None:
        cache.write(file, cache.Entry({**notes, "processor": code.processor()}, blob))
    _say(target.monoid, time.perf_counter() - start, blob is not None)
    return Kernel(made.entry_point, answer)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Python's collector of cycles waits: numba makes many objects and little garbage, and each
    collection looks at all objects of the process, a tenth of the time and more."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _say(monoid: Monoid, seconds: float, is_kept: bool) -> None:
    if seconds > WORTH_A_WORD:
        kept = "and kept for later processes" if is_kept else "for this process"
        log.warning("sash: %s was compiled in %.1f s, once, %s", monoid.name, seconds, kept)


@functools.cache
def _gives(function: Callable[..., Any]) -> bool:
    """Whether a driver writes answers, itself or by a step that it calls."""
    scope = function.__globals__
    called = [scope.get(name) for name in names_of(function.__code__) if name in scope]
    if words.give in called:
        return True
    ours = (each for each in called if inspect.isfunction(each) and is_ours(each))
    return any(_gives(each) for each in ours if each is not function)


def _answer(driver: Callable[..., Any], notes: Mapping[str, Any]) -> Answer | None:
    """The answer of a driver, as its notes describe it; None if it gives none."""
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


def _jit(monoid: Monoid, name: str) -> Jit:
    """How the functions of one kernel are jitted.

    Each has the kernel's `name` in its own: machine code from the cache is linked by
    name, and two kernels from two processes may have a function in common but for that.
    """

    def jit(copy: Any, original: Any) -> Any:
        copy.__name__ = copy.__qualname__ = f"{original.__name__}_{name}"
        inline = not getattr(original, "__outlined__", False)
        return inner(copy, inline, is_ours(original), **_rules(copy, original, monoid))

    return jit


def _scope(
    driver: Any, target: Target, answer: Answer | None, users: dict[str, Any], jit: Jit
) -> dict[str, Any]:
    """The globals of a driver: words, steps and the user's functions, jitted."""
    binder = Binder(_meanings(target, answer, users, jit), follow=_compiles, wrap=jit)
    for word, step in target.steps.items():
        if word is not words.policy:
            binder.define(word, step)
    return binder.scope(driver)


def _rules(copy: Any, original: Any, monoid: Monoid) -> dict[str, Any]:
    """Options for numba: a user's function follows Python where integers overflow and where
    a divisor is zero; one of Sash's only if it says what it raises then (`__overflow__`).
    """
    message = getattr(original, "__overflow__", None)
    if message is None and not (original.__module__ or "").startswith("sash."):
        message = (
            f"{{operation}} in {original.__qualname__} of monoid {monoid.name!r} does not fit in "
            "64 bits; keep floats in the state, or give the monoid dtype=object: plain Python "
            "has integers of any size"
        )
    return {} if message is None else follows_python(copy, message)


def _compiles(function: Any) -> bool:
    """Whether a function is to be compiled too: all but those that numba knows."""
    return not (function.__module__ or "").startswith(("numpy", "numba", "math"))


def _meanings(
    target: Target, answer: Answer | None, users: dict[str, Any], jit: Jit
) -> dict[Any, Any]:
    layout, monoid = target.layout, target.monoid
    fields = {n: t for n, t in inspect.get_annotations(target.columns).items() if n != "held"}
    dtypes = {n: words.dtype_of(t) for n, t in fields.items()}
    scope: dict[str, Any] = {
        "np": np, "load": machine.load, "store": machine.store, "pointer": machine.pointer,
        "load_cell": machine.load_cell, "store_cell": machine.store_cell,
        "load_small": machine.load_small,
        "store_answer": machine.store_answer,
        "known": machine.known, "is_null": machine.is_null,
        "pick_partial": choices.pick_partial,
        "move_cells": machine.mover(layout.width),
        "prefetch_cell": machine.prefetcher(layout.width),
        "count_below": machine.below_counter(layout.dtype),
        "zeros_below": machine.zeros_below, "zeros_above": machine.zeros_above,
        "int0": np.int64(0), "Columns": target.columns,
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
    return {
        **_compile_words(text, scope, jit),
        words.cycles: machine.cycles,
        words.WIDE: len(layout.leaves) > 2,
        words.DIVIDES: divides(monoid.combine),
    }


def _casts(layout: Layout, name: str) -> dict[str, Any]:
    """The casts of a function's integers to those of the state: they must fit."""
    message = (
        "a result does not fit in the state of monoid {!r}, which is {}; give it a wider dtype="
    )
    return {
        f"T{i}": fitting(from_dtype(leaf), message.format(name, leaf))
        for i, leaf in enumerate(layout.leaves)
        if leaf.kind in "iu"
    }


def _compile_words(text: str, scope: dict[str, Any], jit: Jit) -> dict[Any, Any]:
    scope["__name__"] = __name__
    before = set(scope)
    exec(compile(text, "<sash.kernel.source>", "exec"), scope)
    made = [name for name in scope if name not in before and name != "__builtins__"]
    for name in made:
        scope[name] = jit(scope[name], scope[name])
    return {getattr(words, name): scope[name] for name in made if hasattr(words, name)}


def _user_functions(monoid: Monoid, jit: Jit, policy: Any) -> dict[str, Any]:
    """The monoid's own functions, the slide policy, and what they call, jitted."""
    binder = Binder({}, follow=_compiles, wrap=jit)
    binder.define(lift_if, choices.lift_all)
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


def _signature(driver: Any, target: Target, answer: Answer | None) -> tuple[Any, ...]:
    """The types of a driver's parameters, as it declares them in the words' annotations."""
    columns = len(inspect.get_annotations(target.columns)) - 1
    cursors = record_type(target.cursors, target.layout)
    leaves = 1 if answer is None else len(answer.layout.leaves)
    kinds = {
        **{name: record_type(kind, target.layout) for name, kind in records_of(driver).items()},
        "Memory": types.UniTuple(types.int64, 2 * columns + 1),
        "Cursors": cursors,
        target.cursors.__name__: cursors,
        "InputColumns": types.UniTuple(types.int64, max(1, len(target.inputs))),
        "Outputs": types.UniTuple(types.int64, 2 * leaves + 1),
        "Pair": types.UniTuple(types.int64, 2),
        "Address": types.int64,
        "int": types.int64,
    }
    declared = inspect.get_annotations(driver)
    for name in inspect.signature(driver).parameters:
        if declared.get(name) not in kinds:
            found = declared.get(name, "no annotation")
            raise TypeError(
                f"driver {driver.__qualname__}: parameter {name} has {found}; annotate it with "
                f"one of {', '.join(kinds)}"
            )
    return tuple(kinds[declared[name]] for name in inspect.signature(driver).parameters)
