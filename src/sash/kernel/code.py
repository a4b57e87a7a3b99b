"""Machine code as bytes: compile a driver, keep what numba made of it, load it again.

Importing this file imports numba. It is not numba's own file cache: that one looks at a
function's file and time stamp, and loads whatever lies beside it.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from sash.kernel.machine import JIT
from sash.monoids.fingerprint import fingerprint


@functools.cache
def processor_key() -> str:
    """A hash of the processor that machine code is made for: its name and its features."""
    return fingerprint(cpu_target.target_context.codegen().magic_tuple())[:8]


def compile_driver(
    driver: Callable[..., Any], scope: dict[str, Any], name: str, signature: tuple[Any, ...]
) -> Any:
    """A driver compiled with `scope` as its globals: what numba gives, with `entry_point`.

    Machine code is linked by name: `name` makes sure that no two kernels have one name.
    """
    # Machine code is loaded with the function's module: name one that is there.
    around = {**scope, "__builtins__": __builtins__, "__name__": __name__}
    copy = FunctionType(driver.__code__, around, f"{driver.__name__}_{name}")
    made = njit(signature, nogil=True, **JIT)(copy)
    # Found by its signature: numba takes two named tuples of the same shape for one type.
    return made.overloads[signature]


def dump(made: Any) -> bytes | None:
    """What `load` needs to give the same code again; None for code that holds addresses."""
    if made.library.has_dynamic_globals or made.lifted:
        return None
    return serialize.dumps(made._reduce())


def load(blob: bytes) -> Callable[..., Any]:
    """The compiled driver that `dump` was given."""
    context = cpu_target.target_context
    context.refresh()
    made = CompileResult._rebuild(context, *pickle.loads(blob))
    run: Callable[..., Any] = made.entry_point
    return run
