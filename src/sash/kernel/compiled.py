"""Compiled: a driver loop over an algorithm and a monoid, as cached machine code.

What a kernel is made from is here, and which kernels this process has; `build` makes them.
Importing this file does not import numba.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from sash.kernel import sent, words
from sash.kernel.layout import Layout
from sash.monoids.fingerprint import fingerprint
from sash.monoids.monoid import Monoid


class CannotCompile(TypeError):
    """A user's function that numba cannot compile, with the reason in one line."""


@dataclass(frozen=True)
class Answer:
    """The answer of `lower`, compiled: its layout, which leaves can be null, field names."""

    layout: Layout
    nullable: tuple[bool, ...]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Kernel:
    """A compiled driver, what its answers look like, and its name where others may lack it."""

    run: Callable[..., Any]
    answer: Answer | None
    name: str | None = None


@dataclass(frozen=True)
class Target:
    """All that a kernel is made from, apart from its driver."""

    monoid: Monoid
    layout: Layout
    steps: Mapping[Any, Callable[..., Any]]  # word -> the algorithm's function
    cursors: type  # the NamedTuple of cursors
    columns: type  # the NamedTuple of the columns of its memory, `held` last
    chunked: bool = False
    inputs: tuple[np.dtype, ...] = ()
    places: int = words.FIRST_FREE

    def key(self) -> str:
        """A hash of everything that the machine code depends on."""
        return fingerprint(
            self.monoid.digest,
            repr(self.layout),
            _algorithm_key(tuple(self.steps.items()), self.cursors, self.columns),
            self.chunked,
            [str(d) for d in self.inputs],
            self.places,
            _versions(),
        )


# What a kernel's machine code is made by, besides its driver, its algorithm and its monoid.
MAKERS = (
    "arithmetic", "bind", "build", "choices", "code", "compiled", "inner", "layout", "machine",
    "source", "typing", "words",
)  # fmt: skip


@functools.cache
def _versions() -> tuple[str, ...]:
    """Everything that machine code depends on besides its sources.

    Of NumPy only its major version: it is numba that brings the code of its functions.
    """
    makers = [pkgutil.get_data(__package__, f"{maker}.py") for maker in MAKERS]
    packages = [version(package) for package in ("numba", "llvmlite")]
    return (fingerprint(makers), sys.implementation.cache_tag, *packages, np.__version__[:2])


@functools.cache
def _algorithm_key(steps: tuple[tuple[Any, Any], ...], cursors: type, columns: type) -> str:
    annotations = [str(inspect.get_annotations(cls)) for cls in (cursors, columns)]
    return fingerprint([(word.__name__, step) for word, step in steps], annotations)


@functools.cache
def _driver_key(driver: Callable[..., Any]) -> str:
    records = records_of(driver).values()
    return fingerprint(driver, [str(inspect.get_annotations(record)) for record in records])


def records_of(driver: Callable[..., Any]) -> dict[str, type]:
    """The named tuples that a driver's annotations name."""
    scope = driver.__globals__
    named = [name for name in inspect.get_annotations(driver).values() if name in scope]
    return {name: scope[name] for name in named if hasattr(scope[name], "_fields")}


_kernels: dict[tuple[str, str], Kernel] = {}
_making = threading.RLock()  # neither numba nor its loading may run in two threads at once
_warned: set[str] = set()


def compiled(driver: Callable[..., Any], target: Target) -> Kernel:
    """The driver as machine code. CannotCompile names what stands in the way."""
    name = fingerprint(_driver_key(driver), target.key())
    found = _kernels.get((driver.__name__, name))
    if found is None:
        with _making:
            found = _kernels.get((driver.__name__, name))
            if found is None:
                from sash.kernel.build import kernel

                found = _kernels[driver.__name__, name] = kernel(driver, target, name)
    if found.name is not None:
        sent.note(found.name)
    return found


def compiled_or_none(driver: Callable[..., Any], target: Target) -> Kernel | None:
    """As `compiled`; where that is not possible, one warning per monoid and None."""
    try:
        return compiled(driver, target)
    except CannotCompile as problem:
        if target.monoid.digest not in _warned:
            _warned.add(target.monoid.digest)
            warnings.warn(f"{problem}; going on in plain Python", RuntimeWarning, stacklevel=4)
        return None
